"""Holds predictions against what was measured on one accelerator.

    python benchmarks/one_accelerator/compare.py [--rows]

Tables of errors, predicted over measured less 1: of whole iterations with each software, of their
phases, of memory, of classes of iterations, and of kernels; ``--rows``: also each iteration.
"""

import argparse
import csv
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import mean

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))

from measured_iterations import (
    PHASES,
    STACKS,
    TABLES,
    Predicted,
    Row,
    attention_of,
    predict,
    product_of,
    rows_of,
)

from simcore.compute import COMPUTE_MODELS
from simcore.machine import Npu, load_npu
from simcore.machine.stack import load_stack
from simcore.terms import Precision
from simcore.workload.graph import Kernel

Pair = tuple[Row, Predicted]
CLASSES: dict[str, Callable[[Row], str]] = {
    "model": lambda row: row["kind"],
    "recompute": lambda row: "full" if row["recompute"] == "True" else "none",
    "tokens of a micro-batch": lambda row: str(int(row["sequence"]) * int(row["micro_batch"])),
    "micro-batches": lambda row: row["accumulated"],
    "vocabulary": lambda row: "128256" if row["vocabulary"] == "128256" else "32000, 50304",
    "hidden": lambda row: row["hidden"],
    "attention": lambda row: row["attention"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", action="store_true")
    options = parser.parse_args()
    rows = rows_of("iterations")
    print("| accelerator | mode | software | rows | mean | bias | largest | inside |")
    for stack, compute in [("", ""), ("megatron_core_2024", ""), ("", "measured")]:
        pairs = [(row, predict(row, stack, compute)) for row in rows]
        for npu in ("h100_80", "h200"):
            for mode in STACKS:
                mine = [pair for pair in pairs if pair[0]["npu"] == npu and pair[0]["mode"] == mode]
                _whole(npu, mode, f"{stack or STACKS[mode]} {compute}", mine)
    pairs = [(row, predict(row)) for row in rows]
    _parts(pairs)
    for name, of in CLASSES.items():
        for value in sorted({of(row) for row in rows}):
            _line(f"{name} {value}", [_whole_error(p) for p in pairs if of(p[0]) == value])
    _spread()
    _kernels()
    for row, predicted in pairs if options.rows else ():
        print(_name(row), _told(row, predicted))


def _whole(npu: str, mode: str, stack: str, pairs: Sequence[Pair]) -> None:
    inside = [p.low_s <= float(row["iteration_ms"]) / 1e3 <= p.high_s for row, p in pairs]
    _line(f"{npu} {mode} {stack}", [_whole_error(pair) for pair in pairs], f"{sum(inside)} inside")


def _parts(pairs: Sequence[Pair]) -> None:
    for npu in ("h100_80", "h200"):
        for mode in STACKS:
            mine = [pair for pair in pairs if pair[0]["npu"] == npu and pair[0]["mode"] == mode]
            for phase in PHASES:
                _line(f"{npu} {mode} {phase}", [
                    1e3 * p.phases_s[phase] / float(row[f"{phase}_ms"]) - 1 for row, p in mine
                ])  # fmt: skip
            _line(f"{npu} {mode} tensors over peak", [
                p.tensors_bytes / int(row["peak_bytes"]) - 1 for row, p in mine
            ])  # fmt: skip
            _line(f"{npu} {mode} states over held", [
                p.states_bytes / int(row["held_bytes"]) - 1 for row, p in mine
            ])  # fmt: skip
            _line(f"{npu} {mode} reserved over peak", [
                int(row["reserved_bytes"]) / int(row["peak_bytes"]) - 1 for row, _ in mine
            ])  # fmt: skip


def _kernels() -> None:
    rows = [row for row in rows_of("kernels") if row["us"]]
    for npu in ("h100_80", "h200"):
        for stack in ("pytorch_fsdp2", "megatron_core_2024"):
            machine = load_stack(stack).on(load_npu(npu))
            mine = [row for row in rows if row["npu"] == npu]
            for compute in ("roofline", "measured"):
                _products(f"{npu} {stack} {compute}", compute, machine, mine)
                _attention(f"{npu} {stack} {compute}", compute, machine, mine)


def _products(name: str, compute: str, npu: Npu, rows: Iterable[Row]) -> None:
    found = [row for row in rows if row["piece"] in ("product", "weight gradient")]
    large = [row for row in found if int(row["m"]) >= 1024]
    for which, some in (
        ("large products", large),
        ("decode", [r for r in found if r not in large]),
    ):
        _line(f"{name} {which}", [_error(compute, npu, product_of(r), r["us"]) for r in some])


def _attention(name: str, compute: str, npu: Npu, rows: Sequence[Row]) -> None:
    for piece in ("attention flash", "attention cudnn"):
        some = [row for row in rows if row["piece"] == piece]
        _line(f"{name} {piece}", [_error(compute, npu, attention_of(r), r["us"]) for r in some])
        back = [
            _error(compute, npu, attention_of(r, backward=True), r["backward_us"]) for r in some
        ]
        _line(f"{name} {piece} backward", back)


def _error(compute: str, npu: Npu, kernel: Kernel, us: str) -> float:
    model = COMPUTE_MODELS[compute]()
    return model.kernel_time_ns(kernel, npu, Precision.BF16) / 1e3 / float(us) - 1


def _spread() -> None:
    """Times of iterations that were measured twice, and the span of those of one."""
    with (TABLES / "iterations.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    first = {_name(row): float(row["iteration_ms"]) for row in rows if row["again"] == "False"}
    twice = [row for row in rows if row["again"] == "True"]
    _line("again", [float(row["iteration_ms"]) / first[_name(row)] - 1 for row in twice])
    _line("most over least", [float(row["most_ms"]) / float(row["least_ms"]) - 1 for row in rows])


def _name(row: Row) -> str:
    keys = ("npu", "kind", "layers", "hidden", "kv_heads", "vocabulary", "sequence", "heads")
    keys += ("micro_batch", "accumulated", "recompute", "mode", "attention")
    return " ".join(row[key] for key in keys)


def _told(row: Row, p: Predicted) -> str:
    return f"{1e3 * p.whole_s:.1f} of {row['iteration_ms']} ms, {p.tensors_bytes / 1e9:.1f} of " + (
        f"{int(row['peak_bytes']) / 1e9:.1f} GB"
    )


def _whole_error(pair: Pair) -> float:
    row, predicted = pair
    return 1e3 * predicted.whole_s / float(row["iteration_ms"]) - 1


def _line(name: str, errors: Sequence[float], more: str = "") -> None:
    largest = max(errors, key=abs)
    size = mean(map(abs, errors))
    print(
        f"| {name} | {len(errors)} | {size:.1%} | {mean(errors):+.1%} | {largest:+.1%} | {more} |"
    )


if __name__ == "__main__":
    main()

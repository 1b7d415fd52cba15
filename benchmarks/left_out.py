"""Tells how far predictions hold for what the fitted values did not see, in one table.

    python benchmarks/left_out.py ROWS.csv [--kept FILE] [--cells 10] [--errors FILE]

- errors on the largest cells (runs of one source on one silicon), each with values that were fitted
  without it, beside errors with the values that the files hold;
- mean over rows on Hopper and Blackwell, dense models and those with experts;
- the rank correlation of layouts and the extra time of the first;
- the part of its peak that each accelerator reaches with one model and layout, siblings side by
  side, and whether lower precision is slower anywhere;
- fitted values on one of their bounds.

Times are the simulated ones, moved as in ``fit_compute.py``. ``--errors`` writes those of the
largest cells, left out, row by row.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from fit_compute import fit, predicted
from fit_problem import Block, Key, blocks_of, family_of, free_values
from fit_samples import Sample, samples
from fit_values import FAMILIES
from kernel_table import Flags, Floats

from simcore.config import Run
from simcore.errors import SimcoreError
from simcore.files.resources import shipped_names
from simcore.machine import Dimension, Npu, Platform, load_npu
from simcore.simulation import simulate_run
from simcore.terms import Precision
from simcore.validation.rows import MeasuredRow
from simcore.validation.score import Compared, ranking
from simcore.workload import Model, ParallelPlan, TrainingWorkload, load_net

SIBLINGS = (("b200", "b300"), ("gb200", "gb300"), ("h100_80", "h800"), ("h100_80", "h200"))
_NEAR_BOUND = 0.01
"""Part of the way between its bounds within which a value lies on one."""


def cells_of(listed: Sequence[Sample]) -> list[str]:
    """Cell of each run: silicon and source; empty where no other source tells of that silicon."""
    silicon = [_silicon(family_of(sample.npu)) for sample in listed]
    sources: dict[str, set[str]] = {}
    for name, sample in zip(silicon, listed, strict=True):
        sources.setdefault(name, set()).add(sample.source)
    return [
        f"{name}: {sample.source}" if len(sources[name]) > 1 else ""
        for name, sample in zip(silicon, listed, strict=True)
    ]


def _silicon(family: str) -> str:
    """The family itself, or the one that it shares nearly all values with."""
    return "blackwell" if family == "blackwell_ultra" else family


def left_out(
    listed: Sequence[Sample], blocks: Sequence[Block], cells: Sequence[str], count: int
) -> dict[str, float]:
    """Print the errors on the largest cells, left out and not; those left out by row."""
    held = _held(listed, blocks)
    of = np.array(cells)
    before, after, by_row = [], [], dict[str, float]()
    for cell, rows in Counter(cell for cell in cells if cell).most_common(count):
        chosen = of == cell
        error = predicted(blocks, fit(listed, blocks, ~chosen), len(listed))
        before.append(np.abs(held[chosen]).mean())
        after.append(np.abs(error[chosen]).mean())
        bias = error[chosen].mean()
        by_row |= {listed[at].id: float(error[at]) for at in np.flatnonzero(chosen)}
        print(f"{cell:56} {rows:4} rows {before[-1]:6.1%} left out {after[-1]:6.1%} ({bias:+.1%})")
    print(f"{'mean of these cells':66} {np.mean(before):6.1%} left out {np.mean(after):6.1%}")
    return by_row


def _held(listed: Sequence[Sample], blocks: Sequence[Block]) -> Floats:
    """(R,) errors with the values that the files hold."""
    error = np.empty(len(listed))
    for block in blocks:
        error[block.places] = np.expm1(block.samples.errors(block.values({})))
    return error


def row_means(listed: Sequence[Sample], error: Floats) -> None:
    """Print mean errors over rows by silicon, of dense models and of those with experts."""
    for name, families in (
        ("Hopper", ("hopper", "hopper_500w")),
        ("Blackwell", ("blackwell", "blackwell_ultra")),
        ("both", ("hopper", "hopper_500w", "blackwell", "blackwell_ultra")),
    ):
        of = np.array([family_of(s.npu) in families for s in listed])
        experts = np.array([s.has_experts for s in listed])
        for kind, chosen in (("dense", of & ~experts), ("experts", of & experts)):
            mean, bias = np.abs(error[chosen]).mean(), error[chosen].mean()
            print(f"{name} {kind}: {int(chosen.sum())} rows, {mean:.1%} ({bias:+.1%})")


def sources(listed: Sequence[Sample], error: Floats) -> None:
    """Print the mean over sources, and the order of layouts."""
    by: dict[str, list[float]] = {}
    for sample, one in zip(listed, error, strict=True):
        by.setdefault(sample.source, []).append(float(abs(one)))
    means = {source: float(np.mean(e)) for source, e in by.items()}
    for source, mean in sorted(means.items(), key=lambda item: -len(by[item[0]])):
        print(f"  {source:48} {len(by[source]):4} rows {mean:6.1%}")
    print(f"mean over {len(means)} sources: {np.mean(list(means.values())):.2%}")


def _told(time_s: float) -> float:
    """A time with the digits of a written table, so that equal predictions stay equal."""
    return float(f"{time_s:.9g}")


def order(listed: Sequence[Sample], error: Floats, rows: Sequence[MeasuredRow]) -> None:
    """Print how well the order of layouts is predicted."""
    by_id = {row.id: row for row in rows}
    compared = [
        Compared(
            row=by_id[s.id],
            measured_s=s.measured_s,
            predicted_s=_told(s.measured_s * (1 + float(e))),
        )
        for s, e in zip(listed, error, strict=True)
    ]
    found = ranking(compared)
    print(f"Spearman {found.spearman:.3f}, extra time of the first {found.extra_time:.1%}")


def at_bounds(fitted: dict[Key, float]) -> None:
    """Print fitted values that lie on a bound."""
    for (owner, name), free in free_values().items():
        low, high, value = np.log([free.low, free.high, fitted[owner, name]])
        if not _NEAR_BOUND < (value - low) / (high - low) < 1 - _NEAR_BOUND:
            print(f"{owner}.{name} = {fitted[owner, name]:.4g} lies on a bound")


def peaks() -> None:
    """Print the part of the peak that each accelerator reaches with one model and layout."""
    parts: dict[tuple[str, Precision], tuple[float, float]] = {}
    for name in shipped_names("npus"):
        npu = load_npu(name)
        for precision in (Precision.BF16, Precision.FP16, Precision.FP8, Precision.FP4):
            if precision in npu.peak_flop_per_s:
                try:
                    result = simulate_run(_same_run(npu, precision))
                except SimcoreError as error:
                    print(f"{name} {precision}: {error}")
                    continue
                parts[name, precision] = result.iteration_time_s, result.mfu
    for (name, precision), (time_s, part) in sorted(parts.items(), key=lambda i: -i[1][1]):
        fitted = any(name in family.npus for family in FAMILIES.values())
        told = "measured" if fitted else ""
        print(f"  {name:14} {precision:5} {1e3 * time_s:9.1f} ms  {part:6.1%} of its peak {told}")
    for one, other in SIBLINGS:
        for precision in (Precision.BF16, Precision.FP8, Precision.FP4):
            if (one, precision) in parts:
                times = parts[one, precision][0] / parts[other, precision][0]
                print(f"  {one} / {other} {precision}: {times:.3f}")


def _same_run(npu: Npu, precision: Precision) -> Run:
    model = load_net("llama3_8b")
    assert isinstance(model, Model)
    links = Dimension.build(
        "links", topology="switch", npus=8, bandwidth_bytes_per_s=1e12, latency_s=1e-6
    )
    platform = Platform.build("platform", name="same", npu=npu, dimensions=(links,))
    workload = TrainingWorkload.build(
        "workload", model=model, sequence=8192, global_batch=64, precision=precision
    )
    plan = ParallelPlan.build("plan", dp=8, micro_batch=1, zero_stage=1)
    return Run(workload=workload, platform=platform, plan=plan)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("rows", type=Path)
    parser.add_argument("--kept", type=Path, help="file in which simulated runs are kept")
    parser.add_argument("--cells", type=int, default=10, help="how many are left out; 0: none")
    parser.add_argument("--errors", type=Path, help="file that gets those left out, by row")
    parser.add_argument("--fit", action="store_true", help="fit first, in place of what files hold")
    arguments = parser.parse_args()
    rows = list(MeasuredRow.all_of(arguments.rows))
    listed = samples(rows, arguments.kept)
    blocks = blocks_of(listed)
    seen: Flags = np.ones(len(listed), bool)
    error = _held(listed, blocks)
    if arguments.fit:
        fitted = fit(listed, blocks, seen)
        at_bounds(fitted)
        for (owner, name), value in fitted.items():
            print(f"  {owner}.{name} = {value:.4g}")
        error = predicted(blocks, fitted, len(listed))
    sources(listed, error)
    row_means(listed, error)
    order(listed, error, rows)
    if arguments.cells:
        by_row = left_out(listed, blocks, cells_of(listed), arguments.cells)
        if arguments.errors:
            lines = ["id,error", *(f"{row},{error:.6g}" for row, error in by_row.items())]
            arguments.errors.write_text("\n".join(lines) + "\n", encoding="utf-8")
    peaks()


if __name__ == "__main__":
    main()

"""Fits the efficiencies in ``configs/npus`` to measured training runs.

    python benchmarks/fit_compute.py ROWS.csv [--family hopper ...] [--write] [--folds 5]

One set of efficiencies per accelerator, none per source, model or cluster. A run's time is taken
as its simulated time, moved by what new efficiencies change of the compute time of its busiest
stage, bubbles included; after the search the files are written, and a second round starts from
the newly simulated times. Sources weigh alike, however many rows they have. The error on rows that
were held out is that of ``--folds`` fits, each without some of the configuration groups (rows of
one source, model, accelerator, layout and precision are one group).
The last line is one JSON object.
"""

import argparse
import hashlib
import json
import math
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from simcore import errors
from simcore.compute import Roofline
from simcore.config import Run
from simcore.hardware import Npu
from simcore.resources import find_config
from simcore.simulation import simulate_run
from simcore.terms import NodeKind
from simcore.validation.machine import Machines
from simcore.validation.mapping import run_of
from simcore.validation.rows import Row
from simcore.workload import build_graph, microbatches
from simcore.workload.graph import Kernel, Phase

MAX_ROWS = 120
"""Per source and accelerator; a larger source is sampled."""
CORNER = 0.05
"""Below this relative error the loss is quadratic, above it grows like the error."""
RESTARTS = 3
"""A new simplex at the best point so far gets out of narrow valleys."""
SCALE = "scale"
"""Stands for ``gemm`` and ``gemm_narrow`` together."""
GROUP = ("source", "model", "gpu", "tp", "pp", "cp", "precision", "layers", "hidden", "seq_len")


@dataclass(frozen=True, slots=True)
class Family:
    """Accelerators that share their efficiencies.

    Attributes:
        npus: Files that get the result.
        free: What is fitted, with the range it may take.
        basis: File whose other efficiencies are taken over; that of the first one by default.
    """

    npus: tuple[str, ...]
    free: dict[str, tuple[float, float]]
    basis: str = ""


_GEMM, _LESS = (0.2, 0.95), (0.05, 0.6)
_SCALED = {SCALE: (0.2, 1.4)}
FAMILIES = {
    "ampere": Family(
        ("a100_80", "a100_40"),
        {
            "gemm": _GEMM,
            "gemm_ramp_s": (1e-6, 1e-4),
            "attention": _LESS,
            "unfused_attention": _LESS,
            "misaligned": (0.02, 1.0),
            "memory": (0.3, 0.95),
            "issue_s": (1e-6, 2e-4),
        },
    ),
    "volta": Family(("v100_32", "v100_16"), _SCALED, "a100_80"),
    "hopper": Family(
        ("h100_80", "h200", "h800"),
        {
            "gemm": _GEMM,
            "gemm_narrow": (0.2, 0.75),
            "attention": _LESS,
            "memory": (0.2, 0.95),
            "issue_s": (1e-6, 1.5e-4),
        },
    ),
    "hopper_500w": Family(("h100_96",), _SCALED, "h100_80"),
    "blackwell": Family(
        ("gb200", "b200"),
        {
            "gemm": _GEMM,
            "gemm_narrow": (0.2, 0.75),
            "attention": _LESS,
            "memory": (0.2, 0.95),
            "issue_s": (1e-6, 1.5e-4),
        },
    ),
    "blackwell_ultra": Family(("gb300", "b300"), {**_SCALED, "attention": _LESS}, "gb200"),
    "tpu_v3": Family(("tpu_v3", "tpu_v2"), _SCALED),
    "tpu_v5p": Family(("tpu_v5p", "tpu_v4"), _SCALED),
    "tpu_v5e": Family(("tpu_v5e",), _SCALED),
    "tpu_v6e": Family(("tpu_v6e",), _SCALED),
    "gaudi2": Family(("gaudi2", "gaudi3"), _SCALED),
}
"""In the order in which they are fitted: a basis comes before those that stand on it."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One measured run and its busiest stage.

    Attributes:
        operators: Its kernels, and how often they run per iteration.
        bubble: What a second more of the stage's compute adds to the iteration.
        rest_s: Simulated time that is not compute of that stage.
    """

    source: str
    group: str
    run: Run
    measured_s: float
    weight: float
    operators: tuple[tuple[Sequence[Kernel], float], ...]
    bubble: float
    rest_s: float

    def compute_s(self, npu: Npu) -> float:
        return stage_s(self.operators, npu, self.run)

    def error(self, npu: Npu) -> float:
        """Of the predicted time, relative to the measured one."""
        return (self.compute_s(npu) * self.bubble + self.rest_s) / self.measured_s - 1


def stage_s(operators: Sequence[tuple[Sequence[Kernel], float]], npu: Npu, run: Run) -> float:
    model, precision = Roofline(), run.workload.precision
    return sum(
        count * model.operator_time_ns(kernels, npu, precision) * 1e-9
        for kernels, count in operators
    )


def busiest_stage(run: Run) -> tuple[tuple[Sequence[Kernel], float], ...]:
    """Operators of the stage that computes longest, with their counts in a whole iteration."""
    plan, batches = run.plan, microbatches(run.workload, run.plan)
    few = min(batches, plan.pp if plan.interleave > 1 else 1)
    short = run.workload.model_copy(update={"global_batch": few * plan.dp * plan.micro_batch})
    graph = build_graph(short, plan)
    stages = []
    for stage in graph.stages:
        counts = np.bincount(
            stage.item[stage.kind == NodeKind.COMPUTE], minlength=len(graph.operators)
        )
        stages.append(
            tuple(
                (op.kernels, int(n) * (1.0 if op.phase is Phase.OPTIMIZER else batches / few))
                for op, n in zip(graph.operators, counts, strict=True)
                if n
            )
        )
    return max(stages, key=lambda operators: stage_s(operators, run.platform.npu, run))


def samples(rows: Sequence[Row], npus: Sequence[str]) -> list[Sample]:
    """The measured runs on these accelerators that can be simulated."""
    machines = Machines()
    chosen: dict[str, list[tuple[Row, Run]]] = defaultdict(list)
    for row in rows:
        try:
            run = run_of(row, machines)
        except errors.SimcoreError:
            continue
        if run.platform.npu.name in npus and row.number("iter_time_s"):
            chosen[row.text("source")].append((row, run))
    found = []
    for source, pairs in chosen.items():
        kept = random.Random(0).sample(pairs, min(len(pairs), MAX_ROWS))
        weight = min(1.0, len(kept) / 6) / len(kept)
        for row, run in kept:
            operators = busiest_stage(run)
            bubble = 1 + (run.plan.pp - 1) / (
                microbatches(run.workload, run.plan) * run.plan.interleave
            )
            simulated_s = simulate_run(run).iteration_time_s
            busy_s = stage_s(operators, run.platform.npu, run)
            found.append(
                Sample(
                    source=source,
                    group="|".join(row.text(column) for column in GROUP),
                    run=run,
                    measured_s=row.number("iter_time_s") or math.nan,
                    weight=weight,
                    operators=operators,
                    bubble=bubble,
                    rest_s=simulated_s - bubble * busy_s,
                )
            )
    return found


def with_values(npu: Npu, values: dict[str, float]) -> Npu:
    """*npu* with these efficiencies."""
    efficiency = npu.efficiency
    changes = {name: value for name, value in values.items() if name != SCALE}
    if SCALE in values:
        changes["gemm"] = min(0.98, efficiency.gemm * values[SCALE])
        if efficiency.gemm_narrow:
            changes["gemm_narrow"] = min(0.98, efficiency.gemm_narrow * values[SCALE])
    return npu.model_copy(update={"efficiency": efficiency.model_copy(update=changes)})


def loss(measured: Sequence[Sample], values: dict[str, float], bases: dict[str, Npu]) -> float:
    npus = {name: with_values(npu, values) for name, npu in bases.items()}
    total = weight = 0.0
    for sample in measured:
        error = math.log1p(max(-0.99, sample.error(npus[sample.run.platform.npu.name])))
        total += sample.weight * (math.hypot(error, CORNER) - CORNER)
        weight += sample.weight
    return total / weight


def fit(measured: Sequence[Sample], family: Family, bases: dict[str, Npu]) -> dict[str, float]:
    """The free values with the least loss, by Nelder and Mead's simplex on their logarithms."""
    names = list(family.free)
    first = next(iter(bases.values())).efficiency
    start = [
        1.0 if name == SCALE else min(max(getattr(first, name) or first.gemm, low), high)
        for name, (low, high) in family.free.items()
    ]

    def values_at(x: Sequence[float]) -> dict[str, float]:
        return {
            name: min(max(math.exp(v), low), high)
            for name, v, (low, high) in zip(names, x, family.free.values(), strict=True)
        }

    def function(x: Sequence[float]) -> float:
        return loss(measured, values_at(x), bases)

    limits = {"maxfev": 60 * len(names), "xatol": 2e-3, "fatol": 1e-5}
    middle = [math.sqrt(low * high) for low, high in family.free.values()]
    ends = []
    for begin in (start, middle):
        at = np.array([math.log(value) for value in begin])
        for _ in range(RESTARTS):
            simplex = np.vstack([at, at + 0.3 * np.eye(len(names))])
            options = {**limits, "initial_simplex": simplex}
            found = minimize(function, at, method="Nelder-Mead", options=options)
            at = found.x
        ends.append((found.fun, values_at(at)))
    return min(ends, key=lambda end: end[0])[1]


def mean_error(measured: Sequence[Sample], npus: dict[str, Npu]) -> dict[str, float]:
    """Mean absolute error by source."""
    by_source: dict[str, list[float]] = defaultdict(list)
    for sample in measured:
        by_source[sample.source].append(abs(sample.error(npus[sample.run.platform.npu.name])))
    return {source: sum(e) / len(e) for source, e in by_source.items()}


def held_out(
    measured: Sequence[Sample], family: Family, bases: dict[str, Npu], folds: int
) -> float | None:
    """Mean over sources of the error on groups that the fit did not see."""
    groups = sorted({sample.group for sample in measured})
    if folds < 2 or len(groups) < 2 * folds:
        return None
    fold = {g: int(hashlib.sha256(g.encode()).hexdigest(), 16) % folds for g in groups}
    errors_by_source: dict[str, list[float]] = defaultdict(list)
    for k in range(folds):
        seen = [sample for sample in measured if fold[sample.group] != k]
        values = fit(seen, family, bases)
        npus = {name: with_values(npu, values) for name, npu in bases.items()}
        for sample in measured:
            if fold[sample.group] == k:
                error = sample.error(npus[sample.run.platform.npu.name])
                errors_by_source[sample.source].append(abs(error))
    means = [sum(e) / len(e) for e in errors_by_source.values()]
    return sum(means) / len(means)


_UNITS = {"gemm_ramp_s": "gemm_ramp", "kernel_overhead_s": "kernel_overhead", "issue_s": "issue"}


def write(name: str, npu: Npu, source: str) -> None:
    """Put the efficiencies of *npu* and their source into its file."""
    path = find_config("npus", name, at="npu")
    table = npu.efficiency.model_dump(exclude_none=True)
    lines = ["efficiency:\n"]
    for field, value in table.items():
        if field in _UNITS:
            lines.append(f"  {_UNITS[field]}: {value * 1e6:.4g} us\n")
        elif field == "tile":
            lines.append(f"  tile: [{value[0]}, {value[1]}]\n")
        else:
            lines.append(f"  {field}: {value:.4g}\n")
    text = _replaced(path.read_text().splitlines(keepends=True), "efficiency:", lines, "")
    lines = ["  efficiency: >-\n", *(f"    {line}\n" for line in _wrapped(source, 92))]
    path.write_text("".join(_replaced(text, "  efficiency:", lines, "  ")))


def _replaced(text: list[str], key: str, lines: list[str], indent: str) -> list[str]:
    """*text* with the block that starts with *key* replaced."""
    first = next(i for i, line in enumerate(text) if line.startswith(key))
    last = first + 1
    while last < len(text) and text[last].startswith(f"{indent}  "):
        last += 1
    return text[:first] + lines + text[last:]


def _wrapped(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def fit_family(name: str, rows: Sequence[Row], folds: int, save: bool) -> dict[str, object]:
    family, machines = FAMILIES[name], Machines()
    measured = samples(rows, family.npus)
    basis = machines.npu(family.basis or family.npus[0]).efficiency
    bases = {npu: machines.npu(npu).model_copy(update={"efficiency": basis}) for npu in family.npus}
    values = fit(measured, family, bases)
    npus = {npu: with_values(base, values) for npu, base in bases.items()}
    by_source = mean_error(measured, npus)
    counts = Counter(sample.source for sample in measured)
    unseen = held_out(measured, family, bases, folds)
    told = (
        f"{', '.join(family.free)} fitted by benchmarks/fit_compute.py to "
        f"{len(measured)} published runs of {len(counts)} sources on {', '.join(family.npus)}, "
        f"mean over sources of the error {sum(by_source.values()) / len(by_source):.1%}"
    )
    if unseen is not None:
        told += f", on configurations left out of the fit {unseen:.1%}"
    if family.basis:
        told += f"; the others as {family.basis}"
    if save:
        for npu in family.npus:
            write(npu, npus[npu], told)
    print(name, {key: float(f"{value:.4g}") for key, value in values.items()})
    for source, error in sorted(by_source.items()):
        print(f"    {source:48} {counts[source]:4} rows  {error:6.1%}")
    print(f"    {told}")
    return {"family": name, "rows": len(measured), "values": values, "held_out": unseen}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("rows", type=Path)
    parser.add_argument("--family", nargs="*", choices=list(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="put the values into configs/npus")
    arguments = parser.parse_args()
    rows = list(Row.all_of(arguments.rows))
    done = [fit_family(f, rows, arguments.folds, arguments.write) for f in arguments.family]
    print(json.dumps(done))


if __name__ == "__main__":
    main()

"""Fits the efficiencies in ``configs/npus`` to measured training runs.

    python benchmarks/fit_compute.py ROWS.csv [--family hopper ...] [--write] [--folds 5]

One set of efficiencies per accelerator, none per source, model or cluster. A run's time is taken
as its simulated time, moved by what new efficiencies change of the compute time of its busiest
stage, bubbles included; after the search the files are written, and a second round starts from
the newly simulated times. Sources weigh alike, however many rows they have, and the bias of a
source counts beside its error. What nobody published about a run (input, waiting for a slow
machine, older kernels) only ever adds time, so that a prediction slower than the run says more
against the model than one that is faster: its error counts ``TOO_SLOW`` times, as in stochastic
frontier analysis (D. Aigner, C. Lovell, P. Schmidt, Journal of Econometrics 6(1), 1977). The error
on rows that were held out is that of ``--folds`` fits, each without some of the configuration
groups (rows of one source, model, accelerator, layout and precision are one group).
The last line is one JSON object.
"""

import argparse
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from fit_samples import Samples, samples
from kernel_table import Floats
from numpy.typing import NDArray
from scipy.optimize import differential_evolution, minimize

from simcore.files.resources import find_config
from simcore.machine import Efficiency
from simcore.validation.machine import Machines
from simcore.validation.rows import MeasuredRow

WANTED, WANTED_BIAS, BIAS = 0.15, 0.08, 0.25
"""Error and bias of a source that are wanted; weight of the bias beside that of the error."""
TOO_SLOW = 2.0
"""Weight of errors of predictions that are slower than the measured run, beside those faster."""
FULL_SOURCE = 6
"""Runs from which on a source has its full weight."""
CORNER = 0.05
"""Of differences among layouts: below it they count quadratically, above it linearly."""
SEARCH = {"maxiter": 40, "popsize": 8}
"""Of differential evolution over the whole ranges, where the simplex starts a second time."""
RESTARTS = 3
"""A new simplex at the best point so far gets out of narrow valleys."""
SCALE = "scale"
"""Stands for ``gemm`` and ``gemm_narrow`` together."""
LAYOUT = 8.0
"""Weight of differences within groups of layouts of one model on one machine, which ranking needs,
beside that of the errors themselves."""


Flags = NDArray[np.bool_]


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


_GEMM, _LESS = (0.45, 0.95), (0.05, 0.6)
_MEMORY, _CASTS = (0.1, 0.8), (0.01, 20.0)
_SCALED = {SCALE: (0.2, 1.4)}
_NARROW = {
    "gemm": _GEMM,
    "gemm_narrow": (0.2, 0.75),
    "attention": _LESS,
    "memory": _MEMORY,
    "product_memory": (0.5, 0.95),
    "issue_s": (1e-6, 4e-4),
    "casts": _CASTS,
}
"""Of accelerators with formats below 16 bits; at most 0.75 of the peak was measured in 8 bits."""
_PRODUCTS = {"gemm": (0.3, 0.98), "gemm_narrow": (0.2, 0.98)}
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
            "tile_fill": (1, 3000),
            "operand_cost": (0.5, 100),
        },
    ),
    "volta": Family(("v100_32", "v100_16"), _SCALED, "a100_80"),
    "hopper": Family(("h100_80", "h200", "h800"), _NARROW),
    "hopper_500w": Family(("h100_96",), _SCALED, "h100_80"),
    "blackwell": Family(("gb200", "b200"), _NARROW),
    "blackwell_ultra": Family(
        ("gb300", "b300"),
        {"attention": _LESS, "memory": _MEMORY, "casts": _CASTS},
        "gb200",
    ),
    "tpu_v3": Family(("tpu_v3", "tpu_v2"), _SCALED),
    "tpu_v5p": Family(("tpu_v5p", "tpu_v4"), _PRODUCTS),
    "tpu_v5e": Family(("tpu_v5e",), _PRODUCTS),
    "tpu_v6e": Family(("tpu_v6e",), _SCALED, "tpu_v5e"),
    "gaudi2": Family(("gaudi2", "gaudi3"), _SCALED),
}
"""In the order in which they are fitted: a basis comes before those that stand on it."""


def with_values(efficiency: Efficiency, values: dict[str, float]) -> Efficiency:
    """*efficiency* with these values."""
    changes = {name: value for name, value in values.items() if name != SCALE}
    if SCALE in values:
        changes["gemm"] = min(0.98, efficiency.gemm * values[SCALE])
        if efficiency.gemm_narrow:
            changes["gemm_narrow"] = min(0.98, efficiency.gemm_narrow * values[SCALE])
    return efficiency.model_copy(update=changes)


def loss(measured: Samples, seen: Flags, efficiency: Efficiency) -> float:
    """Squared errors of the sources, and of layouts among each other.

    Args:
        measured: The runs.
        seen: (R,) those that count.
        efficiency: What they are predicted with.
    """
    error = np.log1p(np.maximum(-0.99, measured.errors(efficiency)))
    runs = np.bincount(measured.sources, seen)
    weighed = error * np.where(error > 0, TOO_SLOW, 1.0) * seen
    mean = np.bincount(measured.sources, np.abs(weighed)) / np.maximum(1, runs)
    bias = np.bincount(measured.sources, weighed) / np.maximum(1, runs)
    squares = (mean / WANTED) ** 2 + BIAS * (bias / WANTED_BIAS) ** 2
    weight = np.minimum(1, runs / FULL_SOURCE)
    return float((weight * squares).sum() / weight.sum()) + _among_layouts(measured, seen, error)


def _among_layouts(measured: Samples, seen: Flags, error: Floats) -> float:
    """Differences within groups of layouts, each from the mean of its group."""
    counts = np.bincount(measured.layouts, seen)[measured.layouts]
    means = np.bincount(measured.layouts, error * seen)[measured.layouts] / np.maximum(1, counts)
    parts = np.where(seen & measured.varied, 1 / np.maximum(1, counts), 0.0)
    if not parts.any():
        return 0.0
    sizes = np.hypot(error - means, CORNER) - CORNER
    return LAYOUT * float((parts * sizes).sum() / parts.sum())


def fit(measured: Samples, seen: Flags, family: Family, first: Efficiency) -> dict[str, float]:
    """The free values with the least loss: simplex of Nelder and Mead on their logarithms, from the
    known values and from the best of the whole ranges.
    """
    names = list(family.free)
    low, high = np.log(list(family.free.values())).T
    known = [1.0 if name == SCALE else getattr(first, name) or first.gemm for name in names]

    def values_at(x: Floats) -> dict[str, float]:
        return dict(zip(names, np.exp(np.clip(x, low, high)).tolist(), strict=True))

    def function(x: Floats) -> float:
        return loss(measured, seen, with_values(first, values_at(x)))

    whole = differential_evolution(
        function, list(zip(low, high, strict=True)), rng=0, polish=False, **SEARCH
    )
    limits = {"maxfev": 60 * len(names), "xatol": 2e-3, "fatol": 1e-5}
    ends = []
    for begin in (np.clip(np.log(known), low, high), whole.x):
        at = begin
        for _ in range(RESTARTS):
            simplex = np.vstack([at, at + 0.3 * np.eye(len(names))])
            options = {**limits, "initial_simplex": simplex}
            found = minimize(function, at, method="Nelder-Mead", options=options)
            at = found.x
        ends.append((found.fun, values_at(at)))
    return min(ends, key=lambda end: end[0])[1]


def mean_error(measured: Samples, error: Floats) -> dict[str, float]:
    """Mean absolute error by source."""
    by_source: dict[str, list[float]] = defaultdict(list)
    for sample, value in zip(measured.listed, np.abs(error), strict=True):
        by_source[sample.source].append(float(value))
    return {source: sum(e) / len(e) for source, e in by_source.items()}


def held_out(measured: Samples, family: Family, first: Efficiency, folds: int) -> float | None:
    """Mean over sources of the error on groups that the fit did not see."""
    groups = {sample.group for sample in measured.listed}
    if folds < 2 or len(groups) < 2 * folds:
        return None
    digests = [hashlib.sha256(sample.group.encode()).hexdigest() for sample in measured.listed]
    fold = np.array([int(digest, 16) % folds for digest in digests])
    unseen = np.empty(fold.size)
    for k in range(folds):
        values = fit(measured, fold != k, family, first)
        unseen[fold == k] = measured.errors(with_values(first, values))[fold == k]
    means = list(mean_error(measured, unseen).values())
    return sum(means) / len(means)


_UNITS = {"gemm_ramp_s": "gemm_ramp", "kernel_overhead_s": "kernel_overhead", "issue_s": "issue"}


def write(name: str, efficiency: Efficiency, source: str) -> None:
    """Put the efficiencies of NPU *name* and their source into its file."""
    path = find_config("npus", name, at="npu")
    table = efficiency.model_dump(exclude_none=True)
    lines = ["efficiency:\n"]
    for field, value in table.items():
        if field in _UNITS:
            lines.append(f"  {_UNITS[field]}: {value * 1e6:.4g} us\n")
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


def fit_family(name: str, rows: Sequence[MeasuredRow], folds: int, save: bool) -> dict[str, object]:
    family, machines = FAMILIES[name], Machines()
    measured = samples(rows, family.npus)
    measured.check(machines.npu(family.npus[0]).efficiency)
    first = machines.npu(family.basis or family.npus[0]).efficiency
    values = fit(measured, np.ones(len(measured.listed), bool), family, first)
    found = with_values(first, values)
    by_source = mean_error(measured, measured.errors(found))
    counts = Counter(sample.source for sample in measured.listed)
    unseen = held_out(measured, family, first, folds)
    told = (
        f"{', '.join(family.free)} fitted by benchmarks/fit_compute.py to "
        f"{len(measured.listed)} published runs of {len(counts)} sources on "
        f"{', '.join(family.npus)}, "
        f"mean over sources of the error {sum(by_source.values()) / len(by_source):.1%}"
    )
    if unseen is not None:
        told += f", on configurations left out of the fit {unseen:.1%}"
    if family.basis:
        told += f"; the others as {family.basis}"
    if save:
        for npu in family.npus:
            write(npu, found, told)
    print(name, {key: float(f"{value:.4g}") for key, value in values.items()})
    for source, error in sorted(by_source.items()):
        print(f"    {source:48} {counts[source]:4} rows  {error:6.1%}")
    print(f"    {told}")
    return {"family": name, "rows": len(measured.listed), "values": values, "held_out": unseen}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("rows", type=Path)
    parser.add_argument("--family", nargs="*", choices=list(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="put the values into configs/npus")
    arguments = parser.parse_args()
    rows = list(MeasuredRow.all_of(arguments.rows))
    done = [fit_family(f, rows, arguments.folds, arguments.write) for f in arguments.family]
    print(json.dumps(done))


if __name__ == "__main__":
    main()

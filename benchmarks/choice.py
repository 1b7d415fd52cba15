"""Says where the choice among measured load tests goes wrong, and by what knowledge it would not.

    python benchmarks/choice.py REQUESTS.csv PREDICTIONS.csv

PREDICTIONS are those of ``simcore validate serving``. In groups of equal model, accelerator and
lengths with six configurations or more, that with the greatest throughput per accelerator of those
predicted to answer within a limit is taken (15, 30 and 60 ms per token, kept by two tests at
least). Its loss is the part of the best measured throughput that it misses, or all where it breaks
the limit by more than a tenth. The same is done with other times in place of the predicted ones:

- the measured time to the first token, or the measured time per token, beside the other predicted;
- times per token divided by the median ratio of their class, which no prediction can know;
- times per token moved by a Gaussian process of their residuals over the columns of both tables
  (recipes included), from rows with other columns, from other groups and from other pairs of model
  and accelerator, at the best of several scales, which flatters;
- without the tests that are more than three times as fast as predicted.
"""

import argparse
import csv
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from itertools import product
from pathlib import Path
from statistics import fmean, median

import numpy as np
from kernel_table import Floats

from simcore.validation.rows import MeasuredRow
from simcore.validation.served.recipes import load_tests

LIMITS_MS = (15.0, 30.0, 60.0)
LEAST = 6
"""Configurations of a group."""
BROKEN = 1.1
"""Measured time per token over the limit from which on all is lost."""
GROUP = ("model", "system", "input_len", "output_len")
OUTCOMES = ("id", "source", "measured_on", "ttft_ms", "tpot_ms", "notes")
DOUBLINGS = (
    *("concurrency", "num_gpus", "tp", "attention_dp", "moe_ep", "input_len", "output_len"),
    *("prefill_num_workers", "decode_num_workers", "decode_attention_dp_size"),
)
KINDS = ("model", "system", "backend", "mode", "gemm_format", "speculation", "backend_version")
SCALES = (0.3, 0.6, 1.0)
NOISES = (0.03, 0.1, 0.2)
"""Of residuals that the process cannot explain; it explains 0.25."""

Times = tuple[Floats, Floats]
Class = Callable[[MeasuredRow], Hashable]


def lost(rows: Sequence[MeasuredRow], believed: Times, measured: Times) -> tuple[float, int, int]:
    """Mean loss, how often a limit is broken or nothing is taken, and questions."""
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        groups[tuple(row.text(name) for name in GROUP)].append(number)
    rates, true = (throughput(rows, *times) for times in (believed, measured))
    losses = []
    for group in groups.values():
        for limit in LIMITS_MS:
            kept = [n for n in group if measured[1][n] <= limit]
            if len(group) < LEAST or len(kept) < 2:
                continue
            taken = max(
                (n for n in group if believed[1][n] <= limit), key=rates.__getitem__, default=-1
            )
            broken = taken < 0 or measured[1][taken] > BROKEN * limit
            best = max(true[n] for n in kept)
            losses.append(1.0 if broken else max(0.0, 1 - true[taken] / best))
    return fmean(losses), losses.count(1.0), len(losses)


def throughput(rows: Sequence[MeasuredRow], ttft_ms: Floats, tpot_ms: Floats) -> Floats:
    """(R,) tokens per second and accelerator of a closed loop."""
    requests, answer, npus = (
        np.array([row.number(name) for row in rows], np.float64)
        for name in ("concurrency", "output_len", "num_gpus")
    )
    return np.asarray(1e3 * requests * answer / (ttft_ms + (answer - 1) * tpot_ms) / npus)


def centred(rows: Sequence[MeasuredRow], logs: Floats, names: Sequence[str]) -> Floats:
    """(R,) median residual of the class of each row by the columns *names*."""
    found = defaultdict(list)
    keys = [tuple(row.text(name) for name in names) for row in rows]
    for key, value in zip(keys, logs, strict=True):
        found[key].append(value)
    return np.array([median(found[key]) for key in keys])


def foretold(
    rows: Sequence[MeasuredRow], logs: Floats, held: Class, scale: float, noise: float
) -> Floats:
    """(R,) residuals as rows of another class in *held* tell them.

    Source: C. Rasmussen, C. Williams, "Gaussian Processes for Machine Learning", 2006,
    section 5.4.2.
    """
    apart = np.zeros((len(rows), len(rows)))
    for name in DOUBLINGS:
        value = np.log2([row.number(name) or 1.0 for row in rows])
        apart += (scale * (value[:, None] - value)) ** 2
    other = np.zeros_like(apart)
    for name in KINDS:
        kind = np.unique([row.text(name) for row in rows], return_inverse=True)[1]
        other += scale * (kind[:, None] != kind)
    covariance = 0.0625 * np.exp(-np.sqrt(apart) - other) + noise**2 * np.eye(len(rows))
    inverse = np.linalg.inv(covariance)
    weighed, mean = inverse @ logs, np.empty(len(rows))
    classes: dict[Hashable, list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        classes[held(row)].append(number)
    for group in classes.values():
        own = inverse[np.ix_(group, group)]
        mean[group] = logs[group] - np.linalg.solve(own, weighed[group])
    return mean


def tell(what: str, found: tuple[float, int, int]) -> None:
    """Print a line."""
    print(f"{what:66} {found[0]:6.1%} lost, {found[1]:2} of {found[2]} broken", flush=True)


def told_by_others(rows: Sequence[MeasuredRow], believed: Times, measured: Times) -> None:
    """Print what residuals of other rows tell, each at the best of all scales."""
    logs = np.log(measured[1] / believed[1])
    classes: tuple[tuple[str, Class], ...] = (
        ("rows with other columns", _columns),
        ("other groups", lambda row: tuple(row.text(name) for name in GROUP)),
        ("other pairs of model and accelerator", lambda row: tuple(map(row.text, GROUP[:2]))),
    )
    for what, held in classes:
        tried = [
            lost(
                rows, (believed[0], believed[1] * np.exp(foretold(rows, logs, held, *at))), measured
            )
            for at in product(SCALES, NOISES)
        ]
        tell(f"moved by {what}", min(tried))


def _columns(row: MeasuredRow) -> Hashable:
    return tuple(text for name, text in row.cells.items() if name not in OUTCOMES)


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("requests", type=Path)
    parser.add_argument("predictions", type=Path)
    given = parser.parse_args()
    with given.predictions.open(newline="") as file:
        found = {row["id"]: row for row in csv.DictReader(file) if row["status"] == "ok"}
    rows = [row for row in load_tests(given.requests) if row.id in found]
    names = ("ttft_ms", "tpot_ms")
    true = np.array([[row.number(name) for row in rows] for name in names], np.float64)
    mine = np.array([[float(found[row.id][name]) for row in rows] for name in names], np.float64)
    measured, believed = (true[0], true[1]), (mine[0], mine[1])
    tell("predicted", lost(rows, believed, measured))
    tell("time to the first token as measured", lost(rows, (measured[0], believed[1]), measured))
    tell("time per token as measured", lost(rows, (believed[0], measured[1]), measured))
    logs = np.log(measured[1] / believed[1])
    levels = ("model", "system", "mode", "backend", "gemm_format", "input_len", "output_len")
    for count in (2, 3, len(levels)):
        moved = believed[1] * np.exp(centred(rows, logs, levels[:count]))
        what = f"right in the median of {', '.join(levels[:count])}"
        tell(what[:66], lost(rows, (believed[0], moved), measured))
    fits = [n for n in range(len(rows)) if logs[n] > -np.log(3)]
    tell(
        f"without {len(rows) - len(fits)} tests three times as fast as predicted",
        lost(
            [rows[n] for n in fits],
            (believed[0][fits], believed[1][fits]),
            (measured[0][fits], measured[1][fits]),
        ),
    )
    told_by_others(rows, believed, measured)


if __name__ == "__main__":
    main()

"""How well a load test is known from others that equal it in all but the number of requests.

    python benchmarks/served_ceiling.py REQUESTS.csv PREDICTIONS.csv

PREDICTIONS are those of ``simcore validate serving``. A test is left out and read off the straight
line, in logarithms, between its neighbours of fewer and of more requests, or off tests with as
many. What remains are differences that no column tells (guessed tokens, cached prompts, workers of
pools, repeats): an error that no model of these columns can be expected to undercut, but where it
knows more than the table. Measurements that a table holds twice count once. Per model and
accelerator: tests with neighbours, the median error of the neighbours and of the predictions.
"""

import argparse
import csv
from bisect import bisect_left, bisect_right
from collections import defaultdict
from math import exp, log
from pathlib import Path
from statistics import fmean, median

OUTCOMES = ("id", "source", "measured_on", "ttft_ms", "tpot_ms")
LOAD = ("concurrency", "batch_per_rank")
Row = dict[str, str]


def read(path: Path) -> list[Row]:
    """Rows of the table *path*."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def alike(rows: list[Row]) -> list[list[Row]]:
    """Different measurements by all columns but the load, in the order of their requests."""
    groups: dict[tuple[str, ...], dict[tuple[str, ...], Row]] = defaultdict(dict)
    for row in rows:
        same = tuple(value for key, value in row.items() if key not in (*OUTCOMES, *LOAD))
        groups[same].setdefault((row["concurrency"], row["ttft_ms"], row["tpot_ms"]), row)
    return [
        sorted(group.values(), key=lambda row: float(row["concurrency"]))
        for group in groups.values()
    ]


def from_neighbours(group: list[Row], number: int) -> float | None:
    """Time per token of the row *number* as its neighbours have it; None: it has too few."""
    places = [float(row["concurrency"]) for row in group]
    times = [log(float(row["tpot_ms"])) for row in group]
    place = places[number]
    first, last = bisect_left(places, place), bisect_right(places, place)
    if last - first > 1:
        return exp((sum(times[first:last]) - times[number]) / (last - first - 1))
    if first == 0 or last == len(group):
        return None
    below = bisect_left(places, places[first - 1])
    above = bisect_right(places, places[last])
    low, high = fmean(times[below:first]), fmean(times[last:above])
    part = log(place / places[below]) / log(places[last] / places[below])
    return exp(low + part * (high - low))


def main() -> None:
    """Print the errors of neighbours and of predictions."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("requests", type=Path)
    parser.add_argument("predictions", type=Path)
    given = parser.parse_args()
    found = {row["id"]: row["tpot_ms"] for row in read(given.predictions) if row["tpot_ms"]}
    rows = [row for row in read(given.requests) if row["id"] in found and row["concurrency"]]
    errors: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for group in alike(rows):
        for number, row in enumerate(group):
            known = from_neighbours(group, number)
            if known is not None:
                times = (known, float(found[row["id"]]))
                one, other = (abs(time / float(row["tpot_ms"]) - 1) for time in times)
                errors[row["model"], row["system"]].append((one, other))
    medians = []
    for (model, system), pairs in sorted(errors.items()):
        one, other = (median(values) for values in zip(*pairs, strict=True))
        medians.append((one, other))
        print(f"{model:40s} {system:6s} {len(pairs):4d} {100 * one:6.1f} % {100 * other:6.1f} %")
    one, other = (fmean(values) for values in zip(*medians, strict=True))
    print(f"mean over {len(medians)} pairs of their medians: {100 * one:.1f} % {100 * other:.1f} %")


if __name__ == "__main__":
    main()

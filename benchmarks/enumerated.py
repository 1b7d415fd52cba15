"""Publishes an enumerated study as one small table: every design's outcome, and the exact front.

Run as ``python -m dse enumerate NAME.yaml --out runs/NAME`` and then
``python benchmarks/enumerated.py runs/NAME tests/golden/enumerated/NAME.csv``.
"""

import csv
import sys
from pathlib import Path

from dse import load_study
from dse.study.trials import Trial

COLUMNS = ("number", "state", "on_front", "footprint_bytes")


def main(folder: Path, table: Path) -> None:
    """Write *table*: rows in the order of the space, numbers as the simulator gives them."""
    result = load_study(folder)
    front = {result.rows[index].number for index in result.front}
    names = list(result.study.goals.objectives)
    with table.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*COLUMNS, *names])
        for row in sorted(result.rows, key=lambda row: row.number):
            writer.writerow([*_start(row, front), *_values(row, names)])


def _start(row: Trial, front: set[int]) -> list[object]:
    needed = row.evaluation.metrics.get("footprint_bytes")
    size = "" if needed is None else f"{needed:.0f}"
    return [row.number, row.state, int(row.number in front), size]


def _values(row: Trial, names: list[str]) -> list[str]:
    return [f"{row.evaluation.objectives[name]:.12g}" if row.is_feasible else "" for name in names]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

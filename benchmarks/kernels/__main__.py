"""Writes the tables of ``configs/kernels`` from those of AIConfigurator.

    python benchmarks/kernels SYSTEMS [--only h100 ...] [--left-out FILE]

SYSTEMS is the folder ``aiconfigurator_core/systems`` of the unpacked wheel ``aiconfigurator-core``
(Apache-2.0), which holds times of single kernels as engines of inference run them, by accelerator,
engine and version. Of each table the points of a coarse grid are kept; how well the others are
predicted from these stands in ``tables.csv``, and some of them go to FILE.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import pandas as pd
from points import ENGINES, KEYS, SOURCES

from simcore.compute.tables.kinds import TABLE_KINDS
from simcore.compute.tables.store import MeasuredKernel
from simcore.files.yaml_file import read_table
from simcore.machine import Npu, load_npu

FOLDERS = {
    "a100": "a100_sxm",
    "h100": "h100_sxm",
    "h200": "h200_sxm",
    "b200": "b200_sxm",
    "b300": "b300_sxm",
    "gb200": "gb200",
    "gb300": "gb300",
}
"""Our names of accelerators, and the folders that are read."""

LEAST_POINTS = 20
LEAST_POSSIBLE = 0.95
"""Part of a table that the peaks of its accelerator must allow, lest all of it be doubtful."""
MOST_LEFT_OUT = 2000
"""Points of a table that are predicted from those that are kept."""
LAUNCHES_US = 20
"""Least time of a table of products from which on it tells of the host that launched them: engines
record the kernels of a step, and launch the record."""
SAMPLED = 8
"""Of these, so many go to a file for tests."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("systems", type=Path)
    parser.add_argument("--only", nargs="*", choices=list(FOLDERS), default=list(FOLDERS))
    parser.add_argument("--out", type=Path, default=Path("configs/kernels"))
    parser.add_argument("--left-out", type=Path)
    given = parser.parse_args()
    samples = []
    for name in given.only:
        samples += write(given.systems / "data" / FOLDERS[name], given.out / name)
    if given.left_out:
        pd.DataFrame(samples).to_csv(given.left_out, index=False, float_format="%.4g")


def write(accelerator: Path, folder: Path) -> list[dict[str, Any]]:
    """Write the tables of one accelerator, and what is told of each; some rows left out of them."""
    npu = load_npu(read_table(folder / "source.yaml")["npu"])
    told, samples = [], list[dict[str, Any]]()
    for kind, source in SOURCES.items():
        shape, kept = TABLE_KINDS[kind].shape, []
        for engine in ENGINES:
            table = source.read(accelerator, engine, shape)
            for keys, whole in table.groupby(KEYS) if len(table) else ():
                possible = whole[slow_enough(kind, keys[1], npu, whole)]
                if len(possible) < LEAST_POSSIBLE * len(whole):
                    print(f"{folder.name}: {kind} of {keys} is faster than the peaks allow")
                    continue
                if kind == "product" and possible.us.min() > LAUNCHES_US:
                    print(f"{folder.name}: {kind} of {keys} waits for the host")
                    continue
                points = possible[source.keeps(possible)].drop_duplicates(list(shape))
                if len(points) >= LEAST_POINTS:
                    kept.append(points)
                    told.append(told_of(kind, dict(zip(KEYS, keys, strict=True)), possible, points))
                    samples += left_out(folder.name, kind, possible.drop(points.index))
        if kept:
            rows = pd.concat(kept)[[*KEYS, *shape, "us"]].sort_values([*KEYS, *shape])
            rows.to_csv(folder / f"{kind}.csv", index=False, float_format="%.4g")
    pd.DataFrame(told).to_csv(folder / "tables.csv", index=False)
    print(f"{folder.name}: {len(told)} tables")
    return samples


def left_out(name: str, kind: str, rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Some *rows*, with their coordinates in one column."""
    some = rows.sample(min(len(rows), SAMPLED), random_state=1)
    return [
        {
            "tables": name,
            "kind": kind,
            **{key: row[key] for key in KEYS},
            "shape": " ".join(f"{row[column]:.6g}" for column in TABLE_KINDS[kind].shape),
            "us": row["us"],
        }
        for row in some.to_dict("records")
    ]


def slow_enough(kind: str, format_: str, npu: Npu, table: pd.DataFrame) -> pd.Series:
    """Which rows take no less time than the peaks of the accelerator allow."""
    at = columns(kind, table)
    return table.us >= TABLE_KINDS[kind].least_us(npu, format_, at)


def columns(kind: str, table: pd.DataFrame) -> dict[str, Any]:
    """Coordinates of the rows of *table*."""
    return {name: table[name].to_numpy(float) for name in TABLE_KINDS[kind].shape}


def told_of(
    kind: str, keys: dict[str, Any], whole: pd.DataFrame, points: pd.DataFrame
) -> dict[str, Any]:
    """Source of a table, and its error at what was left out of it."""
    left = whole.drop(points.index)
    left = left.sample(min(len(left), MOST_LEFT_OUT), random_state=0)
    measured = MeasuredKernel(kind, keys["format"], columns(kind, points), points.us.to_numpy())
    error = abs(measured.times_us(columns(kind, left))[0] / left.us - 1)
    return {
        "kind": kind,
        **keys,
        "version": " ".join(sorted(set(points.version))),
        "points": len(points),
        "left_out": len(whole) - len(points),
        "median_error": round(float(error.median()), 4),
        "p90_error": round(float(error.quantile(0.9)), 4),
    }


if __name__ == "__main__":
    sys.exit(main())

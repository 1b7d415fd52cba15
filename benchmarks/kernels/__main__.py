"""Writes the tables of ``configs/kernels`` from those of AIConfigurator.

    python benchmarks/kernels SYSTEMS [--only h100 ...]

SYSTEMS is the folder ``aiconfigurator_core/systems`` of the unpacked wheel ``aiconfigurator-core``
(Apache-2.0), which holds times of single kernels as engines of inference run them, by accelerator,
engine and version. Of each table the points of a coarse grid are kept; how well the others are
predicted from these stands in ``tables.csv``.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import pandas as pd
from points import ENGINES, SOURCES

from simcore.compute.tables.kinds import TABLE_KINDS
from simcore.compute.tables.store import MeasuredKernel

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
MOST_LEFT_OUT = 2000
"""Points of a table that are predicted from those that are kept."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("systems", type=Path)
    parser.add_argument("--only", nargs="*", choices=list(FOLDERS), default=list(FOLDERS))
    parser.add_argument("--out", type=Path, default=Path("configs/kernels"))
    given = parser.parse_args()
    for name in given.only:
        write(given.systems / "data" / FOLDERS[name], given.out / name)


def write(accelerator: Path, folder: Path) -> None:
    """Write the tables of one accelerator, and what is told of each."""
    folder.mkdir(parents=True, exist_ok=True)
    told = []
    for kind, source in SOURCES.items():
        shape, kept = TABLE_KINDS[kind].shape, []
        for engine in ENGINES:
            table = source.read(accelerator, engine, shape)
            for keys, whole in table.groupby(list(source.keys)) if len(table) else ():
                points = whole[source.keeps(whole)].drop_duplicates(list(shape))
                if len(points) >= LEAST_POINTS:
                    kept.append(points)
                    told.append(
                        told_of(kind, dict(zip(source.keys, keys, strict=True)), whole, points)
                    )
        if kept:
            rows = pd.concat(kept)[[*source.keys, *shape, "us"]].sort_values([*source.keys, *shape])
            rows.to_csv(folder / f"{kind}.csv", index=False, float_format="%.4g")
    pd.DataFrame(told).to_csv(folder / "tables.csv", index=False)
    print(f"{folder.name}: {len(told)} tables")


def told_of(
    kind: str, keys: dict[str, Any], whole: pd.DataFrame, points: pd.DataFrame
) -> dict[str, Any]:
    """Source of a table, and its error at what was left out of it."""
    left = whole.drop(points.index)
    left = left.sample(min(len(left), MOST_LEFT_OUT), random_state=0)
    shape = TABLE_KINDS[kind].shape
    at, there = ({name: t[name].to_numpy(float) for name in shape} for t in (points, left))
    measured = MeasuredKernel(kind, keys["format"], at, points.us.to_numpy())
    error = abs(measured.times_us(there)[0] / left.us - 1)
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

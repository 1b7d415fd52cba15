"""Writes ``configs/kernels`` from the kernel tables of AIConfigurator.

    python benchmarks/kernels SYSTEMS [--only h100 ...]

SYSTEMS is the folder ``aiconfigurator_core/systems`` of the unpacked wheel ``aiconfigurator-core``
(Apache-2.0), which holds times of single kernels as engines of inference run them, by accelerator,
engine and version. Of each table the points of a coarse grid are kept, so that what lies between
them tells how well the surfaces interpolate: that error is written beside the table.
"""

import argparse
import sys
from pathlib import Path

import pandas as pd
from points import ENGINES, KINDS, Kind

from simcore.compute.tables.surface import Surface

SILICON = {
    "a100": "a100_sxm",
    "h100": "h100_sxm",
    "h200": "h200_sxm",
    "b200": "b200_sxm",
    "b300": "b300_sxm",
    "gb200": "gb200",
    "gb300": "gb300",
    "l40s": "l40s",
}
"""Our names, and those of the folders that are read."""


MOST_LEFT_OUT = 2000
"""Points of a table that are held against what lies between the others."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("systems", type=Path)
    parser.add_argument("--only", nargs="*", choices=list(SILICON), default=list(SILICON))
    parser.add_argument("--out", type=Path, default=Path("configs/kernels"))
    given = parser.parse_args()
    for name in given.only:
        write(given.systems / "data" / SILICON[name], given.out / name)


def write(source: Path, folder: Path) -> None:
    """Write the tables of one accelerator, and what is told of each."""
    folder.mkdir(parents=True, exist_ok=True)
    told = []
    for kind in KINDS:
        kept = []
        for engine in ENGINES:
            table = kind.read(source, engine)
            for keys, whole in table.groupby(list(kind.keys)) if len(table) else ():
                chosen = whole[kind.chosen(whole)]
                if len(chosen) < kind.least:
                    continue
                kept.append(chosen)
                told.append(line(kind, keys, whole, chosen))
        if kept:
            rows = pd.concat(kept)[[*kind.keys, *kind.shape, "us"]]
            for column in rows.select_dtypes("float"):
                rows[column] = [f"{value:.4g}" for value in rows[column]]
            rows.sort_values([*kind.keys, *kind.shape]).to_csv(folder / f"{kind.name}.csv", index=False)
    pd.DataFrame(told).to_csv(folder / "tables.csv", index=False)
    print(folder.name, len(told), "tables", sum(f.stat().st_size for f in folder.iterdir()) // 1000, "kB")


def line(kind: Kind, keys: tuple[str, ...], whole: pd.DataFrame, chosen: pd.DataFrame) -> dict:
    """What is told of one table: where it comes from, and its error between its points."""
    left = whole.drop(chosen.index)
    left = left.sample(min(len(left), MOST_LEFT_OUT), random_state=0)
    shape = list(kind.shape)
    surface = Surface(chosen[shape].to_numpy(float), (chosen.us / kind.bound_us(chosen)).to_numpy())
    found, _ = surface.at(left[shape].to_numpy(float))
    error = (found * kind.bound_us(left) / left.us - 1).abs()
    return {
        "kernel": kind.name,
        **dict(zip(kind.keys, keys, strict=True)),
        "version": " ".join(sorted(set(whole.version))),
        "points": len(chosen),
        "left_out": len(whole) - len(chosen),
        "median_error": round(float(error.median()), 4) if len(left) else None,
        "p90_error": round(float(error.quantile(0.9)), 4) if len(left) else None,
    }


if __name__ == "__main__":
    sys.exit(main())

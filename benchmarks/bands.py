"""Bands of predictions: write their tables, and see whether they hold.

    python benchmarks/bands.py write --llm LLM.csv --serving REQUESTS.csv
    python benchmarks/bands.py score
    python benchmarks/bands.py siblings
    python benchmarks/bands.py trust

``write`` predicts both tables (some minutes) and writes configs/validation: residuals by class,
and the constants fitted to them. ``score`` reads these residuals and says how many rows lie inside
their bands, by class: with all rows given; with a tenth of them left out in turn; and with each
source left out in turn, so that bands for its rows are made, constants included, from rows of other
sources and other pairs of accelerator and model. It tells how many classes lie outside 65 to 92 %,
and how many would by chance.
``siblings`` takes from these residuals how well the ratio of two predictions of one model on one
accelerator is known, and says for each source whether the others foretell it.
``trust`` prints the table of accelerators of docs/calibration.md.
"""

import argparse
from collections.abc import Iterator
from math import log
from pathlib import Path

import numpy as np

from simcore import accelerator_trust, load_npu, shipped_names
from simcore.config import Run
from simcore.validation.bands.classes import SERVING, TRAINING
from simcore.validation.bands.fit import FOLDS, WITHIN, fitted, inside_of, left_out
from simcore.validation.bands.residuals import Chain, Group, grouped, read_groups, write_groups
from simcore.validation.bands.serving import served_group
from simcore.validation.bands.shipped import FOLDER, BandConstants, Likeness
from simcore.validation.bands.siblings import left_out_coverage, write_errors
from simcore.validation.bands.spread import Mask, Spreads
from simcore.validation.bands.width import Widths
from simcore.validation.bands.write import (
    constants_of,
    networks_of,
    training_groups,
    write_constants,
)
from simcore.validation.calibrated.fit import fitted_likeness
from simcore.validation.calibrated.place import RunPlace
from simcore.validation.calibrated.site_runs import SourceRun, left_out_widths, sites_of
from simcore.validation.machine import Machines
from simcore.validation.mapping import run_of
from simcore.validation.report import training_s
from simcore.validation.rows import MeasuredRow
from simcore.validation.score import Compared, compare
from simcore.validation.served.predict import ServedPredictor
from simcore.validation.served.recipes import load_tests
from simcore.validation.training import TrainingPredictor

LEAST = 20
"""Rows of a class whose coverage is told."""
HOLDS = (0.65, 0.92)
"""Parts inside between which a class counts as held."""
DRAWS = 4000


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=("write", "score", "siblings", "trust"))
    parser.add_argument("--llm", type=Path)
    parser.add_argument("--serving", type=Path)
    parser.add_argument("--configs", type=Path, default=Path("configs"))
    given = parser.parse_args()
    folder = given.configs / FOLDER
    if given.what == "score":
        for chain in (TRAINING, SERVING):
            score(chain, read_groups(folder / chain.file, chain))
        return
    if given.what == "siblings":
        siblings(folder)
        return
    if given.what == "trust":
        print("| accelerator | trust |\n|---|---|")
        for name in shipped_names("npus"):
            print(f"| {name} | {accelerator_trust(load_npu(name))} |")
        return
    if not (given.llm and given.serving):
        parser.error("write needs --llm and --serving")
    write(given.llm, given.serving, folder)


def write(llm: Path, serving: Path, folder: Path) -> None:
    """Predict both tables, and write residuals, networks and constants."""
    trained = training_runs(llm)
    groups = training_groups(trained)
    tests = list(served_tests(serving))
    served = grouped(group for group, _ in tests)
    constants = BandConstants(
        training=constants_of(TRAINING, groups),
        serving=constants_of(SERVING, served),
        site=likeness_of(trained),
        served_site=served_likeness([run for _, run in tests], served),
    )
    write_groups(folder / TRAINING.file, TRAINING, groups)
    write_groups(folder / SERVING.file, SERVING, served)
    networks_of(trained).write(folder / TRAINING.networks)
    print(write_constants(folder, constants))


def siblings(folder: Path) -> None:
    """Write errors of ratios, and print how many pairs of each source the others hold."""
    tables = {chain.name: read_groups(folder / chain.file, chain) for chain in (TRAINING, SERVING)}
    for chain in (TRAINING, SERVING):
        held = left_out_coverage(chain, tables[chain.name])
        for name, share in held.items():
            print(f"{chain.name}, {name}: {share:.0%}")
        print(f"{chain.name}: mean {np.mean(list(held.values())):.0%}")
    print(write_errors(folder, tables))


def training_runs(llm: Path) -> list[tuple[Compared, Run]]:
    """Predicted rows of training runs with a measured time, and their runs."""
    rows, machines = list(MeasuredRow.all_of(llm)), Machines()
    predictor = TrainingPredictor(machines)
    found = compare(rows, [predictor.predict(row) for row in rows], training_s)
    return [(one, run_of(one.row, machines)) for one in found if one.predicted_s is not None]


def served_tests(serving: Path) -> Iterator[tuple[Group, SourceRun]]:
    """Predicted load tests with a measured time per output token, and their places."""
    predictor = ServedPredictor()
    for row in load_tests(serving):
        measured_ms, found = row.number("tpot_ms"), predictor.predict(row)
        if measured_ms and found.tpot_s:
            group = served_group(row, log(measured_ms * 1e-3 / found.tpot_s))
            place = RunPlace.of_row(row)
            run = SourceRun(source=group.source, place=place, residual=group.residuals[0])
            yield group, run


def served_likeness(runs: list[SourceRun], groups: list[Group]) -> Likeness:
    """What load tests of one site share, from pairs of model and accelerator."""
    sites = sites_of(runs, widths_without_each(Spreads(SERVING, groups)))
    told = f"fitted by simcore/validation/calibrated/fit.py to {len(runs)} load tests of "
    told += f"{len(sites)} pairs of model and accelerator"
    return fitted_likeness(sites).model_copy(update={"source": told})


def widths_without_each(spreads: Spreads) -> dict[str, Widths]:
    """Widths of bands from what is known without each source."""
    return {source: left_out_widths(spreads, source) for source in spreads.sources}


def likeness_of(trained: list[tuple[Compared, Run]]) -> Likeness:
    """What runs of one site share, from the sources of *trained*."""
    spreads = Spreads(TRAINING, training_groups(trained))
    sites = sites_of(source_runs(trained), widths_without_each(spreads))
    told = f"fitted by simcore/validation/calibrated/fit.py to {len(trained)} rows of "
    told += f"{len(sites)} sources"
    return fitted_likeness(sites).model_copy(update={"source": told})


def source_runs(trained: list[tuple[Compared, Run]]) -> list[SourceRun]:
    """Runs with their places and residuals."""
    return [
        SourceRun(
            source=one.row.text("source"), place=RunPlace.of(run), residual=-log(1 + one.error)
        )
        for one, run in trained
    ]


def score(chain: Chain, groups: tuple[Group, ...]) -> None:
    """Print the part of rows inside their bands, by source and by class, and those far off."""
    spreads = Spreads(chain, groups)
    inside = ways(spreads)
    weights = 1 / np.bincount(spreads.source)[spreads.source]
    for way, held in inside.items():
        mean = float(np.average(held, weights=weights))
        print(
            f"{chain.name}, {way}: {mean:.1%} inside (mean over {len(spreads.sources)} sources), "
            f"{held.mean():.1%} of rows"
        )
    large = [(name, rows) for name, rows in classes(spreads) if rows.sum() >= LEAST]
    for name, rows in large:
        told = ", ".join(f"{held[rows].mean():.0%}" for held in inside.values())
        print(f"  {name}: {told} of {rows.sum()}")
    for way, held in inside.items():
        shares = [held[rows].mean() for _, rows in large]
        outside = sum(not HOLDS[0] <= share <= HOLDS[1] for share in shares)
        alike = source_likeness(spreads, held)
        print(
            f"{chain.name}, {way}: {outside} of {len(large)} classes outside; by chance "
            f"{by_chance(spreads, [rows for _, rows in large], 0):.1f} if rows were independent, "
            f"{by_chance(spreads, [rows for _, rows in large], alike):.1f} with the correlation of "
            f"{alike:.2f} within sources"
        )


def ways(spreads: Spreads) -> dict[str, Mask]:
    """Rows inside bands that know them, that lack a tenth of the rows, and that lack the source."""
    every, fold = np.ones(spreads.values.size, np.bool_), np.arange(spreads.values.size) % FOLDS
    constants = fitted(spreads.chain, spreads.groups)
    rest, other = np.zeros_like(every), np.zeros_like(every)
    for number in range(FOLDS):
        rest |= inside_of(spreads, constants, fold != number, fold == number)
    for at, source in enumerate(spreads.sources):
        found, kept = left_out(spreads, source)
        other |= inside_of(spreads, found, kept, spreads.source == at)
    given = inside_of(spreads, constants, every, every)
    return {"given": given, "rows left out": rest, "source left out": other}


def source_likeness(spreads: Spreads, inside: Mask) -> float:
    """Correlation within sources of whether rows lie inside (analysis of variance, one way)."""
    counts = np.bincount(spreads.source)
    means = np.bincount(spreads.source, inside) / counts
    within = ((inside - means[spreads.source]) ** 2).sum() / (inside.size - counts.size)
    between = (counts * (means - inside.mean()) ** 2).sum() / (counts.size - 1)
    size = (inside.size - (counts**2).sum() / inside.size) / (counts.size - 1)
    return max(0.0, float((between - within) / (between + (size - 1) * within)))


def by_chance(spreads: Spreads, large: list[Mask], alike: float) -> float:
    """Classes expected outside where each row lies inside with probability ``WITHIN``.

    Probabilities of sources differ by a beta distribution with the intraclass correlation *alike*.
    """
    random, expected = np.random.default_rng(0), 0.0
    for rows in large:
        counts = np.bincount(spreads.source[rows])
        counts = counts[counts > 0]
        parts = np.full((DRAWS, counts.size), WITHIN)
        if alike > 0:
            rest = 1 / alike - 1
            parts = random.beta(WITHIN * rest, (1 - WITHIN) * rest, parts.shape)
        share = random.binomial(counts, parts).sum(axis=1) / counts.sum()
        expected += float(np.mean((share < HOLDS[0]) | (share > HOLDS[1])))
    return expected


def classes(spreads: Spreads) -> Iterator[tuple[str, Mask]]:
    """Rows by source, by each level, and by all levels together."""
    names = ("source", *spreads.chain.levels, "class")
    for at, sort in enumerate(names):
        values = [
            " ".join((one.source, *one.levels, " ".join(one.levels))[at : at + 1])
            for one in spreads.groups
        ]
        for value in sorted(set(values)):
            yield f"{sort} {value}", np.array([one == value for one in values])[spreads.group]


if __name__ == "__main__":
    main()

"""Bands of predictions: write their tables, and see whether they hold.

    python benchmarks/bands.py write --llm LLM.csv --serving REQUESTS.csv
    python benchmarks/bands.py score [--fixed]
    python benchmarks/bands.py siblings
    python benchmarks/bands.py trust

``write`` predicts both tables (some minutes) and writes configs/validation: residuals by class,
and the constants fitted to them. ``score`` reads these residuals and leaves each source out in
turn: bands for its rows are made, constants included, from rows of other sources and other pairs
of accelerator and model. ``--fixed`` keeps the shipped constants, which is quicker and flatters.
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
from simcore.validation.bands.fit import fitted, left_out
from simcore.validation.bands.residuals import Chain, Group, grouped, read_groups, write_groups
from simcore.validation.bands.serving import served_group
from simcore.validation.bands.shipped import FOLDER, BandConstants, Likeness, read_constants
from simcore.validation.bands.siblings import left_out_coverage, write_errors
from simcore.validation.bands.spread import Constants, Mask, Spreads
from simcore.validation.bands.write import constants_of, training_groups, write_constants
from simcore.validation.calibrated.fit import fitted_likeness
from simcore.validation.calibrated.place import RunPlace
from simcore.validation.calibrated.site_runs import SourceRun, sites_of
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


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=("write", "score", "siblings", "trust"))
    parser.add_argument("--llm", type=Path)
    parser.add_argument("--serving", type=Path)
    parser.add_argument("--configs", type=Path, default=Path("configs"))
    parser.add_argument("--fixed", action="store_true")
    given = parser.parse_args()
    folder = given.configs / FOLDER
    if given.what == "score":
        for chain in (TRAINING, SERVING):
            score(chain, read_groups(folder / chain.file, chain), folder if given.fixed else None)
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
    """Predict both tables, and write residuals and constants."""
    trained = training_runs(llm)
    groups = training_groups(trained)
    tests = list(served_tests(serving))
    served = grouped(group for group, _ in tests)
    training = constants_of(TRAINING, groups)
    loaded = constants_of(SERVING, served)
    constants = BandConstants(
        training=training,
        serving=loaded,
        site=likeness_of(trained, training),
        served_site=served_likeness([run for _, run in tests], served, loaded),
    )
    write_groups(folder / TRAINING.file, TRAINING, groups)
    write_groups(folder / SERVING.file, SERVING, served)
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


def served_likeness(runs: list[SourceRun], groups: list[Group], constants: Constants) -> Likeness:
    """What load tests of one site share, from pairs of model and accelerator."""
    sites = sites_of(runs, Spreads(SERVING, groups), constants)
    told = f"fitted by simcore/validation/calibrated/fit.py to {len(runs)} load tests of "
    told += f"{len(sites)} pairs of model and accelerator"
    return fitted_likeness(sites).model_copy(update={"source": told})


def likeness_of(trained: list[tuple[Compared, Run]], constants: Constants) -> Likeness:
    """What runs of one site share, from the sources of *trained*."""
    spreads = Spreads(TRAINING, training_groups(trained))
    sites = sites_of(source_runs(trained), spreads, constants)
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


def score(chain: Chain, groups: tuple[Group, ...], fixed: Path | None) -> None:
    """Print the part of left-out rows inside their bands: by source, and by class."""
    spreads = Spreads(chain, groups)
    kept = read_constants(fixed).of(chain) if fixed else None
    inside = np.zeros(spreads.values.size, np.bool_)
    for source in range(len(spreads.sources)):
        own = spreads.source == source
        constants = kept or fitted(chain, groups, ~own)
        inside[own] = inside_of(spreads, constants, own)
    weights = 1 / np.bincount(spreads.source)[spreads.source]
    mean = float(np.average(inside, weights=weights))
    print(
        f"{chain.name}: {mean:.1%} inside (mean over {len(spreads.sources)} sources), "
        f"{inside.mean():.1%} of rows"
    )
    for names, values in classes(spreads):
        for value in sorted(set(values)):
            rows = np.array([one == value for one in values])[spreads.group]
            if rows.sum() >= LEAST:
                print(f"  {names} {' '.join(value)}: {inside[rows].mean():.1%} of {rows.sum()}")


def inside_of(spreads: Spreads, constants: Constants, own: Mask) -> Mask:
    """True for the *own* rows inside bands from all others."""
    return left_out(spreads, constants, of=own).inside(constants)


def classes(spreads: Spreads) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Ways to sort groups into classes: by source, by each level, and by all levels together."""
    yield "source", [(group.source,) for group in spreads.groups]
    for at, level in enumerate(spreads.chain.levels):
        yield level, [(group.levels[at],) for group in spreads.groups]
    yield "class", [group.levels for group in spreads.groups]


if __name__ == "__main__":
    main()

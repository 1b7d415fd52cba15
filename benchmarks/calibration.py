"""Worth of a site's own runs: the largest sources stand for sites that nobody has seen.

    python benchmarks/calibration.py --llm LLM.csv [--own 5] [--draws 20] [--sources 6] [--errors F]
    python benchmarks/calibration.py --serving REQUESTS.csv [--sources 20]

A source is left out of everything that is fitted: residuals by class, their constants, and what
runs of one site share. Some of its runs are then given as a site's own, and the error of the others
is told as simulated and moved, and how many of them lie in their bands before and after. The runs
are drawn at random, several times; and chosen one by one where they tell most of the others, as
`simcore calibrate` advises. ``--errors`` takes errors of predictions whose efficiencies were fitted
without the source too (``left_out.py --errors``). Of load tests, pairs of model and accelerator
stand for sites.
"""

import argparse
import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import log
from pathlib import Path

import numpy as np
from bands import served_tests, source_runs, training_runs

from simcore.validation.bands.classes import SERVING, TRAINING, Chain
from simcore.validation.bands.fit import fitted
from simcore.validation.bands.residuals import grouped
from simcore.validation.bands.shipped import Likeness
from simcore.validation.bands.spread import Constants, Floats, Ints, Mask, Spreads
from simcore.validation.bands.write import training_groups
from simcore.validation.calibrated.fit import SiteRuns, fitted_by_error, fitted_likeness
from simcore.validation.calibrated.posterior import Posterior
from simcore.validation.calibrated.site import MOST_SHIFT
from simcore.validation.calibrated.site_runs import SourceRun, left_out_widths, sites_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """Runs of one kind with their sources.

    Attributes:
        chain: Classes of their residuals.
        runs: One per row.
        spreads: Of the residuals of all of them.
        fit: What finds the likeness of runs of one site.
        errors: By position in *runs*, errors of predictions that knew nothing of the source.
    """

    chain: Chain
    runs: list[SourceRun]
    spreads: Spreads
    fit: Callable[[Mapping[str, SiteRuns]], Likeness]
    errors: dict[int, float] = field(default_factory=dict)


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    tables = parser.add_mutually_exclusive_group(required=True)
    tables.add_argument("--llm", type=Path)
    tables.add_argument("--serving", type=Path)
    parser.add_argument("--own", type=int, default=5)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--sources", type=int, default=6)
    parser.add_argument("--errors", type=Path, help="of predictions that knew nothing of a source")
    given = parser.parse_args()
    published = trained(given.llm, given.errors) if given.llm else served(given.serving)
    print_worth(published, given.own, given.draws, given.sources)


def trained(llm: Path, errors: Path | None) -> Published:
    """Runs of training."""
    found = training_runs(llm)
    known = [] if errors is None else list(csv.DictReader(errors.open()))
    error_of = {cells["id"]: float(cells["error"]) for cells in known}
    names = [one.row.id for one, _ in found]
    return Published(
        chain=TRAINING,
        runs=source_runs(found),
        spreads=Spreads(TRAINING, training_groups(found)),
        fit=fitted_likeness,
        errors={at: error_of[name] for at, name in enumerate(names) if name in error_of},
    )


def served(serving: Path) -> Published:
    """Load tests."""
    found = list(served_tests(serving))
    return Published(
        chain=SERVING,
        runs=[run for _, run in found],
        spreads=Spreads(SERVING, grouped(group for group, _ in found)),
        fit=fitted_by_error,
    )


def print_worth(published: Published, own: int, draws: int, most: int) -> None:
    """Print the errors of each of the largest sources, and the mean of how much they fall."""
    runs, spreads = published.runs, published.spreads
    falls = []
    for at in np.argsort(-np.bincount(spreads.source), kind="stable")[:most]:
        source = spreads.sources[int(at)]
        likeness, widths, constants = left_out(source, published)
        site = [
            replace(run, residual=-log(1 + published.errors[number]))
            if number in published.errors
            else run
            for number, run in enumerate(runs)
            if run.source == source
        ]
        raw, drawn, chosen = worth(site, widths, likeness, own, draws)
        falls.append((1 - drawn / raw, 1 - chosen / raw))
        before, after = coverage(site, widths, likeness, constants, random_picks(site, own, draws))
        print(
            f"{source} ({len(site)} runs): {raw:.1%} as simulated, {drawn:.1%} with {own} drawn "
            f"({falls[-1][0]:+.0%} less), {chosen:.1%} with {own} chosen ({falls[-1][1]:+.0%} less)"
            f"; {before:.0%} in bands, {after:.0%} with {own} drawn"
        )
    print("mean: error falls by {:.0%} (drawn), {:.0%} (chosen)".format(*np.mean(falls, axis=0)))


def left_out(source: str, published: Published) -> tuple[Likeness, Floats, Constants]:
    """What runs of one site share, spreads of those of a source, and bands, from all others."""
    runs, spreads = published.runs, published.spreads
    others = spreads.source != spreads.sources.index(source)
    constants = fitted(published.chain, spreads.groups, others)
    sites = sites_of([run for run in runs if run.source != source], spreads, constants)
    site = [run for run in runs if run.source == source]
    widths = left_out_widths(source, site, spreads, constants)
    return published.fit(sites), widths, constants


def random_picks(site: list[SourceRun], own: int, draws: int) -> list[Ints]:
    """Numbers of a site's own runs, drawn several times; the same every time."""
    random = np.random.default_rng(0)
    return [random.permutation(len(site))[:own] for _ in range(draws)]


def worth(
    site: list[SourceRun], widths: Floats, likeness: Likeness, own: int, draws: int
) -> tuple[float, float, float]:
    """Mean sizes of errors: as simulated, moved by drawn runs, and by chosen ones.

    As simulated and drawn: means over the same draws.
    """
    picks = random_picks(site, own, draws)
    drawn = np.mean([rest_error(site, widths, likeness, pick) for pick in picks], axis=0)
    picked = rest_error(site, widths, likeness, chosen(site, widths, likeness, own))
    return float(drawn[0]), float(drawn[1]), float(drawn[0] * picked[1] / picked[0])


def chosen(site: list[SourceRun], widths: Floats, likeness: Likeness, own: int) -> list[int]:
    """Runs one by one, each the one that tells most of the others."""
    places, found = [run.place for run in site], list[int]()
    while len(found) < own:
        gains = Posterior([places[at] for at in found], [0.0] * len(found), likeness).gains(
            places, widths
        )
        gains[found] = -1
        found.append(int(np.argmax(gains)))
    return found


def rest_error(
    site: list[SourceRun], widths: Floats, likeness: Likeness, own: "np.ndarray | list[int]"
) -> tuple[float, float]:
    """Mean sizes of the errors of all runs but a site's *own*: as simulated, and moved."""
    places = [run.place for run in site]
    residuals = np.array([run.residual for run in site])
    scaled = [residuals[at] / widths[at] for at in own]
    means, _ = Posterior([places[at] for at in own], scaled, likeness).at(places)
    shifts = np.clip(widths * means, -MOST_SHIFT, MOST_SHIFT)
    rest = np.setdiff1d(np.arange(len(site)), own)
    before, after = np.exp(-residuals) - 1, np.exp(shifts - residuals) - 1
    return float(np.abs(before[rest]).mean()), float(np.abs(after[rest]).mean())


def coverage(
    site: list[SourceRun],
    widths: Floats,
    likeness: Likeness,
    constants: Constants,
    picks: list[Ints],
) -> tuple[float, float]:
    """Parts of the runs not given that lie in their bands: as simulated, and moved."""
    places, found = [run.place for run in site], []
    residuals = np.array([run.residual for run in site])
    for own in picks:
        scaled = [residuals[at] / widths[at] for at in own]
        means, left = Posterior([places[at] for at in own], scaled, likeness).at(places)
        rest = np.setdiff1d(np.arange(len(site)), own)
        shifts = np.clip(widths * means, -MOST_SHIFT, MOST_SHIFT)
        moved = inside(residuals - shifts, widths * np.sqrt(left), constants)
        found.append((inside(residuals, widths, constants)[rest].mean(), moved[rest].mean()))
    before, after = np.mean(found, axis=0)
    return float(before), float(after)


def inside(residuals: Floats, widths: Floats, constants: Constants) -> Mask:
    """True where a residual lies in the band of its width."""
    above_low = residuals >= -constants.low * widths
    return np.asarray(above_low & (residuals <= constants.high * widths), np.bool_)


if __name__ == "__main__":
    main()

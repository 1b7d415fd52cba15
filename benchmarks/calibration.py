"""Worth of a site's own runs: the largest sources stand for sites that nobody has seen.

    python benchmarks/calibration.py --llm LLM.csv [--own 5] [--draws 20] [--sources 6] [--errors F]
    python benchmarks/calibration.py --serving REQUESTS.csv [--sources 20] [--best]

A source is left out of everything that is fitted: residuals by class, their constants, and what
runs of one site share. Some of its runs are then given as a site's own, and the error of the others
is told as simulated and moved, and how many of them lie in their bands before and after. The runs
are drawn at random, several times; and chosen one by one where they tell most of the others, as
`simcore calibrate` advises, among all runs and, several times, among a half of them drawn at
random: one choice alone is a matter of luck.

``--errors`` takes errors of predictions whose efficiencies were fitted without the source too
(``left_out.py --errors``). ``--best`` fits what runs of a site share to the source itself, which no
site can know: more is not to be had from this model. Of load tests, pairs of model and accelerator
stand for sites.
"""

import argparse
import csv
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import log
from pathlib import Path

import numpy as np
from bands import served_tests, source_runs, training_runs, widths_without_each

from simcore.validation.bands.classes import SERVING, TRAINING
from simcore.validation.bands.residuals import Chain, grouped
from simcore.validation.bands.shipped import Likeness
from simcore.validation.bands.spread import Floats, Ints, Spreads
from simcore.validation.bands.width import Widths
from simcore.validation.bands.write import training_groups
from simcore.validation.calibrated.fit import SiteRuns, falls_of, fitted_likeness
from simcore.validation.calibrated.posterior import Posterior
from simcore.validation.calibrated.site import MOST_SHIFT
from simcore.validation.calibrated.site_runs import (
    SourceRun,
    sites_of,
    widths_at,
)

HOW = ("drawn", "chosen", "chosen of half the runs")
"""Ways to find the runs that are given."""


@dataclass(frozen=True, kw_only=True)
class Published:
    """Runs of one kind with their sources.

    Attributes:
        chain: Classes of their residuals.
        runs: One per row.
        spreads: Of the residuals of all of them.
        errors: By position in *runs*, errors of predictions that knew nothing of the source.
    """

    chain: Chain
    runs: list[SourceRun]
    spreads: Spreads
    errors: dict[int, float] = field(default_factory=dict)

    @cached_property
    def widths(self) -> dict[str, Widths]:
        """Of bands from what is known without each source."""
        return widths_without_each(self.spreads)

    @cached_property
    def sites(self) -> dict[str, SiteRuns]:
        """All sources as sites."""
        return sites_of(self.runs, self.widths)

    @cached_property
    def falls(self) -> dict[str, Floats]:
        """How far a few runs of each large site lower the errors of its others."""
        return {name: falls_of(site) for name, site in self.sites.items() if len(site[1]) >= 10}

    def site(self, source: str) -> list[SourceRun]:
        """Runs of a source, as predicted by what knew nothing of it, where that is told."""
        return [
            replace(run, residual=-log(1 + self.errors[number])) if number in self.errors else run
            for number, run in enumerate(self.runs)
            if run.source == source
        ]


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
    parser.add_argument("--best", action="store_true", help="fit to the source that is judged")
    given = parser.parse_args()
    published = trained(given.llm, given.errors) if given.llm else served(given.serving)
    print_worth(published, given.own, given.draws, given.sources, given.best)


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
        errors={at: error_of[name] for at, name in enumerate(names) if name in error_of},
    )


def served(serving: Path) -> Published:
    """Load tests."""
    found = list(served_tests(serving))
    return Published(
        chain=SERVING,
        runs=[run for _, run in found],
        spreads=Spreads(SERVING, grouped(group for group, _ in found)),
    )


def print_worth(published: Published, own: int, draws: int, most: int, best: bool) -> None:
    """Print the errors of each of the largest sources, and the mean of how much they fall."""
    falls = []
    for at in np.argsort(-np.bincount(published.spreads.source), kind="stable")[:most]:
        source = published.spreads.sources[int(at)]
        site = published.site(source)
        likeness, widths = left_out(source, published)
        if best:
            scaled = [run.residual / width for run, width in zip(site, widths, strict=True)]
            likeness = fitted_likeness({source: ([run.place for run in site], scaled)}, own)
        raw, *moved = worth(site, widths, likeness, own, draws)
        falls.append([1 - error / raw for error in moved])
        before, after = coverage(site, widths, likeness, random_picks(site, own, draws))
        told = ", ".join(
            f"{error:.1%} {how} ({fall:+.0%} less)"
            for error, how, fall in zip(moved, HOW, falls[-1], strict=True)
        )
        print(
            f"{source} ({len(site)} runs): {raw:.1%} as simulated; with {own} {told}; "
            f"{before:.0%} in bands, {after:.0%} with {own} drawn"
        )
    means = zip(np.mean(falls, axis=0), HOW, strict=True)
    print("mean: error falls by " + ", ".join(f"{fall:.1%} ({how})" for fall, how in means))


def left_out(source: str, published: Published) -> tuple[Likeness, Floats]:
    """What runs of one site share, and how far bands reach for a source's, from all others."""
    others = {name: site for name, site in published.sites.items() if name != source}
    widths = widths_at(published.site(source), published.widths[source])
    return fitted_likeness(others, falls=published.falls), widths


def random_picks(site: list[SourceRun], own: int, draws: int) -> list[Ints]:
    """Numbers of a site's own runs, drawn several times; the same every time."""
    random = np.random.default_rng(0)
    return [random.permutation(len(site))[:own] for _ in range(draws)]


def worth(
    site: list[SourceRun], widths: Floats, likeness: Likeness, own: int, draws: int
) -> tuple[float, float, float, float]:
    """Mean sizes of errors: as simulated, and moved by runs found in each of the ways of ``HOW``.

    Those of chosen runs are told as parts of the error as simulated of drawn ones.
    """
    random, everything = np.random.default_rng(1), np.arange(len(site))
    halves = [random.permutation(len(site))[: max(own, len(site) // 2)] for _ in range(draws)]
    ways = (
        random_picks(site, own, draws),
        [chosen(site, widths, likeness, own, everything)],
        [chosen(site, widths, likeness, own, half) for half in halves],
    )
    found = [
        np.mean([rest_error(site, widths, likeness, pick) for pick in picks], axis=0)
        for picks in ways
    ]
    raw = float(found[0][0])
    drawn, picked, of_half = (raw * float(after / before) for before, after in found)
    return raw, drawn, picked, of_half


def chosen(
    site: list[SourceRun], widths: Floats, likeness: Likeness, own: int, among: Ints
) -> Ints:
    """Runs one by one, each the one that tells most of the others among which it is."""
    places, spread, found = [site[at].place for at in among], widths[among], list[int]()
    while len(found) < own:
        gains = Posterior([places[at] for at in found], [0.0] * len(found), likeness).gains(
            places, spread
        )
        gains[found] = -1
        found.append(int(np.argmax(gains)))
    return among[found]


def rest_error(
    site: list[SourceRun], widths: Floats, likeness: Likeness, own: Ints
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
        moved = np.abs(residuals - shifts) <= widths * np.sqrt(left)
        found.append(((np.abs(residuals) <= widths)[rest].mean(), moved[rest].mean()))
    before, after = np.mean(found, axis=0)
    return float(before), float(after)


if __name__ == "__main__":
    main()

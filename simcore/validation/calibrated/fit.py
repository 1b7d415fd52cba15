"""Fits how much runs of one site share, to the sources of measured runs.

Each source stands for a site. The values are those under which the scaled residuals of all sources
are the likeliest, sources weighing alike (empirical Bayes), found one value after the other on a
grid. A source of many runs is thinned out evenly.

Source: B. Efron, C. Morris, "Stein's Estimation Rule and its Competitors: an Empirical Bayes
Approach", J. Am. Statist. Assoc. 68, 1973.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from simcore.validation.bands.shipped import Likeness
from simcore.validation.calibrated.place import RunPlace
from simcore.validation.calibrated.posterior import MOST, Posterior, log_likelihood

MOST_RUNS = 100
"""Runs of one source that are looked at."""
_SWEEPS = 3
_PARTS = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6)
_REACHES = (0.5, 1.0, 2.0, 4.0, 8.0)
_OWN = 0.05
"""Least part of the variance that runs have for themselves: repeated runs differ."""
_GRID = {
    **dict.fromkeys(("site", "kind", "model", "layout"), _PARTS),
    **dict.fromkeys(("model_reach", "layout_reach"), _REACHES),
}

SiteRuns = tuple[Sequence[RunPlace], Sequence[float]]
"""Places and scaled residuals of the runs of one source."""


def fitted_likeness(sites: Mapping[str, SiteRuns]) -> Likeness:
    """The likeliest values for these sites."""
    thinned = [_thinned(*site) for _, site in sorted(sites.items())]
    variance = float(np.mean([np.mean(np.clip(z, -MOST, MOST) ** 2) for _, z in thinned]))
    start = {"site": 0.1, "kind": 0.1, "model": 0.1, "layout": 0.2}
    best = Likeness(variance=round(variance, 3), model_reach=2.0, layout_reach=2.0, **start)
    most = _score(thinned, best)
    for _ in range(_SWEEPS):
        before = most
        for name, values in _GRID.items():
            for value in values:
                tried = best.model_copy(update={name: value})
                if tried.site + tried.kind + tried.model + tried.layout > 1 - _OWN:
                    continue
                score = _score(thinned, tried)
                if score > most + 1e-9:
                    best, most = tried, score
        if most == before:
            break
    return best


def fitted_by_error(sites: Mapping[str, SiteRuns], own: int = 5, draws: int = 8) -> Likeness:
    """The values with which *own* runs of a site lower the errors of its others most.

    For sites whose residuals are far from normal, as those of load tests that differ in what no
    column tells: there the likeliest values trust few runs too much, and errors rise. Only what
    fades with the doublings between layouts is shared. Judged is the mean over the sites of how
    much the mean size of the scaled residuals falls.
    """
    fixed = {"site": 0.0, "kind": 0.0, "model": 0.0, "model_reach": 2.0}
    large = {name: site for name, site in sorted(sites.items()) if len(site[1]) >= 2 * own}
    scaled = [np.clip(np.array(z, np.float64), -MOST, MOST) for _, z in large.values()]
    variance = round(float(np.mean([np.mean(z**2) for z in scaled])), 3)
    tried = [
        Likeness(variance=variance, layout=part, layout_reach=reach, **fixed)
        for part in (*_PARTS, 0.7, 0.8, 0.9)
        for reach in _REACHES
    ]
    falls = [
        float(np.mean([_fall(*site, one, own, draws) for site in large.values()])) for one in tried
    ]
    return tried[int(np.argmax(falls))]


def _fall(
    places: Sequence[RunPlace], scaled: Sequence[float], likeness: Likeness, own: int, draws: int
) -> float:
    """Part by which *own* runs, drawn several times, lower the mean size of the others."""
    random, z = np.random.default_rng(0), np.clip(np.array(scaled, np.float64), -MOST, MOST)
    before, after = [], []
    for _ in range(draws):
        order = random.permutation(len(places))
        given, rest = order[:own], order[own:]
        known = Posterior([places[at] for at in given], z[given].tolist(), likeness)
        means, _ = known.at([places[at] for at in rest])
        before.append(np.abs(z[rest]).mean())
        after.append(np.abs(z[rest] - means).mean())
    return float(1 - np.mean(after) / np.mean(before))


def _thinned(
    places: Sequence[RunPlace], scaled: Sequence[float]
) -> tuple[list[RunPlace], np.ndarray]:
    step = -(-len(places) // MOST_RUNS)
    return list(places[::step]), np.array(scaled[::step], np.float64)


def _score(sites: Sequence[tuple[list[RunPlace], np.ndarray]], likeness: Likeness) -> float:
    return sum(log_likelihood(places, scaled, likeness) for places, scaled in sites)

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
from simcore.validation.calibrated.posterior import MOST, log_likelihood

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


def _thinned(
    places: Sequence[RunPlace], scaled: Sequence[float]
) -> tuple[list[RunPlace], np.ndarray]:
    step = -(-len(places) // MOST_RUNS)
    return list(places[::step]), np.array(scaled[::step], np.float64)


def _score(sites: Sequence[tuple[list[RunPlace], np.ndarray]], likeness: Likeness) -> float:
    return sum(log_likelihood(places, scaled, likeness) for places, scaled in sites)

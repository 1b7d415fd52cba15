"""Fits how much runs of one site tell of each other, to the sources of measured runs.

Each source stands for a site. Residuals of sites are far from normal: runs differ in what no column
tells, and the likeliest values trust a few runs too little where they agree and too much where they
do not. So the values are those with which a few runs of a site lower the errors of its others most,
judged by the mean size of the scaled residuals; and of the fall of variance that normal residuals
would promise, a band believes the part that was seen.

Source: fit to what is predicted rather than to the likelihood: C. Rasmussen, C. Williams, "Gaussian
Processes for Machine Learning", 2006, section 5.4.2.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from simcore.validation.bands.shipped import Likeness
from simcore.validation.bands.spread import Floats
from simcore.validation.calibrated.place import RunPlace
from simcore.validation.calibrated.posterior import MOST, Posterior

SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
REACHES = (0.5, 1.0, 2.0, 4.0, 8.0)
MODEL_REACH = 2.0
"""Doublings between models and machine sizes; too few sources have several models to fit it."""

SiteRuns = tuple[Sequence[RunPlace], Sequence[float]]
"""Places and scaled residuals of the runs of one source."""


def fitted_likeness(sites: Mapping[str, SiteRuns], own: int = 5, draws: int = 24) -> Likeness:
    """The values with which *own* runs of a site lower the errors of its others most.

    Sites weigh alike; those with less than twice *own* runs judge nothing. Fewer *draws* than some
    twenty leave it to luck which of two reaches is the better one.
    """
    large = [
        (places, np.clip(np.array(scaled, np.float64), -MOST, MOST))
        for _, (places, scaled) in sorted(sites.items())
        if len(scaled) >= 2 * own
    ]
    variance = round(float(np.mean([np.mean(z**2) for _, z in large])), 3)
    fixed = {"variance": variance, "model_reach": MODEL_REACH}
    tried = [
        Likeness(shared=share, layout_reach=reach, **fixed) for share in SHARES for reach in REACHES
    ]
    falls = [np.mean([_fall(*site, one, own, draws) for site in large]) for one in tried]
    best = tried[int(np.argmax(falls))]
    seen = float(np.mean([_seen(*site, best, own, draws) for site in large]))
    return best.model_copy(update={"believed": round(min(max(seen, 0.0), 1.0), 2)})


def _fall(
    places: Sequence[RunPlace], scaled: Floats, likeness: Likeness, own: int, draws: int
) -> float:
    """Part by which *own* runs, drawn several times, lower the mean size of the others."""
    found = list(_judged(places, scaled, likeness, own, draws))
    before = np.mean([np.abs(z).mean() for z, _, _ in found])
    return float(1 - np.mean([np.abs(z - means).mean() for z, means, _ in found]) / before)


def _seen(
    places: Sequence[RunPlace], scaled: Floats, likeness: Likeness, own: int, draws: int
) -> float:
    """Part of the fall of variance that *own* runs promise by which the others' squares fall."""
    found = list(_judged(places, scaled, likeness, own, draws))
    fell = np.mean([(z**2 - (z - means) ** 2).mean() for z, means, _ in found])
    promised = np.mean([likeness.variance * (1 - left).mean() for _, _, left in found])
    return float(fell / promised)


def _judged(
    places: Sequence[RunPlace], scaled: Floats, likeness: Likeness, own: int, draws: int
) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Per draw, the residuals of the runs not given, their means, and the variance left."""
    random = np.random.default_rng(0)
    for _ in range(draws):
        order = random.permutation(len(places))
        given, rest = order[:own], order[own:]
        known = Posterior([places[at] for at in given], scaled[given].tolist(), likeness)
        means, left = known.at([places[at] for at in rest])
        yield scaled[rest], means, left

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

SHARES = (0.3, 0.5, 0.7, 0.9)
REACHES = (0.5, 0.7, 1.0, 1.4, 2.0, 3.0)
TRIED = tuple(
    Likeness(variance=1.0, shared=share, reach=reach) for share in SHARES for reach in REACHES
)

SiteRuns = tuple[Sequence[RunPlace], Sequence[float]]
"""Places and scaled residuals of the runs of one source."""


def fitted_likeness(
    sites: Mapping[str, SiteRuns],
    own: int = 5,
    draws: int = 24,
    falls: Mapping[str, Floats] | None = None,
) -> Likeness:
    """The values with which *own* runs of a site lower the errors of its others most.

    Sites weigh alike; those with less than twice *own* runs judge nothing. Fewer *draws* than some
    twenty leave it to luck which of two reaches is the better one. *falls*, of each site, are those
    of ``falls_of`` where they are known.
    """
    large = {name: site for name, site in sorted(sites.items()) if len(site[1]) >= 2 * own}
    known = falls or {name: falls_of(site, own, draws) for name, site in large.items()}
    best = TRIED[int(np.argmax(np.mean([known[name] for name in large], axis=0)))]
    variance = float(np.mean([np.mean(_clipped(site) ** 2) for site in large.values()]))
    best = best.model_copy(update={"variance": round(variance, 3)})
    seen = [_seen(site[0], _clipped(site), best, own, draws) for site in large.values()]
    return best.model_copy(update={"believed": round(min(max(float(np.mean(seen)), 0.0), 1.0), 2)})


def falls_of(site: SiteRuns, own: int = 5, draws: int = 24) -> Floats:
    """(T,): for each of ``TRIED``, by which part *own* runs lower the errors of the others."""
    found = [_fall(site[0], _clipped(site), one, own, draws) for one in TRIED]
    return np.array(found, np.float64)


def _clipped(site: SiteRuns) -> Floats:
    return np.clip(np.array(site[1], np.float64), -MOST, MOST)


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

"""Designs that may be better than they were judged, because members of collectives were held."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dse.config import Study
from dse.gap.designs import check_bounded
from dse.gap.least import LeastMetrics
from dse.samplers.design import GenomeSpace
from dse.space import Design
from dse.trials import Trial
from simcore import ConfigError, InfeasibleError

Floats = NDArray[np.float64]

_KEPT = 16
"""Tables of bounds that are kept: a study has one per number of network dimensions."""


def unbeaten(study: Study, rows: Sequence[Trial], front: Floats) -> tuple[Trial, ...]:
    """Those of *rows* in which members were held, and that may yet belong to the front.

    How much time they lose by it is not known, but no iteration is shorter than its bound: a design
    that the front beats even at its bound is beaten. Studies without bounds have no such proof.

    Args:
        study: Gives the objectives.
        rows: Feasible ones, of one level.
        front: (F, M) objectives of the front of that level, all to be minimised.
    """
    held = [row for row in rows if _is_held(row)]
    try:
        check_bounded(study)
    except ConfigError:
        return tuple(held)
    return tuple(row for row in held if not _is_beaten(study, row.design, front))


def _is_held(row: Trial) -> bool:
    metrics = row.evaluation.metrics
    return any(value > 0 for name, value in metrics.items() if name.split("@")[0] == "held_s")


def _is_beaten(study: Study, design: Design, front: Floats) -> bool:
    """Whether some design of the front is as good as the bounds of *design* in all objectives."""
    space = _genomes(study)
    genome = space.genome(design)
    if genome is None:  # a design by hand, which the space does not hold
        return False
    known, row = _least(study, genome.dimensions), np.array([space.rows(genome)], np.int32)
    for closer in (False, True):  # the bound of a plan alone takes a tenth of the time
        metrics = known.metrics(row, closer=closer)
        if metrics is None or isinstance(metrics, InfeasibleError):
            return False
        values = list(study.goals.values(metrics).values())
        if (front <= np.array(values) * study.goals.signs).all(axis=1).any():
            return True
    return False


@lru_cache(maxsize=_KEPT)
def _genomes(study: Study) -> GenomeSpace:
    return GenomeSpace(study.space)


@lru_cache(maxsize=_KEPT)
def _least(study: Study, dimensions: int) -> LeastMetrics:
    return LeastMetrics(study, dimensions)

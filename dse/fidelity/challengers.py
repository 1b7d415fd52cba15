"""Designs that may be better than they were judged, because members of collectives were held."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dse.proof.designs import check_bounded
from dse.proof.least import least_metrics
from dse.samplers.design import Genome, GenomeSpace
from dse.space import Design
from dse.study.compile import Study
from dse.study.trials import Trial
from simcore import ConfigError, InfeasibleError

Floats = NDArray[np.float64]

_KEPT = 16
"""Studies whose genomes are kept."""

_KEPT_BOUNDS = 1 << 14
"""Designs whose bounds are kept."""


def unbeaten(study: Study, rows: Sequence[Trial], front: Floats) -> tuple[Trial, ...]:
    """Rows in which members were held, and that may yet belong to the front.

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
    genome = _genomes(study).genome(design)
    if genome is None:  # a design by hand, which the space does not hold
        return False
    for closer in (False, True):  # the bound of a plan alone takes a tenth of the time
        values = _bounds(study, genome, closer)
        if values is None:
            return False
        if (front <= np.array(values)).all(axis=1).any():
            return True
    return False


@lru_cache(maxsize=_KEPT_BOUNDS)
def _bounds(study: Study, genome: Genome, closer: bool) -> tuple[float, ...] | None:
    """The least objectives of a design, all to be minimised; None where they are not known.

    They are asked again when the levels are compared.
    """
    row = np.array([_genomes(study).rows(genome)], np.int32)
    metrics = least_metrics(study, genome.dimensions).metrics(row, closer=closer)
    if metrics is None or isinstance(metrics, InfeasibleError):
        return None
    values = np.array(list(study.goals.values(metrics).values())) * study.goals.signs
    return tuple(values.tolist())


@lru_cache(maxsize=_KEPT)
def _genomes(study: Study) -> GenomeSpace:
    return GenomeSpace(study.space)

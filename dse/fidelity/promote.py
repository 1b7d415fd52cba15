"""Choice of the designs that are judged again at the next level."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.proof.least import least_objectives
from dse.rank.pareto import fronts, no_worse
from dse.study.compile import Study
from dse.study.trials import Trial

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """The designs of one level that are judged again at the next one.

    Attributes:
        best: The front, and the best designs after it.
        challengers: Others whose times are too long by an unknown part, and that are not proven to
            be beaten by the front (``dse.fidelity.promote``).
        controls: Drawn evenly from all others, to see whether these are as bad as they look.
    """

    best: tuple[Trial, ...]
    challengers: tuple[Trial, ...]
    controls: tuple[Trial, ...]

    @property
    def rows(self) -> list[Trial]:
        """All, in the order of their numbers."""
        return sorted((*self.best, *self.challengers, *self.controls), key=lambda row: row.number)


def promotion(study: Study, rows: Sequence[Trial]) -> Promotion:
    """The front of *rows*, the best others up to ``search.promote`` designs, and some others.

    The best are those of the lowest non-dominated rank (the front of what is left when the fronts
    before are taken away), and of one rank those that were proposed first. All challengers are
    promoted beside them. The ``search.controls`` are taken at equal distances in the order of
    proposing.

    Args:
        study: Gives the objectives, and how many.
        rows: All of one level; what is promoted is a function of them, whoever evaluated them.
    """
    search = study.file.search
    feasible = [row for row in rows if row.is_feasible and row.repeats is None]
    points = minimised(study, feasible)
    rank = fronts(points, len(points))
    wanted = max(search.promote, int((rank == 0).sum()))
    best = tuple(feasible[at] for at in np.argsort(rank, kind="stable")[:wanted].tolist())
    chosen = {row.number for row in best}
    others = [row for row in feasible if row.number not in chosen]
    challengers = unbeaten(study, others, points[rank == 0])
    chosen = {row.number for row in challengers}
    others = [row for row in others if row.number not in chosen]
    count = min(search.controls, len(others))
    controls = tuple(others[(2 * i + 1) * len(others) // (2 * count)] for i in range(count))
    return Promotion(best=best, challengers=challengers, controls=controls)


def minimised(study: Study, rows: Sequence[Trial]) -> Floats:
    """(rows, objectives), all to be minimised."""
    names = list(study.goals.objectives)
    values = [[row.evaluation.objectives[name] for name in names] for row in rows]
    signed: Floats = np.array(values, np.float64).reshape(-1, len(names)) * study.goals.signs
    return signed


def unbeaten(study: Study, rows: Sequence[Trial], front: Floats) -> tuple[Trial, ...]:
    """Rows in which members were held, and that may yet belong to the front.

    How much time they lose by it is not known, but no iteration is shorter than its bound: a design
    that the front beats even at its bound is beaten. Studies without bounds have no such proof.

    Args:
        study: Gives the objectives.
        rows: Feasible ones, of one level.
        front: (F, M) objectives of the front of that level, all to be minimised.
    """
    left = [row for row in rows if _is_held(row)]
    for closer in (False, True):  # the bound of a plan alone takes a tenth of the time
        least = least_objectives(study, [row.design for row in left], closer=closer)
        if least is not None:
            are_beaten = np.any(no_worse(front[:, None], least), axis=0)
            left = [left[at] for at in np.flatnonzero(~are_beaten).tolist()]
    return tuple(left)


def _is_held(row: Trial) -> bool:
    metrics = row.evaluation.metrics
    return any(value > 0 for name, value in metrics.items() if name.split("@")[0] == "held_s")

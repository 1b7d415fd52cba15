"""Choice of the designs that are judged again at the next level."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.fidelity.challengers import unbeaten
from dse.rank import non_dominated
from dse.study.compile import Study
from dse.study.trials import Trial

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """The designs of one level that are judged again at the next one.

    Attributes:
        best: The front, and the best designs after it.
        challengers: Others whose times are too long by an unknown part, and that are not proven to
            be beaten by the front (``dse.fidelity.challengers``).
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
    best = _best(study, feasible)
    chosen = {row.number for row in best}
    others = [row for row in feasible if row.number not in chosen]
    points = _points(study, feasible)
    challengers = unbeaten(study, others, points[non_dominated(points)])
    chosen = {row.number for row in challengers}
    others = [row for row in others if row.number not in chosen]
    count = min(search.controls, len(others))
    controls = tuple(others[(2 * i + 1) * len(others) // (2 * count)] for i in range(count))
    return Promotion(best=best, challengers=challengers, controls=controls)


def _points(study: Study, rows: Sequence[Trial]) -> Floats:
    """(rows, objectives), all to be minimised."""
    names = list(study.goals.objectives)
    values = [[row.evaluation.objectives[name] for name in names] for row in rows]
    signed: Floats = np.array(values, np.float64).reshape(-1, len(names)) * study.goals.signs
    return signed


def _best(study: Study, feasible: Sequence[Trial]) -> tuple[Trial, ...]:
    points = _points(study, feasible)
    chosen: list[Trial] = []
    left = np.arange(len(feasible))
    while left.size and (not chosen or len(chosen) < study.file.search.promote):
        is_best = non_dominated(points[left])
        best = left[is_best].tolist()
        room = study.file.search.promote - len(chosen) if chosen else len(best)
        chosen += [feasible[place] for place in best[:room]]
        left = left[~is_best]
    return tuple(chosen)

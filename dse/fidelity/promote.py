"""Which designs are judged again at the next level."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dse.config import Study
from dse.rank import non_dominated
from dse.trials import Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """The designs of one level that are judged again at the next one.

    Attributes:
        best: The front, and the best designs after it.
        controls: Drawn evenly from all others, to see whether these are as bad as they look.
    """

    best: tuple[Trial, ...]
    controls: tuple[Trial, ...]

    @property
    def rows(self) -> list[Trial]:
        """All, in the order of their numbers."""
        return sorted((*self.best, *self.controls), key=lambda row: row.number)


def promotion(study: Study, rows: Sequence[Trial]) -> Promotion:
    """The front of *rows*, the best others up to ``search.promote`` designs, and the controls.

    The best are those of the lowest non-dominated rank (the front of what is left when the fronts
    before are taken away), and of one rank those that were proposed first. The ``search.controls``
    are taken at equal distances in the order of proposing.

    Args:
        study: Gives the objectives, and how many.
        rows: All of one level; what is promoted is a function of them, whoever evaluated them.
    """
    search = study.file.search
    feasible = [row for row in rows if row.is_feasible and row.repeats is None]
    best = _best(study, feasible)
    chosen = {row.number for row in best}
    others = [row for row in feasible if row.number not in chosen]
    count = min(search.controls, len(others))
    controls = tuple(others[(2 * i + 1) * len(others) // (2 * count)] for i in range(count))
    return Promotion(best=best, controls=controls)


def _best(study: Study, feasible: Sequence[Trial]) -> tuple[Trial, ...]:
    names, signs = list(study.goals.objectives), study.goals.signs
    values = [[row.evaluation.objectives[name] for name in names] for row in feasible]
    points = np.array(values, np.float64).reshape(-1, len(names)) * signs
    chosen: list[Trial] = []
    left = np.arange(len(feasible))
    while left.size and (not chosen or len(chosen) < study.file.search.promote):
        is_best = non_dominated(points[left])
        best = left[is_best].tolist()
        room = study.file.search.promote - len(chosen) if chosen else len(best)
        chosen += [feasible[place] for place in best[:room]]
        left = left[~is_best]
    return tuple(chosen)

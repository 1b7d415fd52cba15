"""Which designs are judged again at the next level."""

from collections.abc import Sequence

import numpy as np

from dse.config import Study
from dse.rank import non_dominated
from dse.trials import Trial


def promoted(study: Study, rows: Sequence[Trial]) -> list[Trial]:
    """The front of *rows*, and then the best others up to ``search.promote`` designs.

    The best are those of the lowest non-dominated rank (the front of what is left when the fronts
    before are taken away), and of one rank those that were proposed first.

    Args:
        study: Gives the objectives, and how many.
        rows: All of one level.

    Returns:
        Rows in the order of their numbers; a function of *rows* alone, whoever evaluated them.
    """
    feasible = [row for row in rows if row.is_feasible and row.repeats is None]
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
    return sorted(chosen, key=lambda row: row.number)

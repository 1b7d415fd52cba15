"""The gap of a finished study: how much better designs could be that nobody found."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dse.fidelity.compare import searched_rows
from dse.proof.prove import Prover
from dse.proof.told import no_gap, open_gap, proven_gap
from dse.results.summary import study_front, tally_of
from dse.study.compile import Study
from dse.study.trials import Trial

_COVERED = 0.25
"""Share of the gap of the hypervolume that designs set aside in one objective may make up: a front
has room between its points, which takes the rest."""

_EVERY = 64
"""Looks at a proof between two that work out its hypervolume, which takes as long as a proposal."""


def told_gap(study: Study) -> float | None:
    """Share of each objective within which a proof leaves designs out; None: no proof is asked."""
    search = study.file.search
    if search.gap is None and search.hypervolume_gap is not None:
        return _COVERED * search.hypervolume_gap
    return search.gap


@dataclass(slots=True, eq=False)
class FrontGoal:
    """Looks whether as much of the hypervolume is found as a study asks for.

    Attributes:
        study: With its goals.
        prover: What has been proven.
        rows: Gives the trials so far.
    """

    study: Study
    prover: Prover
    rows: Callable[[], Sequence[Trial]]
    _looks: int = 0
    _is_reached: bool = False

    def is_reached(self) -> bool:
        """True once the share that may be missing is small enough."""
        search = self.study.file.search
        if search.gap is not None or search.hypervolume_gap is None or self._is_reached:
            return self._is_reached
        self._looks += 1
        rows = self.rows()
        if self._looks % _EVERY == 0 and rows:
            quality = study_front(self.study, rows)
            found = proven_gap(self.prover.proof(), quality)
            self._is_reached = is_front_proven(self.study, found)
        return self._is_reached


def is_front_proven(study: Study, found: dict[str, Any]) -> bool:
    """True if the gap of the hypervolume in *found* is as small as *study* asks for."""
    asked, gap = study.file.search.hypervolume_gap, found["optimality_gap"]["hypervolume"]
    return asked is None or (gap is not None and gap <= asked)


def gap_summary(
    study: Study, rows: Sequence[Trial], prover: Prover | None, *, is_whole: bool
) -> dict[str, Any]:
    """Entries of ``summary.json`` about the gap; none where the study asks for none.

    Args:
        study: With its goals and levels.
        rows: All of its trials; the gap is one of the first level.
        prover: What has been proven; None: nothing.
        is_whole: Every design of the space has been evaluated.
    """
    searched = searched_rows(study, rows)
    tally, found = tally_of(study, searched), dict[str, Any]()
    if is_whole and not tally.failed:
        found = no_gap(tally.best)
    elif prover is not None:
        found = proven_gap(prover.proof(), study_front(study, searched))
        if study.file.search.gap is None:
            found["gap_closed"] = is_front_proven(study, found)
        else:
            found["gap_closed"] &= is_front_proven(study, found)
    elif told_gap(study) is not None:
        found = open_gap(study.goals.objectives)
    if found and len(study.levels) > 1:
        found["gap_fidelity"] = study.levels[0]
    return found

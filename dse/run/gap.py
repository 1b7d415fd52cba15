"""The gap of a finished study: how much better designs could be that nobody found."""

from collections.abc import Sequence
from typing import Any

from dse.fidelity.compare import searched_rows
from dse.proof.prove import Prover
from dse.proof.told import no_gap, open_gap, proven_gap
from dse.results.summary import study_front, tally_of
from dse.study.compile import Study
from dse.study.trials import Trial


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
    elif study.file.search.gap is not None:
        found = open_gap(study.goals.objectives)
    if found and len(study.levels) > 1:
        found["gap_fidelity"] = study.levels[0]
    return found

"""Sentences on what the recommended designs of a study wait for."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from dse.evaluate import Evaluator
from dse.objectives import Goals
from dse.reasons.sentence import sentence
from dse.study.trials import Trial
from simcore import InfeasibleError

REASONS = "reasons"
"""Entry of ``summary.json``: sentences by the number of a trial."""


def reasons_summary(goals: Goals, evaluator: Evaluator, rows: Iterable[Trial]) -> dict[str, Any]:
    """Entry ``reasons`` of ``summary.json``; nothing where none is known.

    Args:
        goals: Of the study.
        evaluator: Of the level that *rows* were judged at.
        rows: Designs of the front.
    """
    found = {}
    for row in rows:
        with suppress(InfeasibleError):  # of a row that says so itself
            if told := sentence(goals, evaluator.attributions(row.design), ()):
                found[str(row.number)] = told
    return {REASONS: found} if found else {}


def reason_lines(summary: Mapping[str, Any]) -> list[str]:
    """The sentences, each with its design, and where there is more to know."""
    found = summary.get(REASONS)
    if not isinstance(found, dict):
        return []
    lines = [f"trial {number} is {told}" for number, told in found.items()]
    return [*lines, "what would change that, part by part: dse explain DIR TRIAL"]

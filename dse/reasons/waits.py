"""Sentences on what the recommended designs of a study wait for."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from dse.evaluate import Evaluator
from dse.objectives import Goals
from dse.reasons.sentence import sentence
from dse.study.trials import Trial
from simcore import Attribution, InfeasibleError, plain_sum

REASONS = "reasons"
"""Entry of ``summary.json``: sentences by the number of a trial."""

PARTS = "time_parts"
"""Entry of ``summary.json``: seconds by reason, by the number of a trial."""

MOST_PARTS = 12
"""Reasons of one design that are kept."""


def reasons_summary(goals: Goals, evaluator: Evaluator, rows: Iterable[Trial]) -> dict[str, Any]:
    """Entries ``reasons`` and ``time_parts`` of ``summary.json``; nothing where none is known.

    Args:
        goals: Of the study.
        evaluator: Of the level that *rows* were judged at.
        rows: Designs of the front.
    """
    found, parts = {}, {}
    for row in rows:
        with suppress(InfeasibleError):  # of a row that says so itself
            times = evaluator.attributions(row.design)
            if told := sentence(goals, times, ()):
                found[str(row.number)], parts[str(row.number)] = told, _parts(times[0])
    return {REASONS: found, PARTS: parts} if found else {}


def _parts(found: Attribution) -> dict[str, Any]:
    """Seconds by reason, the largest first; from ``MOST_PARTS`` on in one."""
    parts = [(str(reason), time_ns * 1e-9) for reason, time_ns in found.parts_ns.items()]
    shown, rest = parts[:MOST_PARTS], parts[MOST_PARTS:]
    if rest:
        shown.append((f"{len(rest)} smaller ones", plain_sum(time_s for _, time_s in rest)))
    return {"of": found.what, "way": found.way, "parts_s": [list(part) for part in shown]}


def reason_lines(summary: Mapping[str, Any]) -> list[str]:
    """The sentences, each with its design, and where there is more to know."""
    found = summary.get(REASONS)
    if not isinstance(found, dict):
        return []
    lines = [f"trial {number} is {told}" for number, told in found.items()]
    return [*lines, "what would change that, part by part: dse explain DIR TRIAL"]

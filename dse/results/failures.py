"""Failures in a study at any fidelity, by reason."""

from collections.abc import Iterable, Mapping
from textwrap import shorten
from typing import Any

from dse.study.counts import failure_kind
from dse.study.trials import Trial

_LISTED, _CHARACTERS = 5, 240
"""Trials that a line names, and the most that it tells of their reason."""


def failure_summary(rows: Iterable[Trial]) -> list[dict[str, Any]]:
    """Entry ``failures`` of ``summary.json``: reasons that differ in numbers alone are one.

    Args:
        rows: Of all fidelities.

    Returns:
        Per fidelity and kind of reason: its first reason in words, and the numbers of the trials.
    """
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in rows:
        outcome = row.evaluation
        if row.state == "failed" and row.repeats is None:
            told = {"fidelity": outcome.fidelity, "reason": outcome.reason, "trials": []}
            kind = found.setdefault((outcome.fidelity, *failure_kind(outcome)), told)
            kind["trials"].append(row.number)
    return list(found.values())


def failure_lines(summary: Mapping[str, Any]) -> list[str]:
    """One line per fidelity and reason; none where nothing failed."""
    return [_line(one) for one in summary.get("failures", ())]


def _line(one: Mapping[str, Any]) -> str:
    numbers = one["trials"]
    word = "trial" if len(numbers) == 1 else "trials"
    listed = ", ".join(map(str, numbers[:_LISTED]))
    if len(numbers) > _LISTED:
        listed += f" and {len(numbers) - _LISTED} more"
    at = f" at {one['fidelity']}" if one["fidelity"] else ""
    reason = shorten(one["reason"], _CHARACTERS, placeholder=" ...") or "no reason was given"
    return f"failed{at}: {word} {listed}: {reason}"

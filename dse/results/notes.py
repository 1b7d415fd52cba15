"""Notes of the evaluator about the designs of a front, each kind once."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from dse.study.trials import Trial

_NUMBER = re.compile(r"\d[\d.e+-]*")


def notes_summary(front: Sequence[Trial]) -> dict[str, Any]:
    """Entry ``notes`` of ``summary.json``: per kind its first note, and its trials.

    Notes that differ in numbers alone are of one kind. Nothing where nothing is noted.
    """
    kinds: dict[str, dict[str, Any]] = {}
    for row in sorted(front, key=lambda row: row.number):
        for note in row.evaluation.notes:
            kind = kinds.setdefault(_NUMBER.sub("#", note), {"note": note, "trials": []})
            if row.number not in kind["trials"]:
                kind["trials"].append(row.number)
    if not kinds:
        return {}
    return {"notes": sorted(kinds.values(), key=lambda kind: -len(kind["trials"]))}


def note_lines(summary: Mapping[str, Any]) -> list[str]:
    """One line per kind of note, the commonest first."""
    designs = summary.get("front_size")
    return [
        f"note on {len(kind['trials'])} of {designs} designs (here trial {kind['trials'][0]}): "
        f"{kind['note']}"
        for kind in summary.get("notes", ())
    ]

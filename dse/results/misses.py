"""Reasons why no design of a study is feasible: what rules them out, and which came nearest."""

from collections import Counter
from collections.abc import Sequence

from dse.study.trials import Trial

MAX_REASONS = 4
"""Rules that are told, the most frequent first."""


def nearest_misses(rows: Sequence[Trial]) -> list[str]:
    """Lines on the rules that infeasible trials break, and on the trial that is nearest to each.

    A trial is the nearest to a rule if it exceeds that rule least, among those that break fewest.
    """
    broken = [(row, _violated(row)) for row in rows]
    broken = [(row, names) for row, names in broken if names]
    counts = Counter(name for _, names in broken for name in names)
    lines = []
    for name, count in counts.most_common(MAX_REASONS):
        at_it = [(row, names) for row, names in broken if name in names]
        row, names = min(
            at_it, key=lambda one: (len(one[1]), one[0].evaluation.constraints[name], one[0].number)
        )
        alone = "" if len(names) == 1 else f", which breaks {len(names) - 1} more"
        why = row.evaluation.reason.rstrip(".")
        lines.append(f"{name} rules out {count} of {len(rows)}; nearest: trial {row.number}{alone}")
        lines[-1] += f" ({why})" if why else ""
    return lines


def _violated(row: Trial) -> list[str]:
    """Names of the constraints that a trial breaks."""
    return [name for name, excess in row.evaluation.constraints.items() if excess > 0]

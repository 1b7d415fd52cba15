"""Explanation of a design: one sentence, its time by what it went to, and what would change it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dse.evaluate import build_evaluator
from dse.evaluate.base import Evaluation, evaluate
from dse.objectives import Goals
from dse.reasons.sentence import sentence
from dse.reasons.what_if import WhatIf, what_ifs
from dse.space import Design
from dse.study.compile import Study
from simcore import Attribution, InfeasibleError


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Reasons for the values of a design.

    Attributes:
        sentence: The gist; empty where nothing is known of it.
        evaluation: Its values, worked out again.
        attributions: Its times by what they went to, the most telling first.
        what_ifs: The design with one thing changed, one after another.
        measured_against: How far its time can be trusted.
    """

    sentence: str
    evaluation: Evaluation
    attributions: Sequence[Attribution]
    what_ifs: Sequence[WhatIf]
    measured_against: str


def explain_design(study: Study, design: Design) -> Explanation:
    """Evaluate *design* again, follow its time, and change one thing after another.

    Args:
        study: Of the level at which it is explained.
        design: A design of its space.
    """
    evaluator = build_evaluator(study.evaluator_input)
    found = evaluate(evaluator, study.goals, design)
    attributions: Sequence[Attribution] = ()
    tried: tuple[WhatIf, ...] = ()
    if found.objectives:
        try:
            attributions = evaluator.attributions(design)
        except InfeasibleError:  # it has been told already
            attributions = ()
        tried = what_ifs(study, evaluator, design, found)
    return Explanation(
        sentence=sentence(study.goals, attributions, tried),
        evaluation=found,
        attributions=attributions,
        what_ifs=tried,
        measured_against=evaluator.measured_against(design) if found.objectives else "",
    )


def explanation_data(goals: Goals, found: Explanation) -> dict[str, Any]:
    """*found* as plain data, for JSON."""
    evaluation = found.evaluation
    return {
        "sentence": found.sentence,
        "state": evaluation.state,
        "reason": evaluation.reason,
        "fidelity": evaluation.fidelity,
        "objectives": dict(evaluation.objectives),
        "metrics": dict(evaluation.metrics),
        "notes": list(evaluation.notes),
        "attributions": [_attribution_data(one) for one in found.attributions],
        "what_ifs": [_what_if_data(goals, one) for one in found.what_ifs],
        "measured_against": found.measured_against,
    }


def _attribution_data(found: Attribution) -> dict[str, Any]:
    parts = [
        {
            "reason": str(reason),
            "cause": str(reason.cause),
            "name": reason.name,
            "axis": reason.axis,
            "phase": reason.phase,
            "dimensions": list(reason.dimensions),
            "time_ns": time_ns,
        }
        for reason, time_ns in found.parts_ns.items()
    ]
    return {"what": found.what, "way": found.way, "time_ns": found.time_ns, "parts": parts}


def _what_if_data(goals: Goals, one: WhatIf) -> dict[str, Any]:
    lever: Mapping[str, Any] = {}
    if one.lever is not None:
        lever = {"lever": str(one.lever), "factor": one.factor}
    return {
        **lever,
        "knobs": {name: list(pair) for name, pair in one.knobs.items()},
        "state": one.state,
        "reason": one.reason,
        "changes": dict(one.changes),
        "is_bargain": one.is_bargain(goals),
        "usd_per_percent": one.usd_per_percent,
        "reorders": one.reorders,
        "assumed": one.assumed,
    }

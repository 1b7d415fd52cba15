"""Changes of one thing at a time: a design, simulated again with each."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from dse.evaluate import Evaluator
from dse.evaluate.base import Evaluation, evaluate
from dse.evaluate.levers import Lever
from dse.objectives import COST_METRICS, OBJECTIVES, SIMULATED, Goals
from dse.rank.bargain import GAIN, LOSS
from dse.reasons.steps import one_step
from dse.space import Design, Value
from dse.study.compile import Study
from simcore import SimcoreError

TELLING = 0.00005
"""Change below which a number is not worth its digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """A design with one thing changed.

    Attributes:
        knobs: Knobs that change, each with its value before and after; None: it has no meaning.
        lever: Part of the machine that is moved in place of knobs.
        factor: What the part is multiplied by.
        state: As of an evaluation; a design that breaks a rule of the space is ``infeasible``.
        reason: Why there are no changes, or not of all objectives.
        changes: Part by which each objective changes; those that are not known there are left out.
        usd_per_percent: Cost of 1 % less time, USD; None unless it buys time for money.
        assumed: What the costs stand on, where nobody sells the part that is moved.
        reorders: True if a better part makes the first simulated objective worse, or a worse part
            makes it better: what waits for a link or an NPU is then taken in another order.
    """

    knobs: Mapping[str, tuple[Value | None, Value | None]]
    lever: Lever | None = None
    factor: float = 1.0
    state: str = "complete"
    reason: str = ""
    changes: Mapping[str, float]
    usd_per_percent: float | None = None
    assumed: str = ""
    reorders: bool = False

    def is_bargain(self, goals: Goals) -> bool:
        """True if it betters an objective by ``GAIN`` and none gets worse by ``LOSS``, at no lever.

        A search tries such steps of its front, so that few are left; what is left is an offer.
        """
        if self.lever is not None or self.state != "complete" or not self.changes:
            return False
        worse = [goals.signs_by_name[name] * part for name, part in self.changes.items()]
        return min(worse) <= -GAIN and max(worse) < LOSS

    def taken(self, design: Design) -> Design:
        """*design* with the step that this is."""
        changed = {**design, **{name: after for name, (_, after) in self.knobs.items()}}
        return {name: value for name, value in changed.items() if value is not None}


def what_ifs(
    study: Study, evaluator: Evaluator, design: Design, found: Evaluation
) -> tuple[WhatIf, ...]:
    """Each part of the machine a tenth better and worse, then each knob of *design* one step.

    Args:
        study: With the space and the goals.
        evaluator: Of the level at which *design* was judged.
        design: A design of the space.
        found: Its evaluation there.
    """
    before = found.objectives
    if not before:
        return ()
    moved = tuple(_moved(study.goals, evaluator, design, before))
    return moved + tuple(_stepped(study, evaluator, design, before))


def _moved(
    goals: Goals, evaluator: Evaluator, design: Design, before: Mapping[str, float]
) -> Iterator[WhatIf]:
    for one in evaluator.moved(design):
        after = dict[str, float]()
        for name, sense in goals.objectives.items():
            try:
                after |= replace(goals, objectives={name: sense}).values(one.metrics)
            except SimcoreError:  # a cost of what nobody sells
                continue
        changes = _changes(before, after)
        yield WhatIf(
            knobs={},
            lever=one.lever,
            factor=one.factor,
            reason=one.unpriced if len(changes) < len(before) else "",
            changes=changes,
            usd_per_percent=_usd_per_percent(goals, before, changes),
            assumed=one.assumed if any(_is_cost(name) for name in changes) else "",
            reorders=_reorders(goals, one.lever.betters(one.factor), changes),
        )


def _stepped(
    study: Study, evaluator: Evaluator, design: Design, before: Mapping[str, float]
) -> Iterator[WhatIf]:
    blocked = dict[str, bool]()
    for name, other in one_step(study.space, design):
        if other is None:
            blocked.setdefault(name, True)
            continue
        blocked[name] = False
        found = evaluate(evaluator, study.goals, other)
        changes = _changes(before, found.objectives)
        yield WhatIf(
            knobs=_differing(design, other, name),
            state=found.state,
            reason=found.reason,
            changes=changes,
            usd_per_percent=_usd_per_percent(study.goals, before, changes),
        )
    for name, is_blocked in blocked.items():
        if is_blocked:
            value = design.get(name)
            yield WhatIf(
                knobs={name: (value, value)},
                state="infeasible",
                reason="no step of this knob alone keeps the rules of the space",
                changes={},
            )


def _reorders(goals: Goals, is_better: bool, changes: Mapping[str, float]) -> bool:
    """True if the first simulated objective moves against a part that is better, or worse."""
    timed, _ = time_and_cost(goals)
    if timed not in changes:
        return False
    gain = -changes[timed] * goals.signs_by_name[timed]
    return gain < -TELLING if is_better else gain > TELLING


def _differing(
    design: Design, other: Design, first: str
) -> dict[str, tuple[Value | None, Value | None]]:
    """Knobs that differ, *first* before all."""
    names = dict.fromkeys((first, *design, *other))
    pairs = {name: (design.get(name), other.get(name)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _changes(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    return {
        name: after[name] / value - 1 for name, value in before.items() if value and name in after
    }


def time_and_cost(goals: Goals) -> tuple[str, str]:
    """The first simulated objective and the first cost in USD; empty where there is none."""
    timed = (name for name in goals.objectives if SIMULATED & set(OBJECTIVES[name].metrics))
    paid = (name for name in goals.objectives if OBJECTIVES[name].unit == "USD")
    return next(timed, ""), next((name for name in paid if _is_cost(name)), "")


def _is_cost(objective: str) -> bool:
    return not COST_METRICS.isdisjoint(OBJECTIVES[objective].metrics)


def _usd_per_percent(
    goals: Goals, before: Mapping[str, float], changes: Mapping[str, float]
) -> float | None:
    """USD for each percent by which the first simulated objective gets better."""
    timed, paid = time_and_cost(goals)
    if timed not in changes or paid not in changes:
        return None
    better = -changes[timed] * goals.signs_by_name[timed]
    dearer_usd = changes[paid] * before[paid]
    if better <= 0 or dearer_usd <= 0:
        return None
    return dearer_usd / (100 * better)

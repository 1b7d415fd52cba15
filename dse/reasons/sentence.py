"""The one sentence that says what a design waits for."""

from collections.abc import Iterator, Sequence

from dse.evaluate.levers import STEP, Lever
from dse.objectives import Goals
from dse.reasons.what_if import WhatIf, time_and_cost
from simcore import Attribution, Cause, Reason, format_quantity

LEAST = 0.0005
"""Gain below which a lever buys nothing that is worth words."""


def sentence(goals: Goals, found: Sequence[Attribution], tried: Sequence[WhatIf]) -> str:
    """Largest part of the first of *found*, and what a tenth more of each lever buys."""
    if not found:
        return ""
    gains = dict(_gains(goals, tried))
    first, *rest = _largest(found[0])
    told = [f"bound by {_told(first, found[0], gains)}"]
    communication = [one for one in rest if one[0].dimensions]
    if communication and not first[0].dimensions:
        told.append(f"next is {_told(communication[0], found[0], gains)}")
    if first[0].dimensions and (rates := _of_compute(gains)):
        told.append(rates)
    return "; ".join(told)


def _largest(found: Attribution) -> list[tuple[Reason, int]]:
    """Reasons, all compute as one, the largest first."""
    compute = sum(time for reason, time in found.parts_ns.items() if reason.cause is Cause.COMPUTE)
    rest = [item for item in found.parts_ns.items() if item[0].cause is not Cause.COMPUTE]
    parts = [(Reason(Cause.COMPUTE), compute), *rest] if compute else rest
    return sorted(parts, key=lambda part: -part[1])


def _told(part: tuple[Reason, int], whole: Attribution, gains: dict[Lever, float]) -> str:
    reason, time_ns = part
    amounts = [format_quantity(time * 1e-9, "s") for time in (time_ns, whole.time_ns)]
    words = f"{reason}, {amounts[0]} of the {amounts[1]} of {whole.what}"
    if reason.cause is Cause.COMPUTE:
        bought = _of_compute(gains)
    elif reason.cause is Cause.SERVICE:
        bought = _bought(gains)
    else:
        own = {lever: gain for lever, gain in gains.items() if lever.dimension in reason.dimensions}
        bought = _bought(own)
    return f"{words} ({bought})" if bought else words


def _of_compute(gains: dict[Lever, float]) -> str:
    return _bought({lever: gain for lever, gain in gains.items() if lever.dimension < 0})


def _bought(gains: dict[Lever, float]) -> str:
    worth = sorted((item for item in gains.items() if item[1] >= LEAST), key=lambda item: -item[1])
    told = []
    for lever, gain in worth[:2]:
        way = f"-{STEP:.0%}" if lever.kind == "latency" else f"+{STEP:.0%}"
        told.append(f"{way} {lever} buys {gain:.1%}")
    return ", ".join(told)


def _gains(goals: Goals, tried: Sequence[WhatIf]) -> Iterator[tuple[Lever, float]]:
    """Part by which the first simulated objective gets better, by lever that was made better."""
    name, _ = time_and_cost(goals)
    for one in tried:
        if one.lever is None or name not in one.changes:
            continue
        if (one.factor < 1) == (one.lever.kind == "latency"):
            yield one.lever, -one.changes[name] * goals.signs_by_name[name]

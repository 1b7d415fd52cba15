"""Reasons of a design as texts: its time by what it went to, and what would change it."""

from collections.abc import Iterator, Mapping, Sequence

from dse.objectives import OBJECTIVES
from dse.reasons import TELLING, WhatIf
from dse.report.amounts import plain, short_names, show_value
from dse.report.sections import ReportSection
from dse.space import Design, design_key
from dse.study.compile import Study
from simcore import Attribution, format_quantity, plain_sum

FEW = 12
"""Reasons that are listed; the others are one line."""

NOT_TRIED = "not tried: more trials, or a study that starts with it (search.start)"

_REORDERS = "against the part: what waits is taken in another order"


def time_sections(found: Sequence[Attribution]) -> Iterator[ReportSection]:
    """One section per time: each reason with its share, in sum the whole."""
    for one in found:
        parts = [(str(reason), time_ns) for reason, time_ns in one.parts_ns.items()]
        shown, rest = parts[:FEW], parts[FEW:]
        if rest:
            shown.append((f"{len(rest)} smaller ones", plain_sum(time_ns for _, time_ns in rest)))
        lines = [(*_time(name, time_ns), _share(time_ns, one.time_ns)) for name, time_ns in shown]
        lines.append((*_time("in all", one.time_ns), "every nanosecond counted once"))
        title = f"where the time of {one.what} goes, {one.way}"
        yield ReportSection(title=title, lines=tuple(lines))


def _time(name: str, time_ns: int) -> tuple[str, str]:
    return name, format_quantity(time_ns * 1e-9, "s")


def _share(time_ns: int, whole_ns: int) -> str:
    return f"{time_ns / whole_ns:.1%}" if whole_ns else ""


def what_if_sections(study: Study, tried: Sequence[WhatIf]) -> Iterator[ReportSection]:
    """Parts of the machine, then knobs; of these the most useful step first."""
    moved = [one for one in tried if one.lever is not None]
    yield ReportSection(
        title="what if a part of the machine were a tenth better, or worse",
        lines=tuple((_moved(one), *_effect(one)) for one in moved),
    )
    name, sign = next(iter(study.goals.signs_by_name.items()))
    stepped = [one for one in tried if one.lever is None]
    stepped.sort(key=lambda one: sign * one.changes.get(name, 1e9 * sign))
    short = short_names(list(study.space.parameters))
    yield ReportSection(
        title="what if one knob were a step away",
        lines=tuple((_stepped(study, short, one), *_effect(one)) for one in stepped),
    )


def offer_section(
    study: Study, design: Design, tried: Sequence[WhatIf], known: Mapping[str, int]
) -> ReportSection:
    """Steps from *design* that are better at no loss, each with the trial that has it.

    Args:
        study: What was asked.
        design: Where the steps begin.
        tried: What was changed.
        known: Numbers of trials by the keys of their designs.
    """
    short = short_names(list(study.space.parameters))
    lines = []
    for one in (one for one in tried if one.is_bargain(study.goals)):
        number = known.get(design_key(one.taken(design)))
        at = NOT_TRIED if number is None else f"trial {number}"
        lines.append((_stepped(study, short, one), _effect(one)[0], at))
    return ReportSection(title="better at no loss, one step away", lines=tuple(lines))


def _moved(one: WhatIf) -> str:
    return f"{one.lever} {one.factor - 1:+.0%}"


def _stepped(study: Study, short: dict[str, str], one: WhatIf) -> str:
    told = []
    for name, (before, after) in one.knobs.items():
        knob = study.space.parameters[name]
        texts = [show_value(knob, value) for value in (before, after)]
        told.append(f"{short[name]} {texts[0]}" + (f" -> {texts[1]}" if before != after else ""))
    return ", ".join(told)


def _effect(one: WhatIf) -> tuple[str, str]:
    """Changes of the objectives, and what 1 % of time costs; or why there are none."""
    if not one.changes:
        return one.state, one.reason
    told = ", ".join(
        f"{OBJECTIVES[name].label} {'unchanged' if abs(part) < TELLING else f'{part:+.2%}'}"
        for name, part in one.changes.items()
    )
    if one.state != "complete":
        return told, f"{one.state}: {one.reason}" if one.reason else plain(one.state)
    if one.reason:
        unpriced = f"no price: {one.reason}"
        return told, f"{_REORDERS}; {unpriced}" if one.reorders else unpriced
    price = one.usd_per_percent
    per_percent = "" if price is None else f"{format_quantity(price, 'USD')} per 1% of time"
    against = _REORDERS if one.reorders else ""
    return told, ", ".join(filter(None, (against, per_percent, one.assumed)))

"""Sections of the page that are words and tables, by the name of their place."""

from collections.abc import Callable, Mapping

from dse.fidelity.told import fidelity_lines
from dse.objectives import OBJECTIVES
from dse.proof.told import gap_lines
from dse.provenance import changed_since, provenance_lines
from dse.reasons.waits import PARTS
from dse.report.amounts import NO_MEANING, show_amount, show_objective
from dse.report.baseline import baseline_lines
from dse.report.choice import choice_lines, short_list
from dse.report.front_table import FrontTable, front_table
from dse.report.measured import front_accelerators, front_bands
from dse.report.page.html_text import listed, pairs, table, told
from dse.report.page.origin import origin_html
from dse.report.page.scenario_tables import scenario_tables
from dse.report.prices import price_sensitivity
from dse.report.prices import told as told_price
from dse.results.failures import failure_lines
from dse.results.misses import nearest_misses
from dse.results.notes import note_lines
from dse.results.regret import regret_lines
from dse.results.result import StudyResult
from simcore import format_quantity, plain_sum

_COUNTED = ("proposals", "evaluated", "infeasible", "pruned", "failed", "duplicates", "front_size")


def text_sections(result: StudyResult) -> Mapping[str, str]:
    """HTML of each section, by the name of its place; empty where it has nothing to say."""
    makers: dict[str, Callable[[StudyResult], str]] = {
        "answer": _answer,
        "recommended": _recommended,
        "front-rows": _front,
        "measured": _measured,
        "bound": _bound,
        "scenarios": _scenarios,
        "infeasible": _infeasible,
        "prices": _prices,
        "counts": _counts,
        "origin": origin_html,
    }
    return {name: make(result) for name, make in makers.items()}


def _answer(result: StudyResult) -> str:
    """The answer to the question, in a sentence or two."""
    if not result.front:
        return told("No feasible design was found.", "answer")
    rows = {result.rows[at].number: result.rows[at] for at in result.front}
    chosen = rows[result.recommended[0].trial] if result.recommended else next(iter(rows.values()))
    values = ", ".join(
        f"{OBJECTIVES[name].label} {show_objective(name, value)}"
        for name, value in chosen.evaluation.objectives.items()
    )
    count = len(rows)
    others = (
        f"; it is one of {count} designs that no other beats in everything" if count > 1 else ""
    )
    reasons = "; ".join(result.recommended[0].reasons) if result.recommended else ""
    why = f" ({reasons})" if reasons else ""
    lines = [told(f"Trial {chosen.number}: {values}{others}{why}.", "answer")]
    return "".join(
        [*lines, *(told(f"{line[0].upper()}{line[1:]}.") for line in baseline_lines(result))]
    )


def _recommended(result: StudyResult) -> str:
    if not result.front:
        return ""
    return table(short_list(result)) + listed(choice_lines(result))


def _front(result: StudyResult) -> str:
    return table(front_table(result), "front-table") if result.front else ""


def _measured(result: StudyResult) -> str:
    """Bands of the front from measured runs."""
    if not result.front:
        return ""
    bands = [f"Measured against: {band}." for band in front_bands(result)]
    return listed([*bands, *(f"Accelerator {one}." for one in front_accelerators(result))])


def _bound(result: StudyResult) -> str:
    """Times of the recommended designs by what they went to; those followed alike side by side."""
    found = result.summary.get(PARTS)
    if not isinstance(found, dict) or not found:
        return ""
    alike: dict[str, dict[str, Mapping[str, float]]] = {}
    for number, one in found.items():
        head = f"{one['of']}, {one['way']}"
        alike.setdefault(head, {})[f"trial {number}"] = dict(one["parts_s"])
    return "".join(_times(head, each) for head, each in alike.items())


def _times(head: str, each: Mapping[str, Mapping[str, float]]) -> str:
    """Table of the times of designs, a row for each part."""
    whole = [plain_sum(parts.values()) for parts in each.values()]
    rows = [
        (name, *(_part(parts.get(name), s) for parts, s in zip(each.values(), whole, strict=True)))
        for name in dict.fromkeys(name for parts in each.values() for name in parts)
    ]
    rows.append(("in all", *(format_quantity(time_s, "s") for time_s in whole)))
    return table(FrontTable(columns=(head, *each), rows=tuple(rows), numbers=0, common=()))


def _part(time_s: float | None, whole_s: float) -> str:
    if time_s is None:
        return NO_MEANING
    return f"{format_quantity(time_s, 's')} ({time_s / whole_s:.1%})"


def _scenarios(result: StudyResult) -> str:
    parts = [f"<h3>{label}</h3>{table(found)}" for label, found in scenario_tables(result)]
    return "".join([*parts, listed(regret_lines(result.summary))])


def _infeasible(result: StudyResult) -> str:
    """Rules that rule designs out, each with its nearest miss, and failures."""
    return listed([*nearest_misses(result.rows), *failure_lines(result.summary)])


def _prices(result: StudyResult) -> str:
    """Prices that decide who wins; nothing where the study has no costs."""
    parts = []
    for entry in price_sensitivity(result):
        first, *moves = told_price(entry)
        parts += [told(first), listed(moves)]
        parts.append(told(f"It depends on {', '.join(entry.lines)}.", "quiet"))
    return "".join(parts)


def _counts(result: StudyResult) -> str:
    summary = result.summary
    rows = [(name.replace("_", " "), str(summary.get(name, "-"))) for name in _COUNTED]
    if summary.get("hypervolume") is not None:
        rows.append(
            ("hypervolume", f"{summary['hypervolume']:.6g} ({summary['hypervolume_axes']} axes)")
        )
        units = summary.get("units", {})
        corner = ", ".join(
            f"{name} {show_amount(value, units.get(name, ''))}"
            for name, value in summary["reference_point"].items()
        )
        rows.append(("reference point", f"{corner}; {summary['reference_point_rule']}"))
    named = {
        "mixed": provenance_lines(summary),
        "changed": changed_since(result.provenances[-1:]),
        "fidelity": fidelity_lines(summary),
        "proven": gap_lines(summary),
        "note": note_lines(summary),
    }
    rows += [(name, line) for name, lines in named.items() for line in lines]
    rows.append(("evaluator", str(summary.get("evaluator", result.study.file.evaluator))))
    if summary.get("wall_s"):
        rate = summary.get("evaluations_per_s") or 0.0
        rows.append(("time", f"{summary['wall_s']:.1f} s, {rate:.1f} evaluations per second"))
    return pairs(rows)

"""Sentences and figures about the gap of a study."""

from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from math import ceil, inf, isfinite
from typing import Any

import numpy as np

from dse.objectives import OBJECTIVES, Sense
from dse.proof.prove import Proof
from dse.rank.quality import Quality, study_quality


def proven_gap(proof: Proof, quality: Quality) -> dict[str, Any]:
    """``lower_bounds``, ``optimality_gap`` and ``gap_closed`` of a summary.

    The gap of the hypervolume is the share that could at most be added to that of the designs
    found, if all points existed that nothing rules out.

    Args:
        proof: All feasible designs of the study are known to it.
        quality: Of the study.
    """
    names = proof.objectives
    if proof.is_closed and not len(proof.values):
        return no_gap({})
    gaps: dict[str, float | None] = {n: float(g) for n, g in zip(names, proof.gaps, strict=True)}
    gaps["hypervolume"] = _hypervolume_gap(proof, quality)
    return {
        "lower_bounds": known_bounds(proof),
        "optimality_gap": gaps,
        "gap_closed": proof.is_closed,
    }


def known_bounds(proof: Proof) -> dict[str, float | None]:
    """Bounds of *proof* by objective; None: nothing is proven of one that is maximised."""
    each = zip(proof.objectives, proof.signs, proof.lower_bounds, strict=True)
    return {name: None if sign * bound == -inf else bound for name, sign, bound in each}


def no_gap(best: Mapping[str, float]) -> dict[str, Any]:
    """``proven_gap`` of a study that knows the outcome of all designs that may be feasible.

    Args:
        best: Value of each objective; empty if no design is feasible.
    """
    return {
        "lower_bounds": dict(best),
        "optimality_gap": dict.fromkeys((*best, "hypervolume"), 0.0),
        "gap_closed": True,
    }


def open_gap(objectives: Iterable[str]) -> dict[str, Any]:
    """``proven_gap`` of a study that asks for a gap and has proven nothing."""
    return {
        "lower_bounds": {},
        "optimality_gap": dict.fromkeys((*objectives, "hypervolume")),
        "gap_closed": False,
    }


def gap_lines(summary: Mapping[str, Any]) -> list[str]:
    """Lines of a summary about the gap; nothing where nobody asked."""
    gaps, bounds = summary.get("optimality_gap"), summary.get("lower_bounds", {})
    if not gaps:
        return []
    level = summary.get("gap_fidelity")
    searched = summary.get("searched_gap")
    lines = [f"proven at {level}" + (":" if searched else " alone:")] if level else []
    if summary["gap_closed"] and not bounds:
        return [*lines, "no design of the space is feasible"]
    for name, bound in bounds.items():
        sense = summary.get("senses", {}).get(name, OBJECTIVES[name].sense)
        told = bound_told(name, bound, sense)
        lines.append(f"{OBJECTIVES[name].label}: {told}, a gap of {percent_above(gaps[name])}")
    volume = gaps.get("hypervolume")
    if volume is None:
        lines.append("hypervolume: no gap is proven")
    else:
        lines.append(f"hypervolume: at most {percent_above(volume)} of what could exist is missing")
    if not summary["gap_closed"]:
        why = summary.get("gap_stays_wide") or _judged_most(summary)
        lines.append("the gap that was asked for is not proven" + (f": {why}" if why else ""))
    return lines + ([] if searched is None else [_searched_line(searched)])


def _judged_most(summary: Mapping[str, Any]) -> str:
    """Reason why a proof at the finest level asked for no more; empty: it might have."""
    judged = summary.get("gap_judged", 0)
    if not judged or judged < summary["fidelity"]["most_settled"]:
        return ""
    return f"it asked for {judged:,} designs there, as search.settle allows; raise it for more"


def _searched_line(searched: Mapping[str, Any]) -> str:
    """Line about the gap at the level at which designs were proposed."""
    named = {name: OBJECTIVES[name].label for name in searched["lower_bounds"]}
    each = [
        f"{named.get(name, name)} {percent_above(gap)}"
        for name, gap in searched["optimality_gap"].items()
        if gap is not None
    ]
    told = f"gaps of {', '.join(each)}" if each else "no gap"
    return f"proven at {searched['gap_fidelity']}, where designs were proposed: {told}"


def bound_told(name: str, bound: float | None, sense: Sense) -> str:
    """Words on the *bound* of an objective, rounded to where no design is either."""
    if bound is None:
        return "nothing is proven"
    word, rounding = ("below", ROUND_FLOOR) if sense == "minimise" else ("above", ROUND_CEILING)
    if not isfinite(bound):
        return "no design of the space is feasible"
    exact = Decimal(bound)
    digits = exact.quantize(Decimal(1).scaleb(exact.adjusted() - 5), rounding) if bound else exact
    return f"no design is {word} {float(digits):.6g} {OBJECTIVES[name].unit}".rstrip()


def percent_above(share: float) -> str:
    """Percentage of a proven *share*, rounded up: less than that is not proven."""
    return f"{ceil(share * 1e4) / 100:.2f}%" if isfinite(share) else "unknown"


def _hypervolume_gap(proof: Proof, quality: Quality) -> float | None:
    if quality.reference is None or quality.hypervolume is None:
        return None
    points = np.concatenate([proof.values, proof.possible])
    if not np.isfinite(points).all():
        return None
    most = study_quality(points, proof.signs, quality.reference)
    if most.axes != quality.axes or not most.hypervolume:
        return None
    return max(0.0, 1 - quality.hypervolume / most.hypervolume)

"""Sentences about the fidelities of a study, from its summary."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dse.fidelity.compare import FEWEST, TRUSTED
from dse.objectives import OBJECTIVES


def fidelity_lines(summary: Mapping[str, Any]) -> list[str]:
    """Line by line; none where the study has one level."""
    found = summary.get("fidelity")
    if not found:
        return []
    lines = [f"judged at {found['front']}: the front, its hypervolume and the best values"]
    for step in found["steps"]:
        lines += _step_lines(step)
    return lines + list(_settled(found, summary.get("gap_judged", 0)))


def _settled(found: Mapping[str, Any], of_proof: int) -> Iterator[str]:
    """Designs that were judged because they are a step away from the front, or for a proof."""
    count, most = found.get("settled", 0), found.get("most_settled", 0)
    if count:
        word = "design" if count == 1 else "designs"
        why = "one step from the front" + (", or asked for by the proof," if of_proof else "")
        yield (
            f"{found['front']}: {count} {word} {why} judged there, "
            f"{found['settled_on_front']} of them on it"
        )
    if most and count - of_proof >= most:
        yield (
            f"no more than {most} steps from the front were judged, so that some of it may yet be "
            "had for less: raise search.settle"
        )


def _step_lines(step: Mapping[str, Any]) -> Iterator[str]:
    way = f"{step['from']} -> {step['to']}"
    yield f"{way}: {_counts(step)}"
    for name, one in step["objectives"].items():
        yield f"{way}, {OBJECTIVES[name].label}: {_agreement(one, step['promoted'])}"
    if step["judged"] + step["failed"] < step["promoted"]:
        yield f"{way}: not all are judged yet; --resume goes on"
    if step["infeasible"]:
        yield _infeasible(step["to"], step["infeasible"])
    if step["controls_on_front"]:
        yield (
            f"{step['controls_on_front']} of the designs drawn from those that {step['from']} "
            "holds for worse are on the front, so more may be: raise search.promote, or search at "
            f"{step['to']}"
        )
    yield from _verdict(way, step)


def _counts(step: Mapping[str, Any]) -> str:
    told = f"{step['judged']} of {step['promoted']} designs judged again"
    if step["failed"]:
        told += f", {step['failed']} failed"
    if step["feasible"]:
        told += f"; {step['front_kept']} of {step['front_size']} on the front stay on it"
    if step["controls"] and step["feasible"]:
        told += f", {step['controls_on_front']} of {step['controls']} drawn from the others join it"
    return told


def _verdict(way: str, step: Mapping[str, Any]) -> Iterator[str]:
    """Verdict on the ranking of the coarser level."""
    if step["failed"]:
        others = "; the front is that of the others" if step["feasible"] else ""
        yield (
            f"{way}: no ranking is compared, as {step['failed']} of {step['promoted']} designs "
            f"failed at {step['to']}{others}"
        )
    elif step["trusted"] is None:
        yield f"{way}: too few designs ({step['feasible']}, not {FEWEST}) to say how rankings agree"
    elif not step["trusted"]:
        yield (
            f"do not trust the ranking of {step['from']} here: Kendall's tau is below {TRUSTED:g}; "
            f"search at {step['to']} (search.fidelity), or raise search.promote"
        )


def _agreement(one: Mapping[str, Any], promoted: int) -> str:
    parts = [
        f"{label} {one[key]:.2f}"
        for key, label in (("kendall_tau", "Kendall's tau"), ("spearman", "Spearman's rho"))
        if one.get(key) is not None
    ]
    if "best" in one:
        parts.append(f"{one['best_in_common']} of the best {one['best']} in common")
    if one["median_ratio"] is not None:
        parts.append(
            f"values {one['least_ratio']:.3g} to {one['largest_ratio']:.3g} times as large "
            f"(median {one['median_ratio']:.3g})"
        )
    return ", ".join([*parts, f"over {one['compared']} of {promoted} designs"])


def _infeasible(level: str, found: Sequence[Mapping[str, Any]]) -> str:
    numbers = ", ".join(str(one["trial"]) for one in found)
    word = "trial" if len(found) == 1 else "trials"
    return f"infeasible at {level}: {word} {numbers}; the first: {found[0]['reason']}"

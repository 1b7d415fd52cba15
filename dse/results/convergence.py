"""Progress of a search over its proposals, and whether it has settled."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dse.fidelity.compare import searched_rows
from dse.fidelity.promote import minimised
from dse.objectives import OBJECTIVES
from dse.proof.prove import share_between
from dse.proof.told import percent_above
from dse.rank.progress import latest_gain, shares_of_volume
from dse.study.compile import Study
from dse.study.trials import Trial

STEPS = 20
"""Points of the course that are told."""


def convergence_summary(
    study: Study, rows: Sequence[Trial], summary: Mapping[str, Any]
) -> dict[str, Any]:
    """Entry ``convergence`` of ``summary.json``; nothing where no design is feasible.

    The hypervolume is that of the front so far by that of the last one, with a reference point just
    beyond the last front; the gap is the distance of the best value so far from its proven bound.

    Args:
        study: Gives the objectives.
        rows: All trials; counted are those at the first level.
        summary: With what is proven of the first level, if anything.
    """
    searched = searched_rows(study, rows)
    found = [row for row in searched if row.is_feasible]
    if not found:
        return {}
    proposals = len(searched)
    marks = sorted({-(-proposals * step // STEPS) for step in range(1, STEPS + 1)})
    points = minimised(study, found)
    places = [place for place, row in enumerate(searched) if row.is_feasible]
    counts = [sum(place < mark for place in places) for mark in marks]
    gain = latest_gain(points, places, proposals)
    return {
        "convergence": {
            "proposals": marks,
            "hypervolume": shares_of_volume(points, counts),
            **_gaps(study, points, counts, _proven(summary).get("lower_bounds", {})),
            "last": gain.last,
            "gained": gain.share,
            "improves": not gain.is_settled,
        }
    }


def _proven(summary: Mapping[str, Any]) -> Mapping[str, Any]:
    """Entries of a summary about what is proven of the first level."""
    found: Mapping[str, Any] = summary.get("searched_gap", summary)
    return found


def _gaps(
    study: Study,
    points: np.ndarray[Any, np.dtype[np.float64]],
    counts: Sequence[int],
    lower_bounds: Mapping[str, float | None],
) -> dict[str, Any]:
    """Gap by objective at each mark; None where no design was feasible yet."""
    best = {
        name: [float(points[:count, at].min(initial=np.inf)) for count in counts]
        for at, name in enumerate(study.goals.objectives)
    }
    gaps = {
        name: [share_between(own, sign * bound) if np.isfinite(own) else None for own in best[name]]
        for name, sign in study.goals.signs_by_name.items()
        if (bound := lower_bounds.get(name))
    }
    return {"gap": gaps} if gaps else {}


def convergence_lines(summary: Mapping[str, Any]) -> Iterator[str]:
    """One line on the hypervolume, and one for each proven gap.

    A search that still improves goes on in vain where it is proven that next to nothing is missing.
    """
    found = summary.get("convergence")
    if not found:
        return
    last, gained = found["last"], found["gained"]
    told = f"{gained:.2g}" if gained < 1e-4 else f"{gained:.2%}"
    if gained == 0:
        told = "nothing"
    if found["improves"]:
        missing = (_proven(summary).get("optimality_gap") or {}).get("hypervolume")
        rest = "more trials (--trials, or --trials auto) are likely to find better designs"
        if missing is not None and missing < gained:
            rest = f"it is proven that at most {percent_above(missing)} of it is missing"
        yield (
            f"still improving: {told} of the hypervolume of the front came in the last {last} "
            f"proposals; {rest}"
        )
    else:
        yield f"settled: {told} of the hypervolume of the front came in the last {last} proposals"
    for name, gaps in found.get("gap", {}).items():
        if gaps[-1] is not None:
            sense = summary.get("senses", {}).get(name, OBJECTIVES[name].sense)
            side = "above" if sense == "minimise" else "below"
            yield f"{OBJECTIVES[name].label}: {gaps[-1]:.2%} {side} its proven bound at the end"

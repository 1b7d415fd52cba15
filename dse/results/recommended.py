"""A short list of designs to choose from, each with the reasons for it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dse.fidelity.promote import minimised
from dse.objectives import OBJECTIVES, SIMULATED, Objective
from dse.rank.knee import knee, scaled
from dse.results.equals import Discernment, costs_alike
from dse.space import slot_of
from dse.study.trials import Trial

MOST = 8
"""Designs that a short list has at most."""

_COST = "capital_cost_usd"
_TIME = "iteration_time"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """One design to choose.

    Attributes:
        trial: Its number.
        reasons: For choosing it, in words.
    """

    trial: int
    reasons: tuple[str, ...]


def recommended(front: Discernment) -> list[Recommendation]:
    """At most ``MOST`` designs of a front: the best of each kind, as far as they can be told apart.

    Designs whose memory does not suffice are left out, unless there is no other.
    """
    found: dict[int, list[str]] = {}
    for at, reason in _Choice(front).all():
        found.setdefault(front.rows[at].number, []).append(reason)
    short = [Recommendation(trial=n, reasons=tuple(reasons)) for n, reasons in found.items()]
    return short[:MOST]


class _Choice:
    """The designs of a front that may be chosen, by their positions in it."""

    def __init__(self, front: Discernment) -> None:
        self._front, self._study = front, front.study
        self._at = with_room(front.rows)

    def all(self) -> Iterator[tuple[int, str]]:
        """Positions, each with a reason, the most important ones first."""
        if not self._at:
            return
        for name in self._study.goals.objectives:
            yield from self._best_in(name)
        if len(self._at) > 2:
            yield self._at[knee(self._points[self._at])], "the knee of the front"
        yield from self._per_usd("_usd", "_s", "most work per USD of the machine")
        yield from self._per_usd(
            "_high_usd", "_high_s", "most work per USD at the bad end of bands"
        )
        yield from self._simplest()

    @cached_property
    def _points(self) -> NDArray[np.float64]:
        """(P, M) objectives of the front, all minimised."""
        return minimised(self._study, self._front.rows)

    @cached_property
    def _told(self) -> NDArray[np.float64]:
        """``_points`` with simulated values as good as the best that they cannot be told from."""
        points = self._points.copy()
        place = {row.number: at for at, row in enumerate(self._front.rows)}
        simulated = [
            at
            for at, name in enumerate(self._study.goals.objectives)
            if SIMULATED & set(OBJECTIVES[name].metrics)
        ]
        for group in self._front.groups:
            best = place[group.trials[0]]
            for own in (place[number] for number in group.trials):
                ratio = self._front.values[best] / self._front.values[own]
                for column in simulated:
                    points[own, column] *= ratio if points[own, column] > 0 else 1 / ratio
        return points

    def _best_in(self, name: str) -> Iterator[tuple[int, str]]:
        """Best design in one objective; of those that cannot be told from it, the best in all.

        One that is 9 % behind as predicted has to be better by more than that elsewhere: that the
        difference cannot be told does not make it nothing. Behind it the one with the best value,
        where that is another one.
        """
        objective, front = OBJECTIVES[name], self._front
        column = list(self._study.goals.objectives).index(name)
        order = scaled(self._told).sum(axis=1)
        best = min(self._at, key=lambda at: (self._points[at, column], order[at]))
        chosen, told = best, f"best in {objective.label}"
        near = [at for at in self._at if self._is_as_good(objective, best, at, column)]
        if len(near) > 1:
            chosen = min(near, key=lambda at: (self._worse(best, at), order[at]))
        if chosen == best:
            yield best, told
            return
        behind = abs(self._points[chosen, column] / self._points[best, column] - 1)
        yield (
            chosen,
            f"{told} as far as can be told: {behind:.1%} behind trial {front.rows[best].number}"
            f"{self._saved(best, chosen)}",
        )
        yield best, f"{told} as predicted"

    def _worse(self, best: int, at: int) -> float:
        """Logarithm of how much worse design *at* is than *best*, over all objectives."""
        one, other = self._points[best], self._points[at]
        known = (one != 0) & (other != 0)
        parts = np.log(np.abs(other[known] / one[known])) * np.sign(one[known])
        return round(float(parts.sum()), 12)

    def _is_as_good(self, objective: Objective, best: int, at: int, column: int) -> bool:
        metrics = set(objective.metrics)
        if SIMULATED & metrics:
            return bool(self._told[at, column] <= self._told[best, column])
        if self._study.goals.scenarios:  # prices of each are their own
            return at == best
        if _COST in metrics or "network_cost_usd" in metrics:
            rows = self._front.rows
            one, two = (rows[each].evaluation.metrics for each in (best, at))
            return at == best or costs_alike(objective, one, two)
        return at == best

    def _saved(self, best: int, chosen: int) -> str:
        """Largest part by which *chosen* is better than *best*, in words."""
        gains = 1 - self._points[chosen] / np.where(self._points[best] == 0, 1, self._points[best])
        gains *= np.sign(self._points[best])
        at = int(gains.argmax())
        label = OBJECTIVES[list(self._study.goals.objectives)[at]].label
        return f", {gains[at]:.1%} less {label}" if gains[at] > 0 else ""

    def _per_usd(self, usd: str, seconds: str, told: str) -> Iterator[tuple[int, str]]:
        """The least product of time and capital cost, by their metrics' endings."""

        def product(at: int) -> float:
            metrics = self._front.rows[at].evaluation.metrics
            cost = metrics.get(f"capital_cost{usd}", metrics.get(_COST, 0.0))
            return cost * metrics.get(f"{_TIME}{seconds}", 0.0)

        yield from self._least(self._at, product, told)

    def _simplest(self) -> Iterator[tuple[int, str]]:
        """The design with the fewest network dimensions, where designs differ in them."""
        counts = {at: network_dimensions(self._front.rows[at]) for at in self._at}
        least = min(counts.values())
        if least == max(counts.values()):
            return
        order = scaled(self._told).sum(axis=1)
        simple = [at for at in self._at if counts[at] == least]
        chosen = min(simple, key=lambda at: round(order[at], 12))
        yield chosen, f"simplest to build: {least} network dimension{'s' if least > 1 else ''}"

    def _least(
        self, among: Sequence[int], value: Callable[[int], float], told: str
    ) -> Iterator[tuple[int, str]]:
        values = {at: value(at) for at in among}
        if all(values.values()):
            yield min(values, key=lambda at: values[at]), told


def with_room(rows: Sequence[Trial]) -> list[int]:
    """Positions of the designs whose memory suffices; else whose tensors fit; else all."""
    for name in ("memory_fill_highest", "memory_fill"):
        found = [at for at, row in enumerate(rows) if row.evaluation.metrics.get(name, 0.0) <= 1.0]
        if found:
            return found
    return list(range(len(rows)))


def network_dimensions(row: Trial) -> int:
    """Network dimensions that the knobs of a design speak of, and that join several NPUs."""
    slots = {slot for name in row.design if (slot := slot_of(name)) is not None}
    return sum(row.design.get(f"platform.dimensions[{slot}].npus") != 1 for slot in slots)

"""Best-first branch and bound: simulates designs until nothing much better can exist."""

import heapq
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from math import inf

import numpy as np
from numpy.typing import NDArray

from dse.config import Study
from dse.evaluate import build_evaluator
from dse.evaluate.base import evaluate
from dse.gap.boxes import Box, Boxes, Values
from dse.gap.designs import KnownDesigns, check_provable
from dse.objectives import Goals
from dse.rank.pareto import non_dominated
from dse.space import Design
from simcore import SimulationError

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_AT_ONCE = 4
_TRIED = 256
_PLANS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """When to stop before the gap is closed.

    Attributes:
        simulations: Most designs to simulate.
        seconds: Most CPU seconds.
    """

    simulations: int = 1_000_000
    seconds: float = inf


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Proof:
    """What was found, and what cannot exist.

    Attributes:
        objectives: Names; all minimised.
        designs: The non-dominated ones among those simulated.
        values: (designs, objectives) of them.
        possible: (N, objectives) points of which no design is better than all; with *values* they
            bound the front that could exist.
        lower_bounds: Per objective, what no design goes below.
        gaps: Per objective, ``(best - lower bound) / best``; 1 where nothing was found.
        is_closed: Whether the gap that was asked for is proven.
        simulations: Designs simulated.
        seconds: CPU seconds.
    """

    objectives: tuple[str, ...]
    designs: tuple[Design, ...]
    values: Floats
    possible: Floats
    lower_bounds: tuple[float, ...]
    gaps: tuple[float, ...]
    is_closed: bool
    simulations: int
    seconds: float


def close_gap(
    study: Study,
    objectives: Sequence[str] = (),
    *,
    gap: float = 0.01,
    effort: Effort | None = None,
) -> Proof:
    """Find designs that no design beats by more than *gap* in all objectives.

    Of one objective that is the best value within a proven *gap*; of several, a front: for every
    design there is one found whose values times ``1 - gap`` are nowhere above it.

    Args:
        study: Its evaluator must be the simulator without congestion.
        objectives: Names; those of the study if left out. Times, costs and their products.
        gap: Share of the objectives' values; 0 for the exact answer.
        effort: When to give up; what is proven until then is told.

    Raises:
        ConfigError: Nothing is proven for an objective, a knob or the evaluator of the study.
        SimulationError: A simulation failed.
    """
    names = tuple(objectives) or tuple(study.goals.objectives)
    senses = {name: study.goals.objectives.get(name, "minimise") for name in names}
    goals = Goals(objectives=senses, limits=study.goals.limits)
    return _Closer(replace(study, goals=goals), gap, effort or Effort()).run()


@dataclass(slots=True, eq=False)
class _Found:
    """Designs that were simulated, and points that nothing was found to go below."""

    gap: float
    designs: list[Design] = field(default_factory=list)
    values: list[Values] = field(default_factory=list)
    given_up: list[Values] = field(default_factory=list)

    def covers(self, values: Floats) -> Flags:
        """(N,) whether a design found is as good, but for the gap, in all objectives."""
        covered = np.zeros(len(values), np.bool_)
        for point in self.values:
            covered |= (np.array(point) * (1 - self.gap) <= values).all(axis=1)
        return covered

    def add(self, design: Design, values: Values) -> None:
        points = np.array([*self.values, values])
        kept = np.flatnonzero(non_dominated(points)).tolist()
        self.designs = [[*self.designs, design][index] for index in kept]
        self.values = [tuple(points[index].tolist()) for index in kept]

    def give_up(self, values: Floats) -> None:
        """Remember what designs that are not looked at may reach."""
        reachable = values[np.isfinite(values).all(axis=1)]
        points = np.array([*self.given_up, *reachable.tolist()])
        if points.size:
            self.given_up = [tuple(p) for p in points[non_dominated(points)].tolist()]


class _Closer:
    def __init__(self, study: Study, gap: float, effort: Effort) -> None:
        check_provable(study)
        self._study, self._effort = study, effort
        self._begin = time.process_time()
        self._found = _Found(gap)
        self._evaluator = build_evaluator(study.evaluator_input)
        self._boxes = {
            dimensions: Boxes(study.space, dimensions, KnownDesigns(study, dimensions))
            for dimensions in study.space.dimensions
        }
        self._queue: list[tuple[float, int, int, Box]] = []
        self._order = count()
        self._simulations = 0

    def run(self) -> Proof:
        for dimensions, boxes in self._boxes.items():
            for box in boxes.whole():
                self._push(dimensions, box)
        while self._queue and not self._is_spent():
            _, _, dimensions, box = heapq.heappop(self._queue)
            if self._found.covers(np.array([box.values]))[0]:
                self._found.give_up(np.array([box.values]))
            elif box.stage == "machine":
                self._push_hopeful(dimensions, self._boxes[dimensions].with_plans(box))
            elif box.stage == "plans":
                self._look_at(dimensions, box)
            elif box.low == box.high:
                self._simulate_best(dimensions, box)
            else:
                for half in self._boxes[dimensions].halves(box):
                    self._push_hopeful(dimensions, half)
        is_closed = not self._queue
        for _, _, _, box in self._queue:
            self._found.give_up(np.array([box.values]))
        return self._proof(is_closed)

    def _is_spent(self) -> bool:
        spent_s = time.process_time() - self._begin
        return self._simulations >= self._effort.simulations or spent_s >= self._effort.seconds

    def _push(self, dimensions: int, box: Box) -> None:
        worth = sum(np.log(max(value, 1e-300)) for value in box.values)
        heapq.heappush(self._queue, (worth, next(self._order), dimensions, box))

    def _look_at(self, dimensions: int, box: Box) -> None:
        """Bound designs of the best plans of a machine, and simulate one that may be good."""
        boxes = self._boxes[dimensions]
        box, others = boxes.first_plans(box, _PLANS, self._set_aside)
        self._push_hopeful(dimensions, others)
        box = self._hopeful(dimensions, box)
        if not len(box.rows):
            return
        likely = np.argsort(box.times_s, kind="stable")[:_TRIED]
        corner = boxes.bounded(replace(box, high=box.low), box.rows[likely])
        self._simulate_best(dimensions, corner, wanted=1, goes_on=False)
        self._push_hopeful(dimensions, box)

    def _simulate_best(
        self, dimensions: int, box: Box, *, wanted: int = _AT_ONCE, goes_on: bool = True
    ) -> None:
        """Simulate the designs of a corner with the least bounds, and put the others back."""
        order = np.argsort(box.times_s, kind="stable")
        values = self._boxes[dimensions].all_values(box)
        for index in order[:wanted].tolist():
            if not self._found.covers(values[[index]])[0]:
                self._simulate(self._study.space.design(dimensions, box.rows[index].tolist()))
            else:
                self._found.give_up(values[[index]])
        if goes_on:
            rest = np.zeros(len(order), np.bool_)
            rest[order[wanted:]] = True
            boxes = self._boxes[dimensions]
            self._push_hopeful(dimensions, boxes.kept(box, box.rows, box.times_s, rest))

    def _simulate(self, design: Design) -> None:
        self._simulations += 1
        outcome = evaluate(self._evaluator, self._study.goals, design)
        if outcome.state == "failed":
            raise SimulationError(f"nothing can be proven while designs fail: {outcome.reason}")
        if outcome.state == "complete":
            names = self._study.goals.objectives
            self._found.add(design, tuple(outcome.objectives[name] for name in names))

    def _set_aside(self, values: Floats) -> Flags:
        """Which designs are covered; what they may reach is remembered."""
        covered = self._found.covers(values)
        self._found.give_up(_least(values[covered]))
        return covered

    def _hopeful(self, dimensions: int, box: Box) -> Box:
        boxes = self._boxes[dimensions]
        if not len(box.rows):
            return box
        covered = self._set_aside(boxes.all_values(box))
        return boxes.kept(box, box.rows, box.times_s, ~covered)

    def _push_hopeful(self, dimensions: int, box: Box) -> None:
        box = self._hopeful(dimensions, box)
        if len(box.rows):
            self._push(dimensions, box)

    def _proof(self, is_closed: bool) -> Proof:
        names, found = tuple(self._study.goals.objectives), self._found
        values = np.array(found.values).reshape(-1, len(names))
        possible = np.array(found.given_up).reshape(-1, len(names))
        best = values.min(axis=0, initial=inf)
        least = np.minimum(best, possible.min(axis=0, initial=inf))
        return Proof(
            objectives=names,
            designs=tuple(found.designs),
            values=values,
            possible=possible,
            lower_bounds=tuple(least.tolist()),
            gaps=tuple((1 - least / best).tolist()) if len(values) else (1.0,) * len(names),
            is_closed=is_closed,
            simulations=self._simulations,
            seconds=time.process_time() - self._begin,
        )


def _least(values: Floats) -> Floats:
    """One point that is nowhere above *values*; designs of a box differ in their times alone."""
    if not len(values):
        return values
    least: Floats = values.min(axis=0, keepdims=True)
    return least

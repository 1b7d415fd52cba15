"""Best-first branch and bound: asks for designs until nothing much better can exist."""

import heapq
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from math import inf

import numpy as np
from numpy.typing import NDArray

from dse.evaluate import Evaluation
from dse.proof.boxes import Box, Boxes, Values
from dse.proof.designs import check_provable
from dse.proof.parts.part import Part, Places
from dse.proof.ranges import with_cells
from dse.proof.scenarios import known_designs
from dse.rank.pareto import Front, no_worse, non_dominated
from dse.space import Design, design_key
from dse.study.compile import Study
from simcore import no_collection, plain_sum

Floats = NDArray[np.float64]

Flags = NDArray[np.bool_]

_AT_ONCE = 4
_TRIED = 256
_PLANS = 64
_MOST_CELLS = 64
"""Cells in which a design was simulated, from which on one is set aside that is no better than one
in which the bound was too loose: it would change nothing of what is proven."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Proof:
    """Designs that were found, and bounds of what can exist.

    Attributes:
        objectives: Names; all minimised.
        designs: The non-dominated ones among those simulated.
        values: (designs, objectives) of them.
        possible: (N, objectives) points of which no design is better than all; with *values* they
            bound the front that could exist.
        lower_bounds: Per objective, what no design goes below.
        gaps: Per objective, ``(best - lower bound) / best``; 1 where nothing was found.
        is_closed: Whether the gap that was asked for is proven.
        simulations: Designs that were asked for.
        seconds: CPU seconds since the proof began.
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reached:
    """State of a proof, or of a part of one.

    Attributes:
        possible: (N, objectives) points of which no design is better than all, but for those that
            were simulated.
        is_closed: Whether the gap that was asked for is proven.
        simulations: Designs that were asked for.
    """

    possible: Floats
    is_closed: bool
    simulations: int


@dataclass(slots=True, eq=False)
class _Found:
    """Designs that were simulated, and points that nothing was found to go below."""

    gap: float
    front: Front[Design] = field(default_factory=Front)
    given_up: list[Values] = field(default_factory=list)

    def covers(self, values: Floats) -> Flags:
        """(N,) whether a design found is as good, but for the gap, in all objectives."""
        covered = np.zeros(len(values), np.bool_)
        for point in self.front.points:  # few, of perhaps very many values
            covered |= no_worse(point * (1 - self.gap), values)
        return covered

    def give_up(self, values: Floats) -> None:
        """Remember what designs that are not looked at may reach."""
        reachable = values[np.isfinite(values).all(axis=1)]
        points = np.array([*self.given_up, *reachable.tolist()])
        if points.size:
            self.given_up = [tuple(p) for p in points[non_dominated(points)].tolist()]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Candidate:
    """A design to be simulated; *values* (1, objectives): what it may reach.

    Beside one of a *cell* lie others, which may reach as much and are never asked for.
    """

    design: Design
    values: Floats
    in_cell: bool = False


class Prover:
    """Branch and bound over the designs of a study, one step at a time.

    Whoever drives it simulates what it asks for, in any order and beside other designs, and tells
    it every outcome, also of designs that it did not ask for.
    """

    def __init__(
        self,
        study: Study,
        gap: float,
        canonical: Callable[[Design], Design] = lambda design: design,
        part: Part | None = None,
        is_elsewhere: Callable[[Design], bool] = lambda design: False,
    ) -> None:
        """Begin.

        Args:
            study: Gives the designs and the objectives.
            gap: Share of the objectives' values; 0 for the exact answer.
            canonical: The design that stands for all that provably have the same outcome: the
                outcome of one of them is asked for once.
            part: Plans that are bounded, where others bound the rest; None: all of them.
            is_elsewhere: Whether the outcome of a design is known to whoever puts the parts
                together, so that it need not be asked for.

        Raises:
            ConfigError: Nothing is proven for an objective, a knob or the evaluator of the study.
        """
        check_provable(study)
        self._part, self._machines = part or Part(), 0
        self._ranges = frozenset(knob.name for knob in study.space.continuous)
        study = with_cells(study, gap)
        self._study, self._found, self._canonical = study, _Found(gap), canonical
        self._is_elsewhere = is_elsewhere
        self._begin_s = time.process_time()
        self._boxes = {
            dimensions: Boxes(
                study.space, dimensions, known_designs(study, dimensions), self._ranges
            )
            for dimensions in study.space.dimensions
        }
        self._lost = _Found(gap)  # what designs may reach beside those that were simulated
        self._cells = 0
        self._queue: list[tuple[float, int, int, Box]] = []
        self._order = count()
        self._candidates: deque[_Candidate] = deque()
        self._asked: dict[str, _Candidate] = {}
        self._known: set[str] = set()  # asked for, or with an outcome
        self._failed: set[str] = set()
        self._simulations = 0
        self._has_begun = self._is_torn = False

    @property
    def is_closed(self) -> bool:
        """True if the gap is proven."""
        is_open = self._queue or self._candidates or self._asked or self._is_torn
        if not self._has_begun or is_open:
            return False
        return not len(self._lost_points())

    def advance(self) -> bool:
        """Look at the most promising box; false if there is none left."""
        if not self._has_begun:
            self._has_begun = True
            with no_collection():
                self._begin()
        if not self._queue:
            return False
        _, _, dimensions, box = heapq.heappop(self._queue)
        if not self._set_aside(np.array([box.values]))[0]:
            with no_collection():  # terms of plans are many objects
                self._open(dimensions, box)
        return True

    def _begin(self) -> None:
        """Take up the machines of this part."""
        machines = [(at, box) for at, boxes in self._boxes.items() for box in boxes.whole()]
        self._machines = len(machines)
        for own in self._part.machines(len(machines)).tolist():
            self._push(*machines[own])

    def _dealt(self, plans: int) -> Places:
        return self._part.plans(plans, self._machines)

    def _open(self, dimensions: int, whole: Box) -> None:
        """Look into a box: what of it is hopeful goes back to the queue, or is asked for."""
        boxes = self._boxes[dimensions]
        box = boxes.trimmed(whole, self._set_aside)
        if box.stage == "machine":
            self._push_hopeful(dimensions, boxes.with_plans(box, self._dealt))
        elif box.stage == "plans":
            self._look_at(dimensions, box)
        elif box is not whole:
            self._push_hopeful(dimensions, box)
        elif boxes.is_corner(box):
            self._ask_for_best(dimensions, self._hopeful(dimensions, box))
        else:
            for half in boxes.halves(box):
                self._push_hopeful(dimensions, half)

    def ask(self) -> Design | None:
        """A design to simulate; None if more boxes must be looked at first."""
        while self._candidates:
            candidate = self._candidates.popleft()
            key = self._key(candidate.design)
            if key in self._known:
                self._pass_over(candidate)
            elif self._found.covers(candidate.values)[0]:
                self._found.give_up(candidate.values)
            elif key in self._failed:
                self._tear(candidate)
            elif self._is_elsewhere(candidate.design):
                self._pass_over(candidate)
            else:
                self._asked[key] = candidate
                self._known.add(key)
                if candidate.in_cell:
                    self._found.give_up(candidate.values)
                self._simulations += 1
                return candidate.design
        return None

    def learn(self, design: Design, evaluation: Evaluation) -> None:
        """The outcome of any design of the study, which will not be asked for any more."""
        key = self._key(design)
        candidate = self._asked.pop(key, None)
        if evaluation.state == "failed":
            self._failed.add(key)
            if candidate is not None:
                self._tear(candidate)
            return
        self._known.add(key)
        if evaluation.state == "complete":
            names = self._study.goals.objectives
            self._found.front.add(design, [evaluation.objectives[name] for name in names])
        if candidate is not None and candidate.in_cell:
            self._lost.give_up(candidate.values)
            self._cells += 1

    def _pass_over(self, candidate: _Candidate) -> None:
        """Do not ask for what is known; of a cell it says nothing about what lies beside."""
        if candidate.in_cell:
            self._found.give_up(candidate.values)
            self._lost.give_up(candidate.values)

    def _lost_points(self) -> Floats:
        """(N, objectives) that designs of cells may reach, and none found is near enough to."""
        points = np.array(self._lost.given_up).reshape(-1, len(self._study.goals.objectives))
        lost: Floats = points[~self._found.covers(points)]
        return lost

    def _tear(self, candidate: _Candidate) -> None:
        """Nobody knows how good *candidate* is: the proof has a hole."""
        self._is_torn = True
        self._found.give_up(candidate.values)

    def _key(self, design: Design) -> str:
        known = self._canonical(design)
        if self._ranges:  # samplers move values by their rounding
            known = {n: f"{v:.9e}" if n in self._ranges else v for n, v in known.items()}
        return design_key(known)

    def _push(self, dimensions: int, box: Box) -> None:
        worth = plain_sum(np.log(max(value, 1e-300)) for value in box.values)
        heapq.heappush(self._queue, (worth, next(self._order), dimensions, box))

    def _look_at(self, dimensions: int, box: Box) -> None:
        """Bound designs of the best plans of a machine, and ask for one that may be good."""
        boxes = self._boxes[dimensions]
        wanted = _PLANS // self._part.sharing(self._machines)  # all look at as many as one would
        box, others = boxes.first_plans(box, wanted, self._set_aside)
        self._push_hopeful(dimensions, others)
        box = self._hopeful(dimensions, box)
        if not len(box.rows):
            return
        likely = np.argsort(box.times_s, kind="stable")[:_TRIED]
        corner = boxes.bounded(replace(box, high=box.low), box.rows[likely])
        self._ask_for_best(dimensions, corner, wanted=1, goes_on=False)
        self._push_hopeful(dimensions, box)

    def _ask_for_best(
        self, dimensions: int, box: Box, *, wanted: int = _AT_ONCE, goes_on: bool = True
    ) -> None:
        """Ask for the designs of a corner with the least bounds, and put the others back."""
        boxes = self._boxes[dimensions]
        order = np.argsort(box.times_s, kind="stable")
        values = boxes.all_values(box)
        for index in order[:wanted].tolist():
            for row in boxes.alike(boxes.slowest(box, box.rows[index])).tolist():
                design = self._study.space.design(dimensions, row)
                one = _Candidate(design=design, values=values[[index]], in_cell=box.low != box.high)
                self._candidates.append(one)
        if goes_on:
            rest = np.zeros(len(order), np.bool_)
            rest[order[wanted:]] = True
            self._push_hopeful(dimensions, boxes.kept(box, box.rows, box.times_s, rest))

    def _set_aside(self, values: Floats) -> Flags:
        """Mark the covered designs; remember what they may reach."""
        covered = self._found.covers(values)
        if self._cells >= _MOST_CELLS:
            for point in self._lost_points():
                covered |= no_worse(point, values)
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

    def reached(self) -> Reached:
        """State so far."""
        objectives = len(self._study.goals.objectives)
        possible = np.zeros((1, objectives))
        if self._has_begun:
            open_values = [np.array([box.values]) for _, _, _, box in self._queue]
            open_values += [own.values for own in (*self._candidates, *self._asked.values())]
            given_up = np.array(self._found.given_up).reshape(-1, objectives)
            possible = np.concatenate([given_up, *open_values])
        return Reached(
            possible=possible[non_dominated(possible)],
            is_closed=self.is_closed,
            simulations=self._simulations,
        )

    def proof(self) -> Proof:
        """Proof so far."""
        return proof_of(
            tuple(self._study.goals.objectives),
            self._found.front,
            self.reached(),
            time.process_time() - self._begin_s,
        )


def proof_of(
    objectives: tuple[str, ...], front: Front[Design], reached: Reached, seconds: float
) -> Proof:
    """The proof that a front and what nothing was found to go below make together."""
    values, possible = front.points.reshape(-1, len(objectives)), reached.possible
    best = values.min(axis=0, initial=inf)
    least = np.minimum(best, possible.min(axis=0, initial=inf))
    return Proof(
        objectives=objectives,
        designs=tuple(front.kept),
        values=values,
        possible=possible,
        lower_bounds=tuple(least.tolist()),
        gaps=tuple((1 - least / best).tolist()) if len(values) else (1.0,) * len(objectives),
        is_closed=reached.is_closed,
        simulations=reached.simulations,
        seconds=seconds,
    )


def _least(values: Floats) -> Floats:
    """One point that is nowhere above *values*; designs of a box differ in their times alone."""
    if not len(values):
        return values
    least: Floats = values.min(axis=0, keepdims=True)
    return least

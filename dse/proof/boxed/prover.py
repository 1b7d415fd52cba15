"""Best-first branch and bound over boxes of designs."""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count

import numpy as np

from dse.proof.boxed.boxes import Box, Boxes
from dse.proof.parts.part import Part, Places
from dse.proof.prove import Candidate, Flags, Floats, Prover
from dse.proof.ranges import with_cells
from dse.proof.scenarios import known_designs
from dse.rank.pareto import no_worse
from dse.space import Design
from dse.study.compile import Study
from simcore import no_collection, plain_sum

_AT_ONCE = 4
_TRIED = 256
_PLANS = 64
_MOST_CELLS = 64
"""Cells in which a design was simulated, from which on one is set aside that is no better than one
in which the bound was too loose: it would change nothing of what is proven."""


class BoxProver(Prover):
    """Proof by branch and bound, for studies whose evaluator has bounds of times."""

    def __init__(
        self,
        study: Study,
        gap: float,
        canonical: Callable[[Design], Design],
        is_elsewhere: Callable[[Design], bool],
        part: Part,
    ) -> None:
        """Begin; see ``prover_of``."""
        super().__init__(study, gap, canonical, is_elsewhere)
        self._part, self._machines = part, 0
        self._study = study = with_cells(study, gap)
        self._boxes = {
            dimensions: Boxes(
                study.space, dimensions, known_designs(study, dimensions), self._ranges
            )
            for dimensions in study.space.dimensions
        }
        self._queue: list[tuple[float, int, int, Box]] = []
        self._order = count()

    def _unseen(self) -> Sequence[Floats]:
        return [np.array([box.values]) for _, _, _, box in self._queue]

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
                one = Candidate(design=design, values=values[[index]], in_cell=box.low != box.high)
                self._candidates.append(one)
        if goes_on:
            rest = np.zeros(len(order), np.bool_)
            rest[order[wanted:]] = True
            self._push_hopeful(dimensions, boxes.kept(box, box.rows, box.times_s, rest))

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

    def _set_aside(self, values: Floats) -> Flags:
        """Mark the covered designs; remember what they may reach."""
        covered = self._found.covers(values)
        if self._cells >= _MOST_CELLS:
            for point in self._lost_points():
                covered |= no_worse(point, values)
        self._found.give_up(_least(values[covered]))
        return covered


def _least(values: Floats) -> Floats:
    """One point that is nowhere above *values*; designs of a box differ in their times alone."""
    if not len(values):
        return values
    least: Floats = values.min(axis=0, keepdims=True)
    return least

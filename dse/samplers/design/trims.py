"""Trims: designs of the front with one step less on one ladder, where that makes them cheaper.

A search that breeds designs as a whole leaves links that are paid for and hardly used. Towards its
end each design of the front is therefore asked for what it can do without, first for that which
others of the front could do without. Then follow the steps that cost nothing: those on ladders, and
those beside them, a factor from one degree to another or another word.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dse.rank.bargain import GAIN, LOSS, beaten_at_a_bargain
from dse.rank.pareto import Flags, Front, Points, non_dominated
from dse.samplers.design.columns.genomes import Genome, Genomes
from dse.samplers.design.columns.neighbourhood import Draft, Neighbourhood, active
from dse.samplers.design.columns.steps import shifts, words
from dse.samplers.design.screen import Screen

Amounts = Callable[[Genomes], Sequence[tuple[float, ...] | None]]
"""Objectives of designs' machines with an iteration of one second; None: it cannot be built."""

Accept = Callable[[Genome], bool]

Rung = tuple[int, int]
"""Position of a ladder in ``Genome.codes``, and the code there."""


class Trims:
    """Follows the front of a search, and finds what nobody has tried to leave out of it."""

    def __init__(
        self,
        near: Neighbourhood,
        amounts: Amounts | None,
        admits: Screen,
        outcome: Callable[[Genome], Sequence[float] | None] = lambda genome: None,
    ) -> None:
        """Start with no front.

        Args:
            near: The ladders.
            amounts: Tells what a step saves before anything is simulated; None: that is not known,
                and each step down is a trim.
            admits: Whether a design may be feasible.
            outcome: Objectives of a design that is known to be feasible.
        """
        self._near, self._amounts, self._admits = near, amounts, admits
        self._outcome = outcome
        self._front: Front[Genome] = Front()
        self._steps: dict[Genome, Steps] = {}
        self._beside: dict[Genome, list[Genome]] = {}
        self._refused: set[int] = set()
        self._left_of: Points | None = None
        self._left: list[Step] = []
        self._were_bargains: dict[tuple[Genome, Genome], bool] = {}
        self._beaten_of: Points | None = None
        self._are_beaten: Flags = np.zeros(0, np.bool_)

    def learn(self, genome: Genome, values: Sequence[float]) -> None:
        """Take note of a feasible design; *values* to be minimised."""
        self._front.add(genome, values)

    def recall(self, told: Sequence[tuple[Genome, Sequence[float]]]) -> None:
        """Be as if these feasible designs had been learned, one after another."""
        if not told:
            return
        points = np.array([values for _, values in told], np.float64)
        for at in np.flatnonzero(non_dominated(points)).tolist():
            self.learn(told[at][0], points[at])

    def next(self, accept: Accept) -> Genome | None:
        """The trim most likely to be a bargain of those that *accept* takes.

        What is refused once is not asked again.
        """
        left = self._untried()
        if not left:
            return None
        hopes = self._hopes()
        for step in sorted(left, key=lambda step: -hopes(step.rung)):
            if accept(step.genome):
                return step.genome
            self._refused.add(step.genome.key)
        return None

    def _untried(self) -> "list[Step]":
        """Trims of the front that have not been refused.

        Designs that are beaten at a bargain themselves are of no use and not asked for trims.
        """
        if self._left_of is not self._front.points:  # which are new where the front is
            self._left_of = self._front.points
            kept = zip(self._front.kept, self._beaten(), strict=True)
            self._left = [step for one, out in kept if not out for step in self.of(one).trims]
        self._left = [step for step in self._left if step.genome.key not in self._refused]
        return self._left

    def _beaten(self) -> Flags:
        """Designs of the front that others of it beat at a bargain."""
        if self._beaten_of is not self._front.points:  # which are new where the front is
            self._beaten_of = self._front.points
            self._are_beaten = beaten_at_a_bargain(self._beaten_of)
        return self._are_beaten

    def _hopes(self) -> Callable[[Rung], float]:
        """Part of the known trims of the front, by rung, that were bargains; 1 of 2 unseen ones."""
        tried, won = Counter[Rung](), Counter[Rung]()
        for genome in self._front.kept:
            for step in self.of(genome).trims:
                values = self._outcome(step.genome)
                if values is not None:
                    tried[step.rung] += 1
                    won[step.rung] += self._was_bargain(genome, step.genome, values)
        return lambda rung: (won[rung] + 1) / (tried[rung] + 2)

    def _was_bargain(self, genome: Genome, trim: Genome, values: Sequence[float]) -> bool:
        pair = genome, trim
        if pair not in self._were_bargains:
            own, other = self._outcome(genome), np.array([values], np.float64)
            assert own is not None, "what is on the front has been told"
            self._were_bargains[pair] = bool(beaten_at_a_bargain(np.array([own]), other)[0])
        return self._were_bargains[pair]

    def next_free(self, accept: Accept) -> Genome | None:
        """The first design one step from the front, at no cost, that *accept* takes.

        Steps on ladders come before those beside them, and those from the latest of the front
        before all others: these have been asked for already. What is refused once is not asked
        again.
        """
        front = self._front.kept[::-1]
        for steps in (lambda one: [step.genome for step in self.of(one).free], self.beside):
            for found in (found for genome in front for found in steps(genome)):
                key = found.key
                if key not in self._refused:
                    if accept(found):
                        return found
                    self._refused.add(key)
        return None

    def beside(self, genome: Genome) -> list[Genome]:
        """Designs one step beside ladders that make no cost of *genome* higher.

        None where costs are not known beforehand.
        """
        if genome not in self._beside:
            self._beside[genome] = self._beside_of(genome)
        return self._beside[genome]

    def _beside_of(self, genome: Genome) -> list[Genome]:
        if self._amounts is None:
            return []
        near = self._near
        named = (*shifts(near, genome), *words(near, genome))
        found = [near.space.settled(one) for _, one in named if one is not None]
        found = [one for one in dict.fromkeys(found) if one != genome]
        if not found:
            return []
        admitted = self._admits(Genomes.of(found))
        found = [one for one, may_be in zip(found, admitted, strict=True) if may_be]
        own, *others = self._amounts(Genomes.of([genome, *found]))
        return [
            one
            for one, amounts in zip(found, others, strict=True)
            if own is not None and amounts is not None and max(_ratios(own, amounts)) < 1 + LOSS
        ]

    def of(self, genome: Genome) -> "Steps":
        """Steps from a design, whether it is on the front or not."""
        if genome not in self._steps:
            self._steps[genome] = self._steps_of(genome)
        return self._steps[genome]

    def _steps_of(self, genome: Genome) -> "Steps":
        """Steps on ladders that make *genome* cheaper, and those that cost nothing."""
        if self._amounts is None:
            return Steps(
                trims=tuple(self._admitted(ladder_steps(self._near, genome, (-1,)))), free=()
            )
        steps = self._admitted(ladder_steps(self._near, genome, (-1, 1)))
        own, *others = self._amounts(Genomes.of([genome, *(step.genome for step in steps)]))
        trims, free = list[Step](), list[Step]()
        for step, amounts in zip(steps, others, strict=True):
            if own is None or amounts is None:
                continue
            ratios = _ratios(own, amounts)
            if max(ratios) < 1 + LOSS:
                is_trim = min(ratios) <= 1 - GAIN
                (trims if is_trim else free).append(step)
        return Steps(trims=tuple(trims), free=tuple(free))

    def _admitted(self, steps: "Sequence[Step]") -> "list[Step]":
        if not steps:
            return []
        admitted = self._admits(Genomes.of([step.genome for step in steps]))
        return [step for step, may_be in zip(steps, admitted, strict=True) if may_be]


def _ratios(own: Sequence[float], amounts: Sequence[float]) -> list[float]:
    """Amounts of a step by those of the design that it begins at, and a 1 beside them."""
    return [1.0, *(one / other for one, other in zip(amounts, own, strict=True) if other > 0)]


class Step(NamedTuple):
    """A step on a ladder.

    Attributes:
        rung: Where it begins.
        genome: Where it leads to.
    """

    rung: Rung
    genome: Genome


@dataclass(frozen=True, slots=True)
class Steps:
    """Steps on ladders from a design that make no cost of it higher.

    Attributes:
        trims: Those that make one lower by ``GAIN`` at least.
        free: The others, which may save time.
    """

    trims: tuple[Step, ...]
    free: tuple[Step, ...]


def ladder_steps(near: Neighbourhood, genome: Genome, ways: Sequence[int]) -> list[Step]:
    """Steps to valid designs one step away from *genome* on one ladder; *ways*: -1 down, 1 up."""
    steps = [(at, way) for at in active(genome, near.ladders) for way in ways]
    steps = [(at, way) for at, way in steps if 0 <= genome.codes[at] + way <= near.tops[at]]
    if not steps:
        return []
    draft = Draft(Genomes.of([genome] * len(steps)))
    knobs, moves = np.array(steps).T
    draft.set(np.arange(len(steps)), knobs, draft.codes[0, knobs] + moves)
    found, moved = near.finished(draft)
    settled = near.space.settle(found).each()
    pairs = zip(knobs.tolist(), settled, moved.tolist(), strict=True)
    return [Step((at, genome.codes[at]), one) for at, one, is_valid in pairs if is_valid]

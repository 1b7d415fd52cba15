"""Steps from the front at the finest level that may be bargains, judged there until none is left.

A search trims the designs of its front as its first level sees them (``dse.run.ending``). The
finest level sees another front, and may find a step to be a bargain that looked none, or that was
not tried.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dse.evaluate import Task, build_evaluator
from dse.fidelity.promote import minimised
from dse.proof.least import least_objectives
from dse.proof.machines import machine_prices
from dse.rank.bargain import beaten_at_a_bargain
from dse.rank.pareto import non_dominated
from dse.samplers.design import GenomeSpace
from dse.samplers.design.columns.neighbourhood import Neighbourhood
from dse.samplers.design.model.aims import TimeAlone
from dse.samplers.design.screen import screen_of
from dse.samplers.design.trims import Trims
from dse.space import Design, design_key
from dse.study.compile import Study
from dse.study.trials import Trial

Floats = NDArray[np.float64]


class Settlement:
    """Chooses the steps on ladders from a front that are judged next.

    First those that save money, until none is left, then those that cost nothing and may save time,
    and so on by turns. Left out is what is proven to be no bargain by its lower bound, and what the
    first level could not run.
    """

    def __init__(self, study: Study, level: str, searched: Sequence[Trial]) -> None:
        """Start with all steps that the study allows.

        Args:
            study: What was asked.
            level: The finest level, which decides.
            searched: The proposals: a design among them keeps its number.
        """
        self._study = judged = study.judged_at(level)
        evaluator = build_evaluator(judged.evaluator_input)
        self._canonical = evaluator.canonical
        self._space = space = GenomeSpace(study.space)
        prices = machine_prices(study)
        self._trims = Trims(
            Neighbourhood(space),
            None if prices is None else TimeAlone(space, prices).amounts,
            screen_of(space, evaluator.checks()),
        )
        self._numbers = {self._key(row.design): row.number for row in reversed(searched)}
        self._given_up = {self._key(row.design) for row in searched if row.state != "complete"}
        rows = [study.file.search.most_trials, *(row.number + 1 for row in searched)]
        self._next = max(rows)
        self._left = study.file.search.settle

    def next(self, judged: Sequence[Trial]) -> list[Task]:
        """Designs to be judged after *judged*, all of the finest level; none: all is settled."""
        known = {self._key(row.design) for row in judged} | self._given_up
        front = self._front(judged)
        for kind in ("trims", "free"):
            found: dict[str, Design] = {}
            for row, values in front:
                steps = {self._key(design): design for design in self._steps(row, kind)}
                new = [key for key in steps if key not in known and key not in found]
                found |= self._hopeful({key: steps[key] for key in new}, values)
            if found:
                chosen = list(found.items())[: self._left]
                self._left -= len(chosen)
                return [self.task(one) for _, one in chosen]
        return []

    def task(self, design: Design) -> Task:
        """*design* under its number: that of its proposal, or the next one that nobody has."""
        return Task(number=self._number(self._key(design)), design=design)

    def _front(self, judged: Sequence[Trial]) -> list[tuple[Trial, Floats]]:
        """Designs that no other beats, not even at a bargain, and their objectives."""
        rows = [row for row in judged if row.is_feasible]
        points = minimised(self._study, rows)
        best = np.flatnonzero(non_dominated(points))
        best = best[~beaten_at_a_bargain(points[best])]
        return [(rows[at], points[at]) for at in best.tolist()]

    def _steps(self, row: Trial, kind: str) -> Iterator[Design]:
        genome = self._space.genome(row.design)
        steps = () if genome is None else getattr(self._trims.of(genome), kind)
        return (self._space.design(step.genome) for step in steps)

    def _hopeful(self, designs: dict[str, Design], values: Floats) -> dict[str, Design]:
        """Designs of *designs* whose least objectives are a bargain for one with *values*."""
        least = least_objectives(self._study, [*designs.values()], closer=True)
        if least is None or not designs:
            return designs
        may_be = [
            not np.isfinite(own).all() or bool(beaten_at_a_bargain(values[None], own[None])[0])
            for own in least
        ]
        return {key: designs[key] for key, is_so in zip(designs, may_be, strict=True) if is_so}

    def _key(self, design: Design) -> str:
        return design_key(self._canonical(design))

    def _number(self, key: str) -> int:
        if key not in self._numbers:
            self._numbers[key] = self._next
            self._next += 1
        return self._numbers[key]

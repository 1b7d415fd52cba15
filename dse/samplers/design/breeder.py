"""Breeds designs: drawn uniformly, one move away from the front, or children of the best."""

from collections.abc import Callable, Collection
from operator import mul

import numpy as np
from numpy.random import Generator

from dse.samplers.design.columns.genomes import Flags, Genome, Genomes, Keys
from dse.samplers.design.columns.neighbourhood import Draft, Neighbourhood
from dse.samplers.design.columns.space import GenomeSpace
from dse.samplers.design.columns.sweeps import around, grafted, retuned
from dse.samplers.design.elite import Elite
from dse.samplers.design.screen import Screen
from dse.samplers.design.settings import Litter, Settings

IsKnown = Callable[[Keys], Flags]
"""True of the keys of designs that are known already."""

_ROUNDS = 4
"""Times that as many children as are wanted are bred: few are new where much is known."""

_SECONDS = 512
"""Second decisions that are tried for what the screen turns down."""


class Breeder:
    """Knows the moves of a space, and the screen that its designs have to pass.

    Attributes:
        near: What can be done to the knobs of the space.
        admits: The screen.
        largest: Knobs of the block with most rows.
    """

    def __init__(
        self,
        space: GenomeSpace,
        screen: Screen,
        settings: Settings,
        fold: Callable[[Genomes], Genomes] = lambda genomes: genomes,
    ) -> None:
        """*fold*: the way to the designs that stand for all with the same outcome."""
        self._space, self._settings, self._fold = space, settings, fold
        self.near, self.admits = Neighbourhood(space), screen
        sizes = [max(len(t) for t in span.block.tables.values()) for span in space.spans]
        self._largest = int(np.argmax(sizes)) if sizes else 0
        span = space.spans[self._largest] if sizes else None
        self.largest = slice(span.first, span.end) if span else slice(0)
        self._radix: list[int] = space.radix(self._largest).tolist() if span else []

    def drawn(self, number: int, rng: Generator) -> Genomes:
        """Designs that pass, of *number* uniform draws."""
        found = self.as_known_again(self._space.draw_many(number, rng)).distinct()
        return found.at(self.admits(found))

    def neighbours(self, elite: Elite, number: int, reach: int, rng: Generator) -> Genomes:
        """Designs that pass, one move away from one of the front.

        Args:
            elite: The best designs so far.
            number: Moves that are tried.
            reach: 0 for the front alone; beyond, that of ever more designs behind it.
            rng: Where all luck comes from.
        """
        parents = None if reach else elite.front()
        if parents is None:
            count = self._settings.parents
            parents = elite.parents(count, (count << 2 * reach) - count)
        chosen = parents.at(rng.integers(len(parents), size=number))
        moved = self.near.moved_ones(chosen, np.arange(number), rng)
        return self._repaired(moved, rng).distinct()

    def children(self, elite: Elite, litter: Litter, is_known: IsKnown, rng: Generator) -> Genomes:
        """New designs that pass.

        Args:
            elite: The best designs so far.
            litter: How many are wanted.
            is_known: Tells what is not new.
            rng: Where all luck comes from.
        """
        parents = elite.parents(self._settings.parents, litter.others)
        wanted = litter.children
        found = self._around(elite.front(), litter.swept, is_known, rng)
        wanted += len(found)
        for _ in range(_ROUNDS):
            if len(found) >= wanted:
                break
            bred = self._repaired(self._children(parents, wanted, rng), rng)
            found = _new(Genomes.joined([found, bred]).distinct(), is_known)
        return found.at(slice(wanted))

    def offspring(
        self, parents: Genomes, number: int, is_known: IsKnown, rng: Generator
    ) -> Genomes:
        """New designs that pass, of *number* children of *parents*."""
        return _new(self._repaired(self._children(parents, number, rng), rng).distinct(), is_known)

    def untried(
        self, parents: Genomes, number: int, tried: Collection[int], rng: Generator
    ) -> Genomes:
        """Designs that pass, with rows of the largest block that nobody has tried.

        Half of them are in other respects like one of *parents*, half are drawn uniformly. Only the
        best and the latest rows lead moves anywhere: a good one that differs from all these in
        several factors at once is found so.
        """
        half = number // 2
        drawn = self._space.draw_many(number - half, rng)
        chosen = Genomes.joined([parents.at(rng.integers(len(parents), size=half)), drawn])
        draft, own = Draft(chosen), self.largest
        draft.codes[:, own] = self._space.draw_blocks(self._largest, draft.dimensions, rng)
        found = self.as_known_again(self.near.finished(draft)[0])
        found = found.at(
            np.array([plan not in tried for plan in self.plans(found)], bool)
        ).distinct()
        return found.at(self.admits(found))

    def around(self, genomes: Genomes, is_known: IsKnown) -> Genomes:
        """New designs that pass, one decision away from *genomes*."""
        found = _new(self.as_known_again(around(self.near, genomes)).distinct(), is_known)
        return found.at(self.admits(found))

    def plans(self, genomes: Genomes) -> list[int]:
        """Numbers by which rows of the largest block are told apart."""
        if not self._space.spans:
            return [0] * len(genomes)
        codes = genomes.codes[:, self.largest].astype(np.int64)
        plans: list[int] = (codes @ self._space.radix(self._largest)).tolist()
        return plans

    def plan(self, genome: Genome) -> int:
        """``plans`` of one genome."""
        return sum(map(mul, genome.codes[self.largest], self._radix))

    def _children(self, parents: Genomes, number: int, rng: Generator) -> Genomes:
        return self.near.children(parents, number, self._settings.crossover, rng)

    def _around(
        self, front: Genomes | None, number: int, is_known: IsKnown, rng: Generator
    ) -> Genomes:
        """All that is new one decision away from designs of the front, or a block of another.

        What the screen turns down gets a second decision that makes up for it: a plan that does not
        fit in memory may do so with recompute.
        """
        if front is None or not number:
            return self._space.draw_many(0, rng)
        chosen = front.at(rng.permutation(len(front))[:number])
        swept = Genomes.joined([around(self.near, chosen), grafted(self.near, chosen, front)])
        swept = _new(self.as_known_again(swept).distinct(), is_known)
        passed = self.admits(swept)
        other = _new(
            self.as_known_again(retuned(self.near, swept.at(~passed))).distinct(), is_known
        )
        other = other.at(np.sort(rng.permutation(len(other))[:_SECONDS]))
        return Genomes.joined([swept.at(passed), other.at(self.admits(other))]).distinct()

    def _repaired(self, children: Genomes, rng: Generator) -> Genomes:
        """*children*, or what further moves make of them until the screen lets them pass."""
        children = self.as_known_again(children)
        passed = self.admits(children)
        for _ in range(self._settings.repairs):
            rest = np.flatnonzero(~passed)
            if not rest.size:
                break
            moved = self.near.moved_ones(children, rest, rng).at(rest)
            children = children.with_at(rest, self.as_known_again(moved))
            passed[rest] = self.admits(children.at(rest))
        return children.at(passed)

    def as_known_again(self, genomes: Genomes) -> Genomes:
        return self._space.settle(self._fold(genomes))


def _new(genomes: Genomes, is_known: IsKnown) -> Genomes:
    return genomes.at(~is_known(genomes.keys()))

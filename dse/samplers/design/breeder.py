"""Makes new designs: uniform draws, neighbours of the front, children of the best."""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate
from random import Random

from dse.samplers.design.elite import Elite
from dse.samplers.design.genome import Genome, GenomeSpace
from dse.samplers.design.moves import cross, moves_for
from dse.samplers.design.neighbourhood import Neighbourhood, pick
from dse.samplers.design.screen import Screen
from dse.samplers.design.settings import Settings
from dse.samplers.design.sweep import around, grafted, retuned

_DRAWS = 20_000
"""Uniform draws after which no new design is expected any more."""

_TRIES = 24
"""Moves away from the front after which no new neighbour is expected any more."""

Accept = Callable[[Genome], bool]
"""Whether a design may be asked for."""


class Breeder:
    """Knows the moves of a space, and the screen that its designs have to pass."""

    def __init__(self, space: GenomeSpace, screen: Screen, settings: Settings) -> None:
        self._space, self._settings = space, settings
        self._near = Neighbourhood(space)
        self._admits = screen.admits
        moves = moves_for(self._near)
        self._moves = [move for move, _ in moves]
        self._shares = list(accumulate(share for _, share in moves))

    def drawn(self, accept: Accept, random: Random) -> Genome | None:
        """A design drawn uniformly from those that pass."""
        for _ in range(_DRAWS):
            genome = self._space.settled(self._space.draw(random))
            if self._admits(genome) and accept(genome):
                return genome
        return None

    def neighbour(self, elite: Elite, accept: Accept, random: Random) -> Genome | None:
        """A design one move away from one of the front."""
        parents = elite.front() or elite.best(self._settings.parents)
        for _ in range(_TRIES):
            child = self._repaired(self._moved(pick(parents, random), random), random)
            if child is not None and accept(child):
                return child
        return None

    def children(self, elite: Elite, wanted: int, accept: Accept, random: Random) -> list[Genome]:
        """Designs around one of the front, and *wanted* ones a few moves away from the best."""
        parents = elite.parents(self._settings.parents)
        found = dict.fromkeys(self._around_one(elite.front(), accept, random))
        wanted += len(found)
        for _ in range(4 * wanted):  # few are new where much is known
            if len(found) >= wanted:
                break
            child, moves = pick(parents, random), 1
            if random.random() < self._settings.crossover:
                child, moves = cross(self._near, pick(parents, random), child, random), 0
            luck = random.random()
            for _ in range(moves + (luck < 0.5) + (luck < 0.25)):
                child = self._moved(child, random)
            passed = self._repaired(child, random)
            if passed is not None and passed not in found and accept(passed):
                found[passed] = None
        return list(found)

    def _around_one(self, front: list[Genome], accept: Accept, random: Random) -> Iterator[Genome]:
        """All that is new one decision away from a design of the front, or a block of another.

        What the screen turns down gets a second decision that makes up for it: a plan that does not
        fit in memory may do so with recompute.
        """
        if not front:
            return
        chosen = pick(front, random)
        for child in (*around(self._near, chosen), *grafted(self._near, chosen, front)):
            child = self._space.settled(child)
            if not accept(child):
                continue
            if self._admits(child):
                yield child
                continue
            for other in map(self._space.settled, retuned(self._near, child)):
                if accept(other) and self._admits(other):
                    yield other

    def _repaired(self, child: Genome, random: Random) -> Genome | None:
        """*child*, or what further moves make of it until the screen lets it pass."""
        for _ in range(self._settings.repairs):
            if self._admits(child):
                return self._space.settled(child)
            child = self._moved(child, random)
        return self._space.settled(child) if self._admits(child) else None

    def _moved(self, genome: Genome, random: Random) -> Genome:
        at = bisect_right(self._shares, random.random() * self._shares[-1])
        return self._moves[min(at, len(self._moves) - 1)](self._near, genome, random) or genome

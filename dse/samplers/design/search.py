"""A steady-state evolutionary search whose children are ranked by a model before they are tried.

Every design it asks for is valid, passes the screen, and is new. What is asked as number i depends
on the seed, on i and on the results told before, on nothing else.

Source: the ranking by a Gaussian process under random weights follows J. Knowles, "ParEGO: a hybrid
algorithm with on-line landscape approximation for expensive multiobjective optimization problems",
IEEE Transactions on Evolutionary Computation 10(1), 2006.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from random import Random

from dse.samplers.base import Prices
from dse.samplers.design.aims import Aims, EachByItself, TimeAlone
from dse.samplers.design.elite import Elite
from dse.samplers.design.genome import Genome, GenomeSpace
from dse.samplers.design.judge import Judge, Litter
from dse.samplers.design.moves import around, cross, grafted, moves_for, retuned
from dse.samplers.design.neighbourhood import Neighbourhood, pick
from dse.samplers.design.screen import Screen
from dse.samplers.design.settings import Settings
from dse.samplers.design.trims import Trims

_DRAWS = 20_000
"""Uniform draws after which no new design is expected any more."""

_TRIES = 24
"""Moves away from the front after which no new neighbour is expected any more."""

Accept = Callable[[Genome], bool]
"""Filter of designs to ask for."""


class Breeder:
    """Knows the moves of a space, and the screen that its designs have to pass.

    Attributes:
        near: What can be done to the knobs of the space.
        admits: The screen.
    """

    def __init__(self, space: GenomeSpace, screen: Screen, settings: Settings) -> None:
        self._space, self._settings = space, settings
        self.near, self.admits = Neighbourhood(space), screen
        moves = moves_for(self.near)
        self._moves = [move for move, _ in moves]
        self._shares = list(accumulate(share for _, share in moves))

    def drawn(self, accept: Accept, random: Random) -> Genome | None:
        """A design drawn uniformly from those that pass."""
        for _ in range(_DRAWS):
            genome = self._space.settled(self._space.draw(random))
            if self.admits(genome) and accept(genome):
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
                child, moves = cross(self.near, pick(parents, random), child, random), 0
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
        for child in (*around(self.near, chosen), *grafted(self.near, chosen, front)):
            child = self._space.settled(child)
            if not accept(child):
                continue
            if self.admits(child):
                yield child
                continue
            for other in map(self._space.settled, retuned(self.near, child)):
                if accept(other) and self.admits(other):
                    yield other

    def _repaired(self, child: Genome, random: Random) -> Genome | None:
        """*child*, or what further moves make of it until the screen lets it pass."""
        for _ in range(self._settings.repairs):
            if self.admits(child):
                return self._space.settled(child)
            child = self._moved(child, random)
        return self._space.settled(child) if self.admits(child) else None

    def _moved(self, genome: Genome, random: Random) -> Genome:
        at = bisect_right(self._shares, random.random() * self._shares[-1])
        return self._moves[min(at, len(self._moves) - 1)](self.near, genome, random) or genome


Outcome = tuple[Sequence[float] | None, float]
"""Objectives, all to be minimised, or None if there are none; and by how much limits are exceeded,
0 or less if feasible."""

_ENOUGH = 8
"""Feasible designs that the model needs at least."""


_DOUBTS = 12
"""Designs proven to be of no use after which one is asked for unproven: proofs take their time."""


class DesignSearch:
    """Proposes genomes of one space; see the module."""

    def __init__(
        self,
        space: GenomeSpace,
        *,
        seed: int,
        screen: Screen | None = None,
        prices: Prices | None = None,
        is_hopeful: Callable[[Genome], bool] | None = None,
        settings: Settings | None = None,
    ) -> None:
        self._space, self._seed = space, seed
        self._settings = settings or Settings()
        self._elite = Elite(self._settings.memory)
        admits = screen or _anything
        aims: Aims = EachByItself()
        if prices is not None:
            aims = timed = TimeAlone(space, prices)
            self._breeder = Breeder(
                space, lambda genome: admits(genome) and timed.is_priced(genome), self._settings
            )
        else:
            self._breeder = Breeder(space, admits, self._settings)
        amounts = timed.amounts if prices is not None else None
        self._trims = Trims(self._breeder.near, amounts, self._breeder.admits)
        self._judge = Judge(space, aims, seed)
        self._is_hopeful = is_hopeful or _anything
        self._litter: Litter | None = None
        self._known: set[Genome] = set()
        self._beaten: set[Genome] = set()
        self._queue: deque[Genome] = deque()
        self._asked = self._told = 0

    def enqueue(self, genome: Genome) -> None:
        """Ask for *genome* before anything else."""
        self._queue.append(genome)

    def ask(self) -> Genome | None:
        """A new design, or None if none was found."""
        genome = self._queue.popleft() if self._queue else self._chosen(self._asked, _anything)
        self._asked += 1
        if genome is not None:
            self._known.add(genome)
        return genome

    def trim(self, accept: Accept) -> Genome | None:
        """A new design that is one of the front with a step less, and that *accept* takes.

        None: nothing is left to trim. What waits to be asked for comes first.
        """
        return self._asked_for(self._trims.next, accept)

    def free_step(self, accept: Accept) -> Genome | None:
        """A new design one step from the front at no cost; None: all of them are known."""
        return self._asked_for(self._trims.next_free, accept)

    def _asked_for(self, find: Callable[[Accept], Genome | None], accept: Accept) -> Genome | None:
        def is_of_use(genome: Genome) -> bool:
            return self._is_new(genome) and accept(genome) and self._may_win(genome)

        genome = None if self._queue else find(is_of_use)
        if genome is not None:
            self._asked += 1
            self._known.add(genome)
        return genome

    def ask_instead(self, genome: Genome, accept: Accept) -> Genome | None:
        """A new design that *accept* takes, in place of *genome*, which was asked for last."""
        self._known.discard(genome)
        found = self._chosen(self._asked - 1, accept)
        self._known.add(genome if found is None else found)
        return found

    def tell(self, genome: Genome, values: Sequence[float] | None, violation: float) -> None:
        """The outcome of a design.

        Args:
            genome: As asked, or any other one of the space.
            values: Objectives, all to be minimised; None if it was not evaluated.
            violation: Sum of what exceeds the limits; 0 or less is feasible.
        """
        self._known.add(genome)
        self._note(genome, values, violation)
        if self._told % self._settings.lesson == 0 and len(self._elite):
            self._learn()
            self._breed()

    def recall(self, asked: Sequence[Genome], outcomes: Sequence[Outcome]) -> None:
        """Be as if all of *asked* had been asked for, and the first of them had been told.

        What happens then is what would have happened if as many designs had always been open as
        now: ``len(asked) - len(outcomes)``.
        """
        told, lesson = len(outcomes), self._settings.lesson
        last = told - told % lesson
        course = last - last % (lesson * self._settings.course)
        feasible: list[tuple[Genome, Sequence[float]]] = []
        for first in range(0, told, lesson):
            part = slice(first, first + lesson)
            for genome, (values, violation) in zip(asked[part], outcomes[part], strict=False):
                if values is not None:
                    self._elite.add(genome, values, violation)
                    if violation <= 0:
                        feasible.append((genome, values))
            self._told = min(part.stop, told)
            if self._told < course:
                self._elite.prune()
            elif self._told <= last and len(self._elite):
                self._learn()
            if self._told == last:
                self._known.update(asked[: last - 1 + len(asked) - told])
                self._breed()
        self._trims.recall(feasible)
        self._known.update(asked[max(last - 1, 0) :])
        self._asked = len(asked)
        for _ in range(min(len(self._queue), len(asked))):
            self._queue.popleft()

    def _note(self, genome: Genome, values: Sequence[float] | None, violation: float) -> None:
        self._told += 1
        if values is not None:
            self._elite.add(genome, values, violation)
            self._trims.learn(genome, values, violation)

    def _learn(self) -> None:
        self._elite.sort()
        number = self._told // self._settings.lesson
        if number % self._settings.course == 0:
            self._judge.forget()
        if self._settings.children and self._elite.feasible >= _ENOUGH:
            self._judge.learn(self._elite, self._told)

    def _breed(self) -> None:
        """Children for the designs that will be asked for until the next lesson."""
        if len(self._elite) < self._settings.initial:
            return
        if not self._settings.children:
            self._litter = Litter([], None, ())
            return
        random = Random((self._seed << 40 | self._told) + (2 << 80))
        wanted = self._settings.children * self._settings.lesson
        children = self._breeder.children(self._elite, wanted, self._is_new, random)
        self._litter = self._judge.litter(children)

    def _may_win(self, genome: Genome) -> bool:
        """True if nothing found so far is proven to beat *genome*; what is beaten stays beaten."""
        if genome not in self._beaten and not self._is_hopeful(genome):
            self._beaten.add(genome)
        return genome not in self._beaten

    def _is_new(self, genome: Genome) -> bool:
        return genome not in self._known

    def _chosen(self, number: int, accept: Accept) -> Genome | None:
        """The design to ask for as *number*."""
        random = Random(self._seed << 40 | number)
        settings = self._settings

        doubts = iter(range(_DOUBTS))

        def may_be(genome: Genome) -> bool:
            if genome in self._known or not accept(genome):
                return False
            return self._may_win(genome) or next(doubts, None) is None

        genome = None
        if self._litter is not None and random.random() >= settings.fresh:
            if random.random() >= settings.local:
                genome = self._litter.best(may_be, random)
            if genome is None:
                genome = self._breeder.neighbour(self._elite, may_be, random)
        return self._breeder.drawn(may_be, random) if genome is None else genome


def _anything(genome: Genome) -> bool:
    return True

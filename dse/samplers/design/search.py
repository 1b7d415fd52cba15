"""A steady-state evolutionary search whose children are ranked by a model before they are tried.

Every design it asks for is valid, passes the screen, and is new. What is asked as number i depends
on the seed, on i and on the results told before, on nothing else.

Source: the ranking by a Gaussian process under random weights follows J. Knowles, "ParEGO: a hybrid
algorithm with on-line landscape approximation for expensive multiobjective optimization problems",
IEEE Transactions on Evolutionary Computation 10(1), 2006.
"""

from collections import deque
from collections.abc import Callable, Sequence
from random import Random

from dse.samplers.base import Prices
from dse.samplers.design.aims import Aims, EachByItself, TimeAlone
from dse.samplers.design.breeder import Accept, Breeder
from dse.samplers.design.elite import Elite
from dse.samplers.design.genome import Genome, GenomeSpace
from dse.samplers.design.judge import Judge, Litter
from dse.samplers.design.screen import DesignScreen, Screen, Unscreened
from dse.samplers.design.settings import Settings

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
        screen = screen or Unscreened()
        aims: Aims = EachByItself()
        if prices is not None:
            aims = TimeAlone(space, prices)
            screen = DesignScreen(screen.admits, aims.is_priced)
        self._judge = Judge(space, aims, seed)
        self._breeder = Breeder(space, screen, self._settings)
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
        for first in range(0, told, lesson):
            part = slice(first, first + lesson)
            for genome, (values, violation) in zip(asked[part], outcomes[part], strict=False):
                if values is not None:
                    self._elite.add(genome, values, violation)
            self._told = min(part.stop, told)
            if self._told < course:
                self._elite.prune()
            elif self._told <= last and len(self._elite):
                self._learn()
            if self._told == last:
                self._known.update(asked[: last - 1 + len(asked) - told])
                self._breed()
        self._known.update(asked[max(last - 1, 0) :])
        self._asked = len(asked)
        for _ in range(min(len(self._queue), len(asked))):
            self._queue.popleft()

    def _note(self, genome: Genome, values: Sequence[float] | None, violation: float) -> None:
        self._told += 1
        if values is not None:
            self._elite.add(genome, values, violation)

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
        """Whether nothing found so far is proven to beat *genome*; what is beaten stays beaten."""
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

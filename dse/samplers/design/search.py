"""A steady-state evolutionary search whose children are ranked by a model before they are tried.

Every design it asks for is valid, passes the screen, and is new. What is asked as number i depends
on the seed, on i and on the results told before, on nothing else. Designs are bred in batches, one
for each lesson, and wait in pools until they are asked for.

Source: the ranking by a Gaussian process under random weights follows J. Knowles, "ParEGO: a hybrid
algorithm with on-line landscape approximation for expensive multiobjective optimization problems",
IEEE Transactions on Evolutionary Computation 10(1), 2006.
"""

from collections import deque
from collections.abc import Callable, Sequence
from random import Random

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dse.samplers.base import Prices
from dse.samplers.design.archive import Archive
from dse.samplers.design.bred import Bred
from dse.samplers.design.breeder import Breeder
from dse.samplers.design.columns.genomes import Flags, Floats, Genome, Genomes, Keys, keyed
from dse.samplers.design.columns.space import GenomeSpace
from dse.samplers.design.elite import Elite
from dse.samplers.design.model.aims import Aims, EachByItself, TimeAlone
from dse.samplers.design.model.judge import Judge
from dse.samplers.design.pool import Hopes, Weights, drawn_weights, scalarised
from dse.samplers.design.pools import Pools
from dse.samplers.design.screen import Screen, anything
from dse.samplers.design.settings import Litter, Settings
from dse.samplers.design.trims import Trims
from dse.samplers.design.whole import Whole, is_small

Accept = Callable[[Genome], bool]
"""Filter of designs to ask for."""

Outcome = tuple[Sequence[float] | None, float]
"""Objectives, all to be minimised, or None if there are none; and by how much limits are exceeded,
0 or less if feasible."""


class DesignSearch:
    """Proposes genomes of one space; see the module."""

    def __init__(  # noqa: PLR0913 - all that may be known beforehand
        self,
        space: GenomeSpace,
        *,
        seed: int,
        screen: Screen | None = None,
        prices: Prices | None = None,
        hopes: Hopes | None = None,
        fold: Callable[[Genomes], Genomes] = lambda genomes: genomes,
        settings: Settings | None = None,
        opened: Callable[[int], int] | None = None,
    ) -> None:
        """Begin.

        Args:
            space: What is searched.
            seed: The same seed and the same outcomes give the same designs.
            screen: What turns designs down beforehand; None: nothing.
            prices: What is exact about the designs; None: nothing is.
            hopes: Proofs that designs are beaten; None: there are none.
            fold: The way to the designs that stand for all with the same outcome.
            settings: None: the usual ones.
            opened: Designs that are under way after so many results; None: always as many.
        """
        self._space, self._seed, self._hopes = space, seed, hopes
        self._settings, self._opened = settings or Settings(), opened
        small = is_small(space) and self._settings.children > 0
        if small:
            self._settings = self._settings.for_small()
        self._elite = Elite(self._settings.memory)
        admits, amounts = screen or anything, None
        aims: Aims = EachByItself()
        if prices is not None:
            aims = timed = TimeAlone(space, prices)
            amounts = timed.amounts
            admits = _both(admits, timed.are_priced)
        self._aims = aims
        self._breeder = Breeder(space, admits, self._settings, fold)
        self._archive = Archive()
        self._trims = Trims(self._breeder.near, amounts, self._breeder.admits, self._outcome)
        self._judge = Judge(space, aims, seed, hopes, is_whole=small)
        self._whole = Whole(space, self._breeder, self._judge) if small else None
        self._beaten: set[int] = set()
        self._tried: set[int] = set()
        self._queue: deque[Genome] = deque()
        self._asked = self._told = self._lessons = 0
        self._next = self._settings.lesson
        self._objectives = 0
        self._pools = self._new_pools()

    def enqueue(self, genome: Genome) -> None:
        """Ask for *genome* before anything else."""
        self._queue.append(genome)

    def ask(self) -> Genome | None:
        """A new design, or None if none was found."""
        genome = self._queue.popleft() if self._queue else self._chosen(self._asked, _any)
        self._asked += 1
        if genome is not None:
            self._archive.add_one(genome.key)
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
            return genome.key not in self._archive and accept(genome) and self._may_win(genome)

        genome = None if self._queue else find(is_of_use)
        if genome is not None:
            self._asked += 1
            self._archive.add_one(genome.key)
        return genome

    def ask_instead(self, genome: Genome, accept: Accept) -> Genome | None:
        """A new design that *accept* takes, in place of *genome*, which was asked for last."""
        self._archive.forget(genome.key)
        found = self._chosen(self._asked - 1, accept)
        self._archive.add_one((genome if found is None else found).key)
        return found

    def tell(self, genome: Genome, values: Sequence[float] | None, violation: float) -> None:
        """The outcome of a design.

        Args:
            genome: As asked, or any other one of the space.
            values: Objectives, all to be minimised; None if it was not evaluated.
            violation: Sum of what exceeds the limits; 0 or less is feasible.
        """
        self._told += 1
        self._note(genome, values, violation)
        if values is not None and violation <= 0:
            self._trims.learn(genome, values)
        if self._told == self._next:
            self._begin_lesson()
            if len(self._elite):
                self._learn()
                self._breed()

    def hear(self, genome: Genome, values: Sequence[float] | None, violation: float) -> None:
        """The outcome of a design that another search has found: the next lesson is about it too.

        Arguments as of ``tell``, but it is no result of this search's own, by which lessons are
        counted.
        """
        self._note(genome, values, violation)

    def know(self, keys: Keys) -> None:
        """Ask for none of the designs with these *keys*, whatever became of them elsewhere."""
        self._archive.add(keys)

    def recall(self, asked: Sequence[Genome], outcomes: Sequence[Outcome]) -> None:
        """Be as if all of *asked* had been asked for, and the first of them had been told.

        What happens then is what would have happened if as many designs had always been open as
        now: ``len(asked) - len(outcomes)``, or as *opened* says.
        """
        told, keys = len(outcomes), keyed(asked)
        lessons = [self._settings.lesson]
        while lessons[-1] <= told:
            lessons.append(self._settings.next_lesson(lessons[-1]))
        last = len(lessons) - 1
        course = last - last % self._settings.course
        first = 0
        for number, end in enumerate([*lessons[:-1], told], 1):
            for at in range(first, end):
                self._note(asked[at], *outcomes[at])
            self._told = first = end
            if number > last:
                break
            self._begin_lesson()
            if number < course:
                self._elite.prune()
            elif len(self._elite):
                self._learn()
            if number == last and len(self._elite):
                opened = self._opened(end - 1) if self._opened else len(asked) - told
                self._archive.add(keys[: end - 1 + opened])
                self._breed()
        pairs = zip(asked, outcomes, strict=False)
        self._trims.recall(
            [(one, v) for one, (v, excess) in pairs if v is not None and excess <= 0]
        )
        self._archive.add(keys)
        self._asked = len(asked)
        for _ in range(min(len(self._queue), len(asked))):
            self._queue.popleft()

    def _note(self, genome: Genome, values: Sequence[float] | None, violation: float) -> None:
        key = genome.key
        self._archive.add_one(key)
        self._tried.add(self._breeder.plan(genome))
        if values is None:
            if violation > 0:
                self._judge.refuse(genome)
            return
        self._objectives = len(values)
        self._elite.add(genome, values, violation)
        if violation > 0:
            self._judge.exceed(genome, violation)
        else:
            self._archive.note(key, values)

    def _outcome(self, genome: Genome) -> Sequence[float] | None:
        return self._archive.values(genome.key)

    def _begin_lesson(self) -> None:
        self._lessons += 1
        self._next = self._settings.next_lesson(self._told)

    def _learn(self) -> None:
        self._elite.sort()
        if self._lessons % self._settings.course == 0:
            self._judge.forget()
        if self._settings.children:
            self._judge.learn(self._elite, self._told)

    def _breed(self) -> None:
        """Children for the designs that will be asked for until the next lesson."""
        initial = self._settings.initial
        if len(self._elite) < initial and self._told < initial:
            return
        results, bred, promise = self._next - self._told, None, None
        litter = self._settings.litter(results)
        self._judge.make_room(self._settings.new_plans(self._told, results))
        if litter is not None:
            bred = self._planned(results)
            if bred is None:
                own = self._bred(litter)
                bred, promise = own.genomes, own.promise
        self._pools = self._new_pools()
        self._pools.fill(self._elite, results, bred, promise)
        self._offer_untried()

    def _offer_untried(self) -> None:
        settings, rng = self._settings, self._generator(self._told, _UNTRIED)
        if not settings.untried or self._hopes is None:
            return
        number = settings.children * settings.lesson
        parents = self._elite.parents(settings.parents)
        found = self._breeder.untried(parents, number, self._tried, rng)
        self._judge.make_room(self._settings.new_plans(self._told, self._next - self._told))
        promise = self._judge.proven(found)
        if promise is not None:
            self._pools.offer(found, promise)

    def _bred(self, litter: Litter) -> Bred:
        """Children of the best, then of the most promising of these, and what all promise.

        Designs that differ in many decisions from all known ones are reached so, where the model
        sees a way: in every other lesson where no bounds lead it, for such ways gather a lesson's
        proposals in one place. Where limits are broken, what lies around the most promising that
        may break one is judged too: one step may break a limit that the next one keeps.
        """
        known, rng = self._archive.knows, self._generator(self._told, _CHILDREN)
        bred = Bred(self._judge, self._breeder.children(self._elite, litter, known, rng))
        goes_far = self._judge.is_led or self._lessons % 2
        for turn in range(1, self._settings.generations if goes_far else 1):
            promise = bred.promise
            if bred.bold is None or promise is None or not len(bred.genomes):
                break
            parents = bred.genomes.at(self._promising(promise, turn))
            found = self._breeder.offspring(parents, litter.children, known, rng)
            if bred.doubts is not None:
                chosen = bred.genomes.at(self._beyond(bred.bold, turn, litter.swept))
                found = Genomes.joined([found, self._breeder.around(chosen, known)]).distinct()
            bred.add(found)
        return bred

    def _planned(self, results: int) -> Genomes | None:
        """Designs to try next in a small space, all of which is looked at; None: breed.

        There are more than will be asked for, since some may turn out to be known.
        """
        if self._whole is None or self._lessons % self._settings.pause(self._told):
            return None
        return self._whole.plan(self._archive.knows, self._weights(_WHOLE, results + results // 4))

    def _promising(self, promise: Floats, turn: int) -> NDArray[np.int64]:
        """Numbers of designs that are the best by some weights of the objectives.

        Where no bounds lead the model it is too sure of the few that are the best by many weights:
        there, each of the weights chooses another design.
        """
        chosen = np.zeros(len(promise), bool)
        for weights in self._weights(turn, self._settings.parents):
            values = scalarised(promise.T, weights)
            if not self._judge.is_led:
                values[chosen] = np.inf
            chosen[values.argmin()] = True
        return np.flatnonzero(chosen)

    def _beyond(self, bold: Floats, turn: int, count: int) -> NDArray[np.int64]:
        """Numbers of the best designs by *count* weights, if no limit counted."""
        draws = self._weights(turn, count)
        each = [np.argsort(scalarised(bold.T, weights), kind="stable") for weights in draws]
        return np.unique(np.concatenate([order[:_BEYOND] for order in each]))

    def _weights(self, turn: int, count: int) -> list[Weights]:
        """Weights of the objectives for one use in a lesson."""
        random = Random((self._seed << 40 | self._told) + (turn << 80))
        ends = self._aims.searched(self._objectives)
        return [drawn_weights(self._objectives, ends, random) for _ in range(count)]

    def _new_pools(self) -> Pools:
        return Pools(
            self._breeder,
            self._settings,
            archive=self._archive,
            hopes=self._hopes,
            since=self._told,
            generator=self._generator,
        )

    def _generator(self, told: int, kind: int, number: int = 0) -> Generator:
        """The source of luck of one kind in the lesson that began at *told* results."""
        return np.random.default_rng([self._seed, told, kind, number])

    def _may_win(self, genome: Genome) -> bool:
        """True if nothing found so far is proven to beat *genome*; what is beaten stays beaten."""
        key = genome.key
        if self._hopes is not None and key not in self._beaten:
            least = self._hopes.of(Genomes.of([genome]), self._told)
            if not self._hopes.are_left(least)[0]:
                self._beaten.add(key)
        return key not in self._beaten

    def _chosen(self, number: int, accept: Accept) -> Genome | None:
        """The design to ask for as *number*."""
        random = Random(self._seed << 40 | number)
        settings = self._settings
        kinds: tuple[str, ...] = ("fresh",)
        weights: Floats | None = None
        if self._pools.is_filled:
            is_fresh = random.random() < settings.drawn(self._told)
            is_local = random.random() < settings.local
            kinds = ("bred", "near", "fresh")
            if is_fresh or is_local:
                kinds = ("fresh", "near", "bred") if is_fresh else ("near", "bred", "fresh")
            elif random.random() < settings.sought(self._told):
                kinds = ("untried", *kinds)
            weights = drawn_weights(self._objectives, self._aims.searched(self._objectives), random)
        return self._pools.best(kinds, accept, weights)


_BEYOND = 4
"""Designs by each of some weights that are looked around though they may break a limit."""

_WHOLE = 1 << 10
"""Use of weights that plans are made with, beside the turns of generations."""

_CHILDREN, _UNTRIED = 1, 4
"""Kinds of luck that children and untried plans are bred with; those of pools lie between."""


def _any(genome: Genome) -> bool:
    return True


def _both(first: Screen, second: Screen) -> Screen:
    def admits(genomes: Genomes) -> Flags:
        result = first(genomes)
        result[result] = second(genomes.at(result))
        return result

    return admits

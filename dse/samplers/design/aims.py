"""Quantities that a model guesses of designs, and the way from guesses to objectives."""

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dse.samplers.base import Prices
from dse.samplers.design.genome import Genome, GenomeSpace
from dse.space import Design

Floats = NDArray[np.float64]


class Aims(Protocol):
    """The way from objectives to what is guessed, and back."""

    def targets(self, genomes: list[Genome], values: Floats) -> Floats:
        """Targets for designs with *values*, (N, objectives): (N, K) float64."""

    def values(self, genomes: list[Genome], guesses: Floats) -> Floats:
        """Objectives, (N, objectives), of designs with *guesses*, (N, K)."""

    def searched(self, objectives: int) -> Sequence[int]:
        """Numbers of the objectives whose best value has to be found."""


class EachByItself:
    """Every objective is guessed."""

    def targets(self, genomes: list[Genome], values: Floats) -> Floats:
        return values

    def values(self, genomes: list[Genome], guesses: Floats) -> Floats:
        return guesses

    def searched(self, objectives: int) -> Sequence[int]:
        return range(objectives)


class TimeAlone:
    """The time is guessed, and the prices are exact; all on a logarithmic scale."""

    def __init__(self, space: GenomeSpace, prices: Prices) -> None:
        self._powers = np.array(prices.powers, np.float64)
        self._timed: list[int] = np.flatnonzero(self._powers).tolist()
        self._amounts = Answers(space, prices.amounts, prices.deciding)

    def is_priced(self, genome: Genome) -> bool:
        """True if the design has a price, and keeps all limits on it."""
        return self._amounts.of(genome) is not None

    def targets(self, genomes: list[Genome], values: Floats) -> Floats:
        at = self._timed[0]
        return np.asarray((values - self._logs(genomes))[:, [at]] / self._powers[at])

    def values(self, genomes: list[Genome], guesses: Floats) -> Floats:
        return np.asarray(self._logs(genomes) + self._powers * guesses)

    def searched(self, objectives: int) -> Sequence[int]:
        return self._timed

    def _logs(self, genomes: list[Genome]) -> Floats:
        found = [self._amounts.of(genome) for genome in genomes]
        amounts = np.array([own for own in found if own is not None], np.float64)
        return np.asarray(np.log(amounts))


Answer = TypeVar("Answer")


class Screen(Protocol):
    """Knows designs that need no simulation, since they can be of no use."""

    def admits(self, genome: Genome) -> bool:
        """True if the design may be feasible and may be worth simulating.

        Must be sound: a design is turned down only if it is proven to break a rule, or to be
        dominated. Called for many more designs than are simulated, so it must be quick.
        """


class Unscreened:
    """Admits every design."""

    def admits(self, genome: Genome) -> bool:
        """Yes."""
        return True


class Answers(Generic[Answer]):
    """Asks about designs, and remembers the answers to what decides them."""

    def __init__(
        self, space: GenomeSpace, ask: Callable[[Design], Answer], deciding: frozenset[str]
    ) -> None:
        """*deciding*: names of the knobs that *ask* looks at; a range among them is not kept."""
        self._space, self._ask = space, ask
        self._at = [at for at, knob in enumerate(space.knobs) if knob.name in deciding]
        self._is_kept = not any(knob.name in deciding for knob in space.reals)
        self._known: dict[tuple[int, ...], Answer] = {}

    def of(self, genome: Genome) -> Answer:
        """The answer for a design."""
        if not self._is_kept:
            return self._ask(self._space.design(genome))
        codes = genome.codes
        key = (genome.dimensions, *[codes[at] for at in self._at])
        if key not in self._known:
            self._known[key] = self._ask(self._space.design(genome))
        return self._known[key]


class DesignScreen:
    """Admits the designs for which all of some questions are answered with yes."""

    def __init__(self, *questions: Callable[[Genome], bool]) -> None:
        self._questions = questions

    def admits(self, genome: Genome) -> bool:
        """The answer for a design."""
        return all(ask(genome) for ask in self._questions)

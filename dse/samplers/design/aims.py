"""Quantities that a model guesses of designs, and the way from guesses to objectives."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dse.samplers.base import Prices
from dse.samplers.design.genome import Genome, GenomeSpace
from dse.samplers.design.screen import Answers

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

    def amounts(self, genome: Genome) -> tuple[float, ...] | None:
        """Objectives with an iteration of one second; None where the machine cannot be built."""
        return self._amounts.of(genome)

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

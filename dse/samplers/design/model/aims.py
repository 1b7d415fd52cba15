"""Quantities that a model guesses of designs, and the way from guesses to objectives."""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from dse.samplers.base import Prices
from dse.samplers.design.columns.genomes import Flags, Floats, Genomes
from dse.samplers.design.columns.space import GenomeSpace
from dse.samplers.design.screen import Answers, AnswerTable


class Aims(Protocol):
    """The way from objectives to what is guessed, and back."""

    def targets(self, genomes: Genomes, values: Floats) -> Floats:
        """Targets for designs with *values*, (N, objectives): (N, K) float64."""

    def values(self, genomes: Genomes, guesses: Floats) -> Floats:
        """Objectives, (N, objectives), of designs with *guesses*, (N, K)."""

    def searched(self, objectives: int) -> Sequence[int]:
        """Numbers of the objectives whose best value has to be found."""


class EachByItself:
    """Every objective is guessed."""

    def targets(self, genomes: Genomes, values: Floats) -> Floats:
        return values

    def values(self, genomes: Genomes, guesses: Floats) -> Floats:
        return guesses

    def searched(self, objectives: int) -> Sequence[int]:
        return range(objectives)


class TimeAlone:
    """The time is guessed, and the prices are exact; all on a logarithmic scale."""

    def __init__(self, space: GenomeSpace, prices: Prices) -> None:
        self._powers = np.array(prices.powers, np.float64)
        self._timed: list[int] = np.flatnonzero(self._powers).tolist()
        self._amounts = Answers(space, prices.amounts, prices.deciding)
        self._table = AnswerTable(self._amounts, _logarithms(len(self._powers)))

    def are_priced(self, genomes: Genomes) -> Flags:
        """True where a design has a price, and keeps all limits on it."""
        return np.asarray(~np.isnan(self._logs(genomes)).any(axis=1))

    def amounts(self, genomes: Genomes) -> list[tuple[float, ...] | None]:
        """Objectives with an iteration of one second; None where a machine cannot be built."""
        return self._amounts.of(genomes)

    def targets(self, genomes: Genomes, values: Floats) -> Floats:
        at = self._timed[0]
        return np.asarray((values - self._logs(genomes))[:, [at]] / self._powers[at])

    def values(self, genomes: Genomes, guesses: Floats) -> Floats:
        return np.asarray(self._logs(genomes) + self._powers * guesses)

    def searched(self, objectives: int) -> Sequence[int]:
        return self._timed

    def _logs(self, genomes: Genomes) -> Floats:
        """(N, objectives) logarithms of the amounts; no number where a machine cannot be built."""
        return np.asarray(self._table.of(genomes))


def _logarithms(
    objectives: int,
) -> Callable[[Sequence[tuple[float, ...] | None]], Floats]:
    """Rows of the logarithms of amounts; no numbers where there are none."""
    none = (np.nan,) * objectives

    def rows(amounts: Sequence[tuple[float, ...] | None]) -> Floats:
        given = [none if one is None else one for one in amounts]
        return np.asarray(np.log(np.array(given, np.float64).reshape(-1, objectives)))

    return rows

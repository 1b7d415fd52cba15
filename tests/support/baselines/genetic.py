"""Genetic algorithms: the one that COSMIC ran, and a stronger one.

Source: COSMIC (arXiv 2505.15020) sweeps populations of 32 and 64 with mutation rates of 0.01 and
0.05 of the algorithm ``GA`` in scikit-opt 0.6.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from baselines.agents import Agent, Codes

_RIVALS = 3

Chromosomes = NDArray[np.int8]


class GeneticAlgorithm(Agent):
    """Algorithm of scikit-opt: Gray code, tournaments, two-point crossover, no elite.

    A knob has the bits that its choices need, and numbers above its last choice stand for the last.
    Every generation replaces the one before.
    """

    def __init__(
        self, sizes: Sequence[int], seed: int, *, population: int = 32, mutation: float = 0.05
    ) -> None:
        """*population* is even; *mutation* is the chance of each bit to be flipped."""
        super().__init__(sizes, seed)
        self._mutation, self._draws = mutation, np.random.default_rng(seed)
        self._bits = [(size - 1).bit_length() for size in sizes]
        shape = population, sum(self._bits)
        self._chromosomes: Chromosomes = self._draws.integers(0, 2, shape, np.int8)
        self._rewards: list[float] = []

    def ask(self) -> Codes:
        chromosome, codes = self._chromosomes[len(self._rewards)].tolist(), []
        for bits, size in zip(self._bits, self.sizes, strict=True):
            number = bit = 0
            for digit in chromosome[:bits]:
                bit ^= digit
                number = 2 * number + bit
            codes.append(min(number, size - 1))
            del chromosome[:bits]
        return codes

    def tell(self, codes: Codes, reward: float) -> None:
        self._rewards.append(reward)
        if len(self._rewards) == len(self._chromosomes):
            self._breed(np.array(self._rewards))
            self._rewards = []

    def _breed(self, rewards: NDArray[np.float64]) -> None:
        population, length = self._chromosomes.shape
        rivals = self._draws.integers(population, size=(population, _RIVALS))
        winners = rivals[np.arange(population), rewards[rivals].argmax(axis=1)]
        one, two = self._chromosomes[winners].reshape(2, population // 2, length)
        cuts = np.sort(self._draws.integers(length, size=(population // 2, 2)), axis=1)
        places = np.arange(length)
        is_between = (cuts[:, :1] <= places) & (places < cuts[:, 1:])
        exchanged = (one ^ two) & is_between.astype(np.int8)
        children: Chromosomes = np.concatenate((one ^ exchanged, two ^ exchanged))
        is_flipped = self._draws.random(children.shape) < self._mutation
        self._chromosomes = children ^ is_flipped.astype(np.int8)


class ElitistGenetic(Agent):
    """Stronger than what COSMIC ran: the better half of all so far stays and breeds.

    One-point crossover between knobs; a knob mutates to any of its choices.
    """

    def __init__(
        self, sizes: Sequence[int], seed: int, *, population: int = 32, mutation: float = 0.05
    ) -> None:
        """*mutation* is the chance of each knob to be drawn anew."""
        super().__init__(sizes, seed)
        self._population, self._mutation = population, mutation
        self._waiting = [self.drawn() for _ in range(population)]
        self._scored: list[tuple[float, Codes]] = []

    def ask(self) -> Codes:
        if not self._waiting:
            self._breed()
        return self._waiting.pop()

    def tell(self, codes: Codes, reward: float) -> None:
        self._scored.append((reward, codes))

    def _breed(self) -> None:
        best = sorted(self._scored, key=lambda pair: -pair[0])[: self._population // 2]
        self._scored = best  # the better half stays, and is not proposed again
        parents = [codes for _, codes in best]
        while len(self._waiting) < self._population - len(best):
            one, two = self.random.sample(parents, 2)
            cut = self.random.randrange(len(self.sizes))
            child = one[:cut] + two[cut:]
            for at, size in enumerate(self.sizes):
                if self.random.random() < self._mutation:
                    child[at] = self.random.randrange(size)
            self._waiting.append(child)

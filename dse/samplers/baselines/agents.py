"""The agents of COSMIC's public experiments, with their rejection of what breaks a rule.

A rejected proposal counts as a step and earns nothing, and so does a repeated one.

Source: COSMIC (arXiv 2505.15020), agents of ArchGym (S. Krishnan et al., ISCA 2023); settings
swept there: populations of 32 and 64 with mutation rates of 0.01 and 0.05; 8 and 16 ants with
greediness and evaporation of 0.25, 0.5 and 0.75 and a decay of 0.1.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from random import Random

Codes = list[int]


class Agent(ABC):
    """Proposes combinations of choices, and is told a reward each: more is better, 0 rejected."""

    def __init__(self, sizes: Sequence[int], seed: int) -> None:
        self.sizes, self.random = list(sizes), Random(seed)

    @abstractmethod
    def ask(self) -> Codes:
        """The next combination."""

    @abstractmethod
    def tell(self, codes: Codes, reward: float) -> None:
        """What the last combination earned."""

    def drawn(self) -> Codes:
        """A combination drawn uniformly."""
        return [self.random.randrange(size) for size in self.sizes]


class RandomWalk(Agent):
    """Draws uniformly."""

    def ask(self) -> Codes:
        return self.drawn()

    def tell(self, codes: Codes, reward: float) -> None:
        """Nothing to learn."""


class GeneticAlgorithm(Agent):
    """Generations: parents by rank, one-point crossover, mutation per knob."""

    def __init__(
        self, sizes: Sequence[int], seed: int, *, population: int = 32, mutation: float = 0.05
    ) -> None:
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


class AntColony(Agent):
    """Choices by pheromone: greedily, or in proportion; the best walk lays it again each time."""

    def __init__(
        self,
        sizes: Sequence[int],
        seed: int,
        *,
        ants: int = 16,
        greediness: float = 0.5,
        evaporation: float = 0.25,
    ) -> None:
        super().__init__(sizes, seed)
        self._ants, self._greediness, self._evaporation = ants, greediness, evaporation
        self._trails = [[1.0] * size for size in sizes]
        self._walked: list[tuple[float, Codes]] = []
        self._best: tuple[float, Codes] = (0.0, [])

    def ask(self) -> Codes:
        greedy = self._greediness
        return [
            trail.index(max(trail))
            if self.random.random() < greedy and max(trail) > min(trail)
            else self.random.choices(range(len(trail)), trail)[0]
            for trail in self._trails
        ]

    def tell(self, codes: Codes, reward: float) -> None:
        self._walked.append((reward, codes))
        if reward > self._best[0]:
            self._best = (reward, codes)
        if len(self._walked) < self._ants:
            return
        keep = 1.0 - self._evaporation
        self._trails = [[max(keep * amount, 0.1) for amount in trail] for trail in self._trails]
        most, best = self._best
        for earned, walked in [*self._walked, (most * self._ants, best)] if best else []:
            for trail, code in zip(self._trails, walked, strict=True):
                trail[code] += earned / most / self._ants
        self._walked = []

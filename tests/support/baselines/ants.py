"""Ant colonies: the one that COSMIC ran, and one whose trails lead to what is good.

Source: COSMIC (arXiv 2505.15020) sweeps 8 and 16 ants with greediness and evaporation of 0.25, 0.5
and 0.75 and a decay of 0.1, of the colony of DeepSwarm (E. Byla and W. Pang, arXiv 1905.07350).
"""

from collections.abc import Sequence
from math import inf
from typing import ClassVar

from baselines.agents import Agent, Codes

_DECAY = 0.1
_LEAST = 0.1


class _Colony(Agent):
    """Ants that choose by the pheromone on the choices of each knob, and then lay some."""

    start: ClassVar[float]
    """Pheromone on every choice before the first walk."""

    def __init__(
        self,
        sizes: Sequence[int],
        seed: int,
        *,
        ants: int = 16,
        greediness: float = 0.5,
        evaporation: float = 0.25,
    ) -> None:
        """*ants* walk before the best lays; *greediness*: chance to take where there is most."""
        super().__init__(sizes, seed)
        self._ants, self._greediness, self._evaporation = ants, greediness, evaporation
        self._trails = [[self.start] * size for size in sizes]
        self._walked: list[tuple[float, Codes]] = []
        self._best: tuple[float, Codes] | None = None


class AntColony(_Colony):
    """COSMIC's ant colony, where a better design lays pheromone that is less *below* zero.

    Every ant pulls the pheromone of its choices towards the start; after all ants the best walk so
    far pulls that of its choices towards a tenth of the inverse of its loss. The loss there is the
    negative reward. So the greedy step takes any choice but the best walk's, and the draw in
    proportion, whose shares are quotients of negative numbers, nearly always that one: the colony
    changes each knob of the best design with about the chance of its greediness.
    """

    start = 0.1

    def ask(self) -> Codes:
        if self._best is None:
            return self.drawn()
        return [self._choice(trail) for trail in self._trails]

    def tell(self, codes: Codes, reward: float) -> None:
        walk = (-reward if reward else inf, codes)
        if self._best is None:
            self._best = walk
            return
        self._pull(codes, _DECAY, self.start)
        self._walked.append(walk)
        if len(self._walked) < self._ants:
            return
        self._best = min(*self._walked, self._best, key=lambda walk: walk[0])
        loss, best = self._best
        self._pull(best, self._evaporation, 0.1 / loss)
        self._walked = []

    def _choice(self, trail: list[float]) -> int:
        if self.random.random() <= self._greediness:
            most = max(trail)
            return self.random.choice([at for at, amount in enumerate(trail) if amount == most])
        total, threshold, reached = sum(trail) or 1.0, self.random.random(), 0.0
        for code, amount in enumerate(trail):
            reached += amount / total
            if reached > threshold:
                return code
        return len(trail) - 1

    def _pull(self, codes: Codes, share: float, target: float) -> None:
        for trail, code in zip(self._trails, codes, strict=True):
            trail[code] += share * (target - trail[code])


class ElitistAntColony(_Colony):
    """Stronger than what COSMIC ran: every walk lays in proportion to its reward, the best most."""

    start = 1.0

    def ask(self) -> Codes:
        return [
            trail.index(max(trail))
            if self.random.random() < self._greediness and max(trail) > min(trail)
            else self.random.choices(range(len(trail)), trail)[0]
            for trail in self._trails
        ]

    def tell(self, codes: Codes, reward: float) -> None:
        self._walked.append((reward, codes))
        if reward > (self._best[0] if self._best else 0.0):
            self._best = (reward, codes)
        if len(self._walked) == self._ants:
            self._lay()
            self._walked = []

    def _lay(self) -> None:
        keep = 1.0 - self._evaporation
        self._trails = [[max(keep * amount, _LEAST) for amount in trail] for trail in self._trails]
        if self._best is None:
            return
        most, best = self._best
        for earned, walked in [*self._walked, (most * self._ants, best)]:
            for trail, code in zip(self._trails, walked, strict=True):
                trail[code] += earned / most / self._ants

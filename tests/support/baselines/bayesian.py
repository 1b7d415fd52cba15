"""The Bayesian agent of COSMIC's public experiments, with their rejection of what breaks a rule.

Source: COSMIC (arXiv 2505.15020), which sweeps nothing of it but the seed, 1 to 4; expected
improvement: D. Jones, M. Schonlau, W. Welch, "Efficient Global Optimization of Expensive Black-Box
Functions", Journal of Global Optimization 13, 1998. COSMIC runs ``BayesSearchCV`` of
scikit-optimize 0.10, which is told -1e15 for what is rejected, beside which all that is feasible
looks alike; here it is told 0. Also chosen here: 16 uniform draws first, 256 candidates per
proposal, knobs by the place of their choice, a model of the best and the latest 256 proposals.
"""

import math
from collections.abc import Sequence
from random import Random

import numpy as np
from numpy.typing import NDArray

from baselines.agents import Agent, Codes
from dse.samplers.design.model.surrogate import GaussianProcess

_INITIAL, _CANDIDATES, _MEMORY, _LESSON, _TRIES = 16, 256, 256, 16, 3


class Bayesian(Agent):
    """Proposes the one of some uniform draws from which a Gaussian process expects most."""

    def __init__(self, sizes: Sequence[int], seed: int) -> None:
        super().__init__(sizes, seed)
        self._scored: list[tuple[float, Codes]] = []
        self._best = 0.0
        self._model: GaussianProcess | None = None

    def ask(self) -> Codes:
        if self._model is None:
            return self.drawn()
        candidates = [self.drawn() for _ in range(_CANDIDATES)]
        mean, deviation = self._model.guess(self._points(candidates))
        above = (mean - self._best) / deviation
        chance = np.array([0.5 * math.erfc(-value / math.sqrt(2.0)) for value in above])
        density = np.exp(-0.5 * above**2) / math.sqrt(2.0 * math.pi)
        expected = deviation * (above * chance + density)
        return candidates[int(np.argmax(expected))]

    def tell(self, codes: Codes, reward: float) -> None:
        self._scored.append((reward, codes))
        self._best = max(self._best, reward)
        if len(self._scored) >= _INITIAL and len(self._scored) % _LESSON == 0:
            self._learn()

    def _learn(self) -> None:
        latest = self._scored[-_MEMORY // 2 :]
        best = sorted(self._scored[: -len(latest)], key=lambda pair: -pair[0])[: _MEMORY // 2]
        rewards = np.array([reward for reward, _ in best + latest])
        points = self._points([codes for _, codes in best + latest])
        random = Random(self.random.getrandbits(32))
        self._model = self._model or GaussianProcess(np.arange(len(self.sizes)))
        self._model.learn_scales(points[-64:], rewards[-64:], _TRIES, random)
        self._model.fit(points, rewards)

    def _points(self, rows: Sequence[Codes]) -> NDArray[np.float64]:
        return np.array(rows, np.float64) / np.maximum(np.array(self.sizes) - 1.0, 1.0)

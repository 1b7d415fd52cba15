"""Says which of some designs are the most promising, by a model of each objective."""

from random import Random

import numpy as np
from numpy.typing import NDArray

from dse.samplers.design.elite import Elite
from dse.samplers.design.features import Features
from dse.samplers.design.genome import Genome, GenomeSpace
from dse.samplers.design.surrogate import GaussianProcess

Floats = NDArray[np.float64]

_OPTIMISM = 1.0
"""Standard deviations by which the model's guesses are lowered."""

_SUM_WEIGHT = 0.05
"""Weight of the sum beside the maximum in the scalarised value (augmented Chebyshev)."""

_SAMPLE = 64
"""Designs from which length scales are learned."""

_TRIES = 5
"""Steps of the length scales tried each time; five times as many the first time."""


class Judge:
    """Learns from the best designs so far.

    Attributes:
        is_ready: Whether it has learned at all.
    """

    def __init__(self, space: GenomeSpace, seed: int) -> None:
        self._features = Features(space)
        self._seed = seed
        self._models: list[GaussianProcess] = []

    @property
    def is_ready(self) -> bool:
        return bool(self._models)

    def learn(self, elite: Elite, told: int) -> None:
        """Fit the models to the feasible designs of *elite*; *told* numbers the occasion."""
        random = Random((self._seed << 40 | told) + (1 << 80))
        genomes, values, front = elite.lesson()
        self._low = values[:front].min(axis=0)
        self._span = np.maximum(values[: max(3, front)].max(axis=0) - self._low, 1e-9)
        points = self._features.of(genomes)
        tries = _TRIES
        if not self._models:
            tries *= 5
            self._models = [GaussianProcess(self._features.owner) for _ in values.T]
        some = sorted(random.sample(range(len(points)), min(_SAMPLE, len(points))))
        for model, column in zip(self._models, values.T, strict=True):
            model.learn_scales(points[some], column[some], tries, random)
            model.fit(points, column)

    def draw_weights(self, random: Random) -> Floats:
        """(M,) float64: what each objective counts, drawn uniformly; they add up to 1."""
        weights = np.array([random.expovariate(1.0) for _ in self._models])
        return np.asarray(weights / weights.sum())

    def best(self, genomes: list[Genome], weights: Floats) -> Genome:
        """The design that promises most under *weights*."""
        points = self._features.of(genomes)
        hoped = np.empty((len(genomes), len(self._models)))
        for column, model in enumerate(self._models):
            mean, deviation = model.guess(points)
            hoped[:, column] = mean - _OPTIMISM * deviation
        weighted = (hoped - self._low) / self._span * weights
        promise = weighted.max(axis=1) + _SUM_WEIGHT * weighted.sum(axis=1)
        return genomes[int(np.argmin(np.round(promise, 9)))]

"""Finds the most promising of some designs, by a model of each objective."""

from collections.abc import Callable, Sequence
from random import Random

import numpy as np
from numpy.typing import NDArray

from dse.samplers.design.aims import Aims
from dse.samplers.design.elite import Elite
from dse.samplers.design.genome import Genome, GenomeSpace
from dse.samplers.design.neighbourhood import pick
from dse.samplers.design.surrogate import GaussianProcess

Floats = NDArray[np.float64]

_OPTIMISM = 1.0
"""Standard deviations by which the model's guesses are lowered."""

_SUM_WEIGHT = 0.05
"""Weight of the sum beside the maximum in the scalarised value (augmented Chebyshev)."""

_CORNERS = 0.4
"""Share of designs chosen for one objective that has to be found: no other meets that end."""

_EXACT_CORNERS = 0.1
"""Share of those chosen for one objective that is exact: the least is known, not what goes with it.

The fastest machine among those of the least power is as much an end of the front as any other.
"""

_TRIFLE = 1e-3
"""Weight of the other objectives at an end: it chooses among equals."""

_SAMPLE = 64
"""Designs from which length scales are learned."""

_TRIES = 5
"""Steps of the length scales tried each time; five times as many the first time."""


class Judge:
    """Learns from the best designs so far."""

    def __init__(self, space: GenomeSpace, aims: Aims, seed: int) -> None:
        self._features, self._aims = Features(space), aims
        self._seed = seed
        self._models: list[GaussianProcess] = []

    def learn(self, elite: Elite, told: int) -> None:
        """Fit the models to the feasible designs of *elite*; *told* numbers the occasion."""
        random = Random((self._seed << 40 | told) + (1 << 80))
        genomes, values, front = elite.lesson()
        self._low = values[:front].min(axis=0)
        self._span = np.maximum(values[: max(3, front)].max(axis=0) - self._low, 1e-9)
        points = self._features.of(genomes)
        targets = self._aims.targets(genomes, values)
        tries = _TRIES
        if not self._models:
            tries *= 5
            self._models = [GaussianProcess(self._features.owner) for _ in targets.T]
        some = sorted(random.sample(range(len(points)), min(_SAMPLE, len(points))))
        for model, column in zip(self._models, targets.T, strict=True):
            model.learn_scales(points[some], column[some], tries, random)
            model.fit(points, column)

    def forget(self) -> None:
        """Begin again with the next lesson, so that what came long ago decides nothing."""
        self._models = []

    def litter(self, children: list[Genome]) -> "Litter":
        """The children with what the models hope of them."""
        if not self._models or not children:
            return Litter(children, None, ())
        points = self._features.of(children)
        guessed = [model.guess(points) for model in self._models]
        hoped = np.stack([mean - _OPTIMISM * deviation for mean, deviation in guessed], axis=1)
        hopes = (self._aims.values(children, hoped) - self._low) / self._span
        return Litter(children, hopes, self._aims.searched(hopes.shape[1]))


class Litter:
    """Designs that wait to be asked for."""

    def __init__(self, children: list[Genome], hopes: Floats | None, ends: Sequence[int]) -> None:
        """Promising designs.

        Args:
            children: The designs.
            hopes: (N, M), of each objective, 0 where the front begins and 1 where it ends; None:
                nothing is known.
            ends: Objectives whose best value has to be found; the others are exact.
        """
        self._children, self._hopes, self._ends = children, hopes, ends
        every = range(0 if hopes is None else hopes.shape[1])
        self._exact = [objective for objective in every if objective not in ends]

    def best(self, accept: Callable[[Genome], bool], random: Random) -> Genome | None:
        """The most promising design that *accept* takes, under objectives weighed at random."""
        order = range(len(self._children))
        if self._hopes is not None:
            weighted = self._hopes * self._weights(random)
            promise = weighted.max(axis=1) + _SUM_WEIGHT * weighted.sum(axis=1)
            order = np.argsort(np.round(promise, 9), kind="stable").tolist()
        found = (self._children[at] for at in order)
        return next(filter(accept, found), None)

    def _weights(self, random: Random) -> Floats:
        """(M,) float64: what each objective counts; all of it one, or drawn uniformly."""
        assert self._hopes is not None
        objectives = self._hopes.shape[1]
        luck = random.random()
        ends = self._ends if luck < _CORNERS else self._exact
        if ends and luck < _CORNERS + _EXACT_CORNERS:
            weights = np.full(objectives, _TRIFLE)
            weights[pick(ends, random)] = 1.0
            return weights
        weights = np.array([random.expovariate(1.0) for _ in range(objectives)])
        return np.asarray(weights / weights.sum())


class Features:
    """Ordered knobs by their place on a scale, words as one of many, products also by stride.

    The product of the first knobs of a group is the stride at which the next one works: which
    network dimensions it reaches depends on that more than on the knob itself.

    Attributes:
        owner: (F,) int64, number of the length scale that each coordinate has.
    """

    def __init__(self, space: GenomeSpace) -> None:
        self._tables = [_table(knob.choices, knob.coordinates) for knob in space.knobs]
        self._groups = [list(g) for span in space.spans for g in span.products if len(g) > 2]
        widths = [table.shape[1] for table in self._tables] + [1] * len(space.reals)
        widths += [1] * sum(len(group) - 2 for group in self._groups)
        self.owner = np.repeat(np.arange(len(widths)), widths)

    def of(self, genomes: list[Genome]) -> Floats:
        """(N, F) float64."""
        codes = np.array([genome.codes for genome in genomes], np.int64)
        columns = [table[codes[:, at]] for at, table in enumerate(self._tables)]
        reals = np.array([genome.reals for genome in genomes]).reshape(len(genomes), -1)
        strides = [
            np.cumsum([columns[at][:, 0] for at in group[:-1]], axis=0)[1:].T
            for group in self._groups
        ]
        return np.asarray(np.concatenate([*columns, reals, *strides], axis=1))


def _table(choices: tuple[object, ...], scale: Floats | None) -> Floats:
    """A row per choice, and a last one for a knob that has no meaning."""
    if scale is None:
        size = len(choices)
        return np.asarray(np.concatenate([np.eye(size), np.zeros((1, size))]) / np.sqrt(2.0))
    spread = np.ptp(scale) or 1.0
    return np.asarray(np.append((scale - scale.min()) / spread, 0.5)[:, None])

"""Guesses which designs are refused without any values, learned from those that were."""

from collections import deque
from random import Random

import numpy as np
from numpy.typing import NDArray

from dse.samplers.design.columns.genomes import Floats, Genome, Genomes
from dse.samplers.design.columns.space import GenomeSpace
from dse.samplers.design.model.features import Steps
from dse.samplers.design.model.trees import Trees

_ENOUGH = 8
"""Refused designs from which on it is guessed which others will be."""

_KEPT = 320
"""Refused designs, the latest, that this is learned from, and of the others, the best."""


class Refusals:
    """Learns from designs that were refused and from those that were not."""

    def __init__(self, space: GenomeSpace) -> None:
        self._space, self._steps = space, Steps(space)
        self._refused: deque[Genome] = deque(maxlen=_KEPT)
        self._trees: Trees | None = None

    @property
    def is_known(self) -> bool:
        """True if enough were refused to guess which others will be."""
        return self._trees is not None

    def note(self, genome: Genome) -> None:
        """One more design that was refused."""
        self._refused.append(genome)

    def learn(self, others: Genomes, random: Random) -> None:
        """Learn from what was refused beside the first of *others*, which were not."""
        if len(self._refused) < _ENOUGH or not len(others):
            return
        others = others.at(slice(_KEPT))
        points = self._steps.of(Genomes.joined([Genomes.of(list(self._refused)), others]))
        is_refused = np.arange(len(points)) < len(self._refused)
        self._trees = Trees(points, is_refused, random)

    def likely(self, genomes: Genomes) -> Floats | None:
        """(N,) how likely designs are refused, 0 to 1; None: not known."""
        return None if self._trees is None else self._trees.likely(self._steps.of(genomes))

    def steps(self, genomes: Genomes) -> NDArray[np.float32]:
        """(N, F) coordinates for ``likely_at``."""
        return self._steps.of(genomes).astype(np.float32)

    def likely_at(self, steps: NDArray[np.float32]) -> Floats | None:
        """``likely`` of designs with those *steps*, which may be asked about often."""
        return None if self._trees is None else self._trees.likely(steps)

"""Guesses which designs keep the limits that only their evaluation tells, by how far others do.

Source: a model of the constraint beside that of the objective, and the likelihood that it is kept,
follow M. Schonlau, W. Welch and D. Jones, "Global versus local search in constrained optimization
of computer models", IMS Lecture Notes 34, 1998.
"""

from collections import deque
from collections.abc import Sequence
from random import Random

import numpy as np
from numpy.typing import NDArray

from dse.samplers.design.columns.genomes import Floats, Genome, Genomes
from dse.samplers.design.model.features import Features
from dse.samplers.design.model.improvement import upper_tail
from dse.samplers.design.model.surrogate import GaussianProcess

_ENOUGH = 8
"""Designs that broke a limit from which on it is guessed which others will."""

_BROKEN, _KEPT = 96, 160
"""Designs that broke a limit, the latest, and those that kept all, the best, to learn from."""

_LEAST, _MOST = 0.1, 10.0
"""Parts and multiples of a limit between which designs are told apart."""

_UNSURE = 0.01
"""Standard deviation of the logarithm that is granted at least: limits have edges of their own."""


class Limits:
    """Learns by what factor designs exceed their limits, or how far below them they stay."""

    def __init__(self, features: Features) -> None:
        self._features = features
        self._broken: deque[tuple[Genome, float]] = deque(maxlen=_BROKEN)
        self._model: GaussianProcess | None = None
        self._is_known = False

    def note(self, genome: Genome, excess: float) -> None:
        """One more design that broke a limit, by the part *excess* of it."""
        self._broken.append((genome, excess))

    def learn(self, kept: Genomes, excesses: Sequence[float], tries: int, random: Random) -> None:
        """Learn from what broke a limit, and from the first of *kept*, which broke none.

        Args:
            kept: Feasible designs, the best first.
            excesses: By which part of its limit each exceeds the one it comes closest to; 0 or
                less.
            tries: Steps of length scales to try.
            random: Where all luck comes from.
        """
        self._is_known = len(self._broken) >= _ENOUGH and len(kept) >= _ENOUGH
        if not self._is_known:
            return
        broken = Genomes.of([genome for genome, _ in self._broken])
        points = self._features.of(Genomes.joined([broken, kept.at(slice(_KEPT))]))
        parts = [*(excess for _, excess in self._broken), *excesses[:_KEPT]]
        targets = np.log(np.clip(1.0 + np.array(parts, np.float64), _LEAST, _MOST))
        if self._model is None:
            tries *= 5
            self._model = GaussianProcess(self._features.owner, self._features.sums)
        some = sorted(random.sample(range(len(points)), min(64, len(points))))
        self._model.learn_scales(points[some], targets[some], tries, random)
        self._model.fit(points, targets)

    def forget(self) -> None:
        """Begin again with the next lesson, so that what came long ago decides nothing."""
        self._model, self._is_known = None, False

    def likely(self, points: Floats) -> Floats | None:
        """(N,) how likely designs with these features break a limit, 0 to 1; None: not known."""
        if self._model is None or not self._is_known:
            return None
        return _broken(*self._model.guess(points))

    def roughly(self, points: NDArray[np.float32]) -> Floats | None:
        """``likely``, to a few digits, for thousands of designs."""
        if self._model is None or not self._is_known:
            return None
        return _broken(*self._model.outline(points))


def _broken(mean: Floats, deviation: Floats) -> Floats:
    return upper_tail(-mean / np.sqrt(deviation**2 + _UNSURE**2))

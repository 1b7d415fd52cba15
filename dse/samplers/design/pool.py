"""Designs that wait to be asked for, and which of them is the most promising."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dse.samplers.design.archive import Archive
from dse.samplers.design.columns.genomes import Flags, Floats, Genome, Genomes, Ints

_SUM_WEIGHT = 0.05
"""Weight of the sum beside the maximum in the scalarised value (augmented Chebyshev)."""

_DIGITS = 9
"""Digits behind the point of promises: how sums were rounded does not choose among equals."""

_CORNERS = 0.4
"""Share of designs chosen for one objective that has to be found: no other meets that end."""

_EXACT_CORNERS = 0.1
"""Share of those chosen for one objective that is exact: the least is known, not what goes with it.

The fastest machine among those of the least power is as much an end of the front as any other.
"""

_TRIFLE = 1e-3
"""Weight of the other objectives at an end: it chooses among equals."""

Weights = NDArray[np.float64]

_NOTHING = np.zeros(0)


class Hopes(Protocol):
    """Proofs about designs that are not simulated yet."""

    @property
    def state(self) -> int:
        """Another number each time that answers may have changed."""

    def of(self, genomes: Genomes, since: int) -> Floats:
        """(N, M) the least that the objectives of the designs can be.

        Args:
            genomes: The designs.
            since: Outcomes that were known when they were bred; the answer depends on no later one.
        """

    def closest(self, genomes: Genomes) -> Floats:
        """``of`` by the closest bound of each design that may be feasible, however dear it is."""

    def plans(self, genomes: Genomes) -> Ints:
        """(N,) numbers of what the closest bound is dear for where it was not asked for before."""

    def are_left(self, least: Floats) -> Flags:
        """(N,) True where designs with *least* objectives are not beaten by what is known now."""


class Pool:
    """Designs of which each is asked for once at most.

    Attributes:
        genomes: The designs.
    """

    def __init__(
        self,
        genomes: Genomes,
        archive: Archive,
        hopes: Hopes | None,
        since: int,
        promise: Floats | None = None,
    ) -> None:
        """All of *genomes*, the first ones first, unless it is known what they *promise*.

        Args:
            genomes: Designs that differ.
            archive: Designs that are not to be asked for any more.
            hopes: Proofs about the designs; None: there are none.
            since: Outcomes that were known when the designs were bred.
            promise: (N, M) of each objective, 0 where the front begins and 1 where it ends.
        """
        self.genomes, self._archive = genomes, archive
        self._promise = None if promise is None else np.round(promise.T, _DIGITS)
        self._unordered = np.zeros((0, len(genomes)))
        self._keys = genomes.keys()
        self._open = ~archive.knows(self._keys)
        self._hopes, self._since = hopes, since
        self._least: Floats | None = None
        self._all = np.ones(len(genomes), bool)
        self._state, self._left = -1, self._all
        self._is_empty, self._hopeless_at = False, -1

    def best(
        self, accept: Callable[[Genome], bool], weights: Weights | None, *, hopeful: bool
    ) -> Genome | None:
        """The most promising design that is not known, and that *accept* takes.

        Args:
            accept: Whether a design is wanted.
            weights: (M,) what each objective counts.
            hopeful: Leave out what is proven to be beaten.
        """
        hopeful = hopeful and self._hopes is not None
        if self._is_spent(hopeful):
            return None
        left = self._hopeful() if hopeful else self._all
        was_open = False
        promise = self._promise
        if promise is None or weights is None:
            promise, weights = self._unordered, _NOTHING
        find, told = self._archive.best, (promise, weights, _SUM_WEIGHT)
        while (at := find(self._keys, self._open, left, told)) >= 0:
            genome = self.genomes.one(at, int(self._keys[at]))
            if accept(genome):
                return genome
            left = left if was_open else left.copy()
            left[at], was_open = False, True
        self._note_spent(hopeful, was_open)
        return None

    def _is_spent(self, hopeful: bool) -> bool:
        """True if nothing was left when that was last asked, and nothing can have come since."""
        if hopeful and self._hopes is not None:
            return self._is_empty or self._hopeless_at == self._hopes.state
        return self._is_empty

    def _note_spent(self, hopeful: bool, was_open: bool) -> None:
        if was_open:
            return
        if hopeful and self._hopes is not None:
            self._hopeless_at = self._hopes.state
        else:
            self._is_empty = True

    def _hopeful(self) -> Flags:
        """True where nothing found so far is proven to beat a design."""
        if self._hopes is None or not len(self._open):
            return self._left
        if self._state != self._hopes.state:
            if self._least is None:
                self._least = self._hopes.of(self.genomes, self._since)
            self._state = self._hopes.state
            self._left = self._hopes.are_left(self._least)
        return self._left


def scalarised(promise: Floats, weights: Weights) -> Floats:
    """(N,) values of designs with *promise*, (M, N), that count by *weights*; less is better."""
    weighted = promise * weights[:, None]
    return np.asarray(weighted.max(axis=0) + _SUM_WEIGHT * weighted.sum(axis=0))


def drawn_weights(objectives: int, ends: Sequence[int], random: Random) -> Weights:
    """Weights of the *objectives*: all of it one, or drawn uniformly.

    Args:
        objectives: How many there are.
        ends: Those whose best value has to be found; the others are exact.
        random: Where the weights come from.
    """
    luck = random.random()
    exact = [number for number in range(objectives) if number not in ends]
    chosen = ends if luck < _CORNERS else exact
    if chosen and luck < _CORNERS + _EXACT_CORNERS:
        weights = np.full(objectives, _TRIFLE)
        weights[chosen[int(random.random() * len(chosen))]] = 1.0
        return weights
    weights = np.array([random.expovariate(1.0) for _ in range(objectives)])
    return np.asarray(weights / weights.sum())

"""Boosted trees that tell two kinds of points apart: rules and limits are steps, not slopes.

Source: J. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of
Statistics 29(5), 2001, with the second-order gains of T. Chen and C. Guestrin, "XGBoost: a scalable
tree boosting system", KDD 2016, equation 7.
"""

from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.samplers.design.columns.genomes import Flags, Floats, Ints

_ROUNDS, _DEPTH = 60, 3
"""Trees, and questions that each asks of a point."""

_RATE = 0.2
"""Part of what a tree would add that it does add."""

_DAMPING = 1.0
"""Weight that a leaf has beside its points: few of them move it little."""

_CUTS = 31
"""Places at most at which a coordinate may be cut in two."""

_LOOKED_AT = 64
"""Coordinates that a tree may ask about, drawn anew for each."""


@dataclass(frozen=True, slots=True, eq=False)
class _Tree:
    """One tree, whose questions are the same number on every way.

    Attributes:
        coordinates: Of the question in each inner node, level by level.
        cuts: Where that coordinate is cut: what lies above goes right.
        leaves: What is added to the log odds, per leaf.
    """

    coordinates: Ints
    cuts: Floats
    leaves: Floats

    def of(self, columns: NDArray[Any]) -> Floats:
        """Log odds that are added for points whose coordinates are the rows of *columns*."""
        pairs = zip(self.coordinates.tolist(), self.cuts.tolist(), strict=True)
        places = [(columns[at] > cut).view(np.int8) for at, cut in pairs]
        for depth in reversed(range(_DEPTH - 1)):  # from below: where each node leads
            for node in range(2**depth - 1, 2 ** (depth + 1) - 1):
                left, right = places[2 * node + 1], places[2 * node + 2]
                half = 2 ** (_DEPTH - 1 - depth)
                places[node] = np.where(places[node], right + np.int8(half), left)
        return np.asarray(self.leaves[places[0]])


class Trees:
    """Log odds that a point is of the second of two kinds."""

    def __init__(self, points: Floats, is_second: Flags, random: Random) -> None:
        """Learn.

        Args:
            points: (N, F) of both kinds.
            is_second: (N,) bool.
            random: Which coordinates each tree may ask about.
        """
        cuts = [_cuts_of(column) for column in points.T]
        able = [at for at, own in enumerate(cuts) if own.size]
        self._start = float(np.log((is_second.sum() + 1) / ((~is_second).sum() + 1)))
        self._trees: list[_Tree] = []
        places = np.stack(
            [np.searchsorted(own, column) for own, column in zip(cuts, points.T, strict=True)],
            axis=1,
        )
        odds = np.full(len(points), self._start)
        luck = np.random.default_rng(random.getrandbits(64)).random((_ROUNDS, len(able)))
        draws = np.sort(np.argsort(luck, axis=1)[:, :_LOOKED_AT], axis=1)
        for draw in draws if able else ():
            chosen = np.array(able)[draw]
            tree, added = _grown(places[:, chosen], [cuts[at] for at in chosen], odds, is_second)
            self._trees.append(_Tree(chosen[tree.coordinates], tree.cuts, tree.leaves))
            odds += added

    def likely(self, points: NDArray[Any]) -> Floats:
        """(N,) probabilities that *points*, (N, F), are of the second kind."""
        odds, columns = np.full(len(points), self._start), np.ascontiguousarray(points.T)
        for tree in self._trees:
            odds += tree.of(columns)
        return np.asarray(1.0 / (1.0 + np.exp(-odds)))


def _cuts_of(column: Floats) -> Floats:
    """Places between the values of a coordinate, ``_CUTS`` at most."""
    values = np.unique(column)
    between = (values[1:] + values[:-1]) / 2
    if between.size > _CUTS:
        between = between[np.linspace(0, between.size - 1, _CUTS).astype(np.int64)]
    return np.asarray(between)


def _grown(
    places: NDArray[np.int64], cuts: list[Floats], odds: Floats, is_second: Flags
) -> tuple[_Tree, Floats]:
    """The next tree, and what it adds to the *odds*; *places*, (N, F): cuts that lie below."""
    guessed = 1.0 / (1.0 + np.exp(-odds))
    slope, bend = is_second - guessed, guessed * (1.0 - guessed)
    count, width = places.shape[1], _CUTS + 1
    cells = places + np.arange(count) * width
    slopes, bends = np.repeat(slope, count), np.repeat(bend, count)
    node = np.zeros(len(places), np.int64)
    coordinates, values = np.zeros(2**_DEPTH - 1, np.int64), np.full(2**_DEPTH - 1, np.inf)
    for depth in range(_DEPTH):
        first, nodes = 2**depth - 1, 2**depth
        index = ((node - first)[:, None] * (count * width) + cells).ravel()
        shape = nodes, count, width
        size = nodes * count * width
        low = np.bincount(index, slopes, size).reshape(shape).cumsum(axis=2)
        heavy = np.bincount(index, bends, size).reshape(shape).cumsum(axis=2)
        gain = low**2 / (heavy + _DAMPING)
        gain += (low[:, :, -1:] - low) ** 2 / (heavy[:, :, -1:] - heavy + _DAMPING)
        best = gain.reshape(nodes, -1).argmax(axis=1)
        at, cut = best // width, best % width
        own = slice(first, first + nodes)
        coordinates[own] = at
        values[own] = [
            cuts[one][place] if place < cuts[one].size else np.inf
            for one, place in zip(at.tolist(), cut.tolist(), strict=True)
        ]
        here = node - first
        above = places[np.arange(len(places)), at[here]] > cut[here]
        node = 2 * node + 1 + above
    leaf = node - (2**_DEPTH - 1)
    total = np.bincount(leaf, slope, 2**_DEPTH)
    leaves = _RATE * total / (np.bincount(leaf, bend, 2**_DEPTH) + _DAMPING)
    return _Tree(coordinates, values, leaves), leaves[leaf]

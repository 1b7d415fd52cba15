"""Spread of residuals at a class: its own rows, drawn towards the classes above it.

The classes of a chain lie inside each other. With the mean size of its clipped residuals y, from n
independent rows, and the spread m' of the class above it, a class has

    m = (k m' + n y) / (k + n)    where y < m',    else    m = y:

better than its kind a class is believed to be by and by, worse at once, so that further rows with
the same residuals never widen a band. Rows of one source repeat each other: c of them count as
c / (1 + (c - 1) r) independent ones.

Source: partial pooling of group means, A. Gelman, J. Hill, "Data Analysis Using Regression and
Multilevel/Hierarchical Models", 2007, section 12.2; counting of rows of one cluster: L. Kish,
"Survey Sampling", 1965, section 5.4 (design effect); clipping: P. Huber, "Robust Estimation of a
Location Parameter", Ann. Math. Stat. 35, 1964.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from simcore.schema import Schema
from simcore.validation.bands.residuals import Chain, Group

CLIP = 4.0
"""Times the spread of the class above, beyond which the size of a residual counts no further."""
LIKENESS = 0.3
"""r, correlation of the sizes of residuals of one source: 0.13 among the training runs and 0.39
among the load tests of configs/validation (analysis of variance, one way); one value for both."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Constants(Schema):
    """Fitted values of one chain; see ``fit.py``.

    Attributes:
        pull: k: independent rows that weigh as much as the class above.
        few: Logarithm of the factor by which a coarse level without sources widens a band.
        growth: Part by which a band widens per doubling of model or machine beyond what was
            measured.
        low, high: Times the spread that the ends of a band lie below and above the prediction.
        source: Where the values are from.
    """

    pull: float
    few: float
    growth: float
    low: float
    high: float
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Spread at a class.

    Attributes:
        depth: Levels of the class that have rows.
        size: Mean size of residuals, drawn towards the classes above.
        lack: Sum over coarse levels of 1 / (1 + sources): 0 where all have many.
        rows: Of the finest level that has some.
        sources: Of these rows.
        groups: Numbers of the groups of these rows.
    """

    depth: int
    size: float
    lack: float
    rows: int
    sources: int
    groups: Ints


class Spreads:
    """Spreads of all classes of a table."""

    def __init__(self, chain: Chain, groups: Sequence[Group]) -> None:
        self.chain, self.groups = chain, tuple(groups)
        counts = [len(group.residuals) for group in groups]
        self.group: Ints = np.repeat(np.arange(len(groups)), counts)
        self.values: Floats = np.array([r for group in groups for r in group.residuals], np.float64)
        self.sources = tuple(sorted({group.source for group in groups}))
        self.source = self._codes([group.source for group in groups])
        self.pair = self._codes([str(group.pair(chain)) for group in groups])

    def _codes(self, names: Sequence[str]) -> Ints:
        """Number of each row's name."""
        numbers = {name: number for number, name in enumerate(sorted(set(names)))}
        return np.array([numbers[name] for name in names], np.int64)[self.group]

    @cached_property
    def places(self) -> Floats:
        """(groups, 2): doublings of parameters and NPUs."""
        return np.array([group.place for group in self.groups], np.float64).reshape(-1, 2)

    @cached_property
    def _levels(self) -> list[dict[str, Mask]]:
        """Per level, the rows with each value of it."""
        found = []
        for at in range(len(self.chain.levels)):
            values = np.array([group.levels[at] for group in self.groups])
            found.append({str(value): (values == value)[self.group] for value in set(values)})
        return found

    def at(self, levels: Sequence[str], constants: Constants, kept: Mask | None = None) -> Spread:
        """Spread at the class with these *levels*, from the rows that are *kept*.

        Raises:
            ValueError: No row is kept.
        """
        rows = np.ones(self.values.size, np.bool_) if kept is None else kept
        if not rows.any():
            raise ValueError("no row to take a spread from")
        size, depth = self._mean(rows, np.inf)[0], 0
        lack = [1.0] * self.chain.coarse
        for values, value in zip(self._levels, levels, strict=True):
            inside = values.get(value)
            if inside is None or not (rows & inside).any():
                break
            rows, depth = rows & inside, depth + 1
            own, count = self._mean(rows, CLIP * size)
            pull = constants.pull
            size = own if own >= size else (pull * size + count * own) / (pull + count)
            if depth <= self.chain.coarse:
                lack[depth - 1] = 1 / (1 + np.unique(self.source[rows]).size)
        return Spread(
            depth=depth,
            size=size,
            lack=sum(lack),
            rows=int(rows.sum()),
            sources=np.unique(self.source[rows]).size,
            groups=np.unique(self.group[rows]),
        )

    def _mean(self, rows: Mask, clip: float) -> tuple[float, float]:
        """Mean size of clipped residuals, and of how many independent rows it is."""
        weights = independent(self.source[rows])
        sizes = np.minimum(np.abs(self.values[rows]), clip)
        return float(weights @ sizes / weights.sum()), float(weights.sum())

    def doublings(self, spread: Spread, place: tuple[float, float]) -> float:
        """Doublings of model and machine from *place* to the nearest row behind *spread*."""
        return float(np.abs(self.places[spread.groups] - np.array(place)).sum(axis=1).min())


def independent(sources: Ints) -> Floats:
    """Weights of rows by their sources: c rows of one count as c / (1 + (c - 1) r)."""
    counts = np.bincount(sources)[sources]
    return np.asarray(1 / (1 + (counts - 1) * LIKENESS), np.float64)


def widening(lack: float, doublings: float, constants: Constants) -> float:
    """Factor of a spread where sources are few, *doublings* away from what was measured."""
    return float(np.exp(constants.few * lack) * (1 + constants.growth * doublings))

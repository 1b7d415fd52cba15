"""Rows behind a class of predictions, and the constants that say how wide its band is."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from simcore.schema import Schema
from simcore.validation.bands.residuals import Chain, Group

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Constants(Schema):
    """Fitted values of one chain; see ``fit.py``.

    Attributes:
        base: Logarithm of how far a band reaches to each side, on a logarithmic scale of times,
            where nothing is told of the prediction.
        effects: What each value of each level adds to it.
        known: Quantile of rows of a model on an accelerator that bands of this pair are made of.
        few: What a value of a coarse level adds that no row has.
        growth: Part by which a band widens per doubling of model or machine beyond what was
            measured.
        source: Where the values are from.
    """

    base: float
    effects: dict[str, dict[str, float]] = Field(default_factory=dict)
    known: float
    few: float
    growth: float
    source: str = ""

    def reach(self, chain: Chain, levels: Sequence[str]) -> float:
        """Logarithm of how far bands of predictions with these *levels* reach, wherever they are.

        A coarse level may be one that no row has.
        """
        found = self.base
        for at, (name, value) in enumerate(zip(chain.levels, levels, strict=True)):
            unseen = self.few if at < chain.coarse else 0.0
            found += self.effects.get(name, {}).get(value, unseen)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Rows of the finest class around a prediction that has some.

    Attributes:
        depth: Levels of the class that have rows.
        rows: Of the finest level that has some.
        sources: Of these rows.
        groups: Numbers of the groups of these rows.
    """

    depth: int
    rows: int
    sources: int
    groups: Ints


class Spreads:
    """A table of residuals by row, and its classes; those of a chain lie inside each other."""

    def __init__(self, chain: Chain, groups: Sequence[Group]) -> None:
        self.chain, self.groups = chain, tuple(groups)
        counts = [len(group.residuals) for group in groups]
        self.group: Ints = np.repeat(np.arange(len(groups)), counts)
        self.values: Floats = np.array([r for group in groups for r in group.residuals], np.float64)
        self.sources = tuple(sorted({group.source for group in groups}))
        self.source = self.codes([group.source for group in groups])
        self.pair = self.codes([str(group.pair(chain)) for group in groups])

    def codes(self, names: Sequence[str]) -> Ints:
        """Number of each row's name, given those of the groups, in the order of the names."""
        numbers = {name: number for number, name in enumerate(sorted(set(names)))}
        return np.array([numbers[name] for name in names], np.int64)[self.group]

    @cached_property
    def places(self) -> Floats:
        """(groups, 2): doublings of parameters and NPUs."""
        return np.array([group.place for group in self.groups], np.float64).reshape(-1, 2)

    @cached_property
    def of_level(self) -> list[dict[str, Mask]]:
        """Per level, the rows with each value of it."""
        found = []
        for at in range(len(self.chain.levels)):
            values = np.array([group.levels[at] for group in self.groups])
            found.append({str(v): (values == v)[self.group] for v in sorted(set(values))})
        return found

    def at(self, levels: Sequence[str], kept: Mask | None = None) -> Spread:
        """The finest class around these *levels* that has rows, of those that are *kept*.

        Raises:
            ValueError: No row is kept.
        """
        rows = np.ones(self.values.size, np.bool_) if kept is None else kept
        if not rows.any():
            raise ValueError("no row to take a band from")
        depth = 0
        for values, value in zip(self.of_level, levels, strict=True):
            inside = values.get(value)
            if inside is None or not (rows & inside).any():
                break
            rows, depth = rows & inside, depth + 1
        return Spread(
            depth=depth,
            rows=int(rows.sum()),
            sources=np.unique(self.source[rows]).size,
            groups=np.unique(self.group[rows]),
        )

    def doublings(self, spread: Spread, place: tuple[float, float]) -> float:
        """Doublings of model and machine from *place* to the nearest row behind *spread*."""
        return float(np.abs(self.places[spread.groups] - np.array(place)).sum(axis=1).min())

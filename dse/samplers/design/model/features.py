"""Coordinates of designs, in which those that are alike lie close together."""

from itertools import combinations

import numpy as np

from dse.samplers.design.columns.genomes import Floats, Genomes
from dse.samplers.design.columns.space import GenomeSpace


class Features:
    """Ordered knobs by their place on a scale, words as one of many, products also by stride.

    The product of the first knobs of a group is the stride at which the next one works: which
    network dimensions it reaches depends on that more than on the knob itself.

    Attributes:
        owner: (F,) int64, number of the length scale that each coordinate has.
        sums: (D,) int64, likewise for coordinates behind these that models of sums look at: none.
    """

    sums = np.zeros(0, np.int64)

    def __init__(self, space: GenomeSpace) -> None:
        self._tables = [_table(knob.choices, knob.coordinates) for knob in space.knobs]
        self._groups = [list(g) for span in space.spans for g in span.products if len(g) > 2]
        widths = [table.shape[1] for table in self._tables] + [1] * len(space.reals)
        widths += [1] * sum(len(group) - 2 for group in self._groups)
        self.owner = np.repeat(np.arange(len(widths)), widths)

    def of(self, genomes: Genomes) -> Floats:
        """(N, F) float64."""
        columns = [table[genomes.codes[:, at]] for at, table in enumerate(self._tables)]
        strides = [
            np.cumsum([columns[at][:, 0] for at in group[:-1]], axis=0)[1:].T
            for group in self._groups
        ]
        return np.asarray(np.concatenate([*columns, genomes.reals, *strides], axis=1))


def _table(choices: tuple[object, ...], scale: Floats | None) -> Floats:
    """A row per choice, and a last one for a knob that has no meaning."""
    if scale is None:
        size = len(choices)
        return np.asarray(np.concatenate([np.eye(size), np.zeros((1, size))]) / np.sqrt(2.0))
    spread = np.ptp(scale) or 1.0
    return np.asarray(np.append((scale - scale.min()) / spread, 0.5)[:, None])


class Effects(Features):
    """Coordinates of ``Features``, and behind them those of sums of effects of single knobs.

    Each knob has some of the latter, (N, d): the product of those of two designs is 1 where they
    are alike in this knob, 0 where it has different words, and between where they are near.
    """

    def __init__(self, space: GenomeSpace) -> None:
        super().__init__(space)
        widths = np.bincount(self.owner)
        self._ends = np.cumsum(widths)[:-1]
        behind = [width + 1 if width > 1 else len(_RUNGS) for width in widths.tolist()]
        self.sums = np.repeat(np.arange(len(behind)), behind)

    def of(self, genomes: Genomes) -> Floats:
        """(N, F + D) float64."""
        points = super().of(genomes)
        knobs = np.split(points, self._ends, axis=1)
        return np.asarray(np.concatenate([points, *map(_own_effects, knobs)], axis=1))


_RUNGS = np.linspace(0.0, 1.0, 5)
"""Places on the scale of an ordered knob near which it has effects of its own."""

_REACH = 0.4
"""Distance from a place at which that effect has fallen to 1/e."""


def _own_effects(knob: Floats) -> Floats:
    """Coordinates, (N, D) and of length 1, for those of one knob in ``Features``, (N, F)."""
    if knob.shape[1] == 1:
        near = np.exp(-(((knob - _RUNGS) / _REACH) ** 2))
        return np.asarray(near / np.sqrt((near**2).sum(axis=1, keepdims=True)))
    words = knob * np.sqrt(2.0)
    return np.concatenate([words, 1.0 - words.sum(axis=1, keepdims=True)], axis=1)


class Steps:
    """Coordinates for rules: those of ``Features``, and products and ratios of pairs of numbers.

    A limit on an amount, such as memory, is close to one on a product of powers of knobs.
    """

    def __init__(self, space: GenomeSpace) -> None:
        self._features = Features(space)
        logs = [(at, _logs(knob.choices)) for at, knob in enumerate(space.knobs)]
        self._logs = [(at, table) for at, table in logs if table is not None]

    def of(self, genomes: Genomes) -> Floats:
        """(N, F) float64."""
        logs = [table[genomes.codes[:, at]] for at, table in self._logs]
        pairs = list(combinations(logs, 2))
        ways = [one + other for one, other in pairs] + [one - other for one, other in pairs]
        none = np.zeros((len(genomes), 0))
        added = np.stack(ways, axis=1) if ways else none
        return np.asarray(np.concatenate([self._features.of(genomes), np.round(added, 9)], axis=1))


def _logs(choices: tuple[object, ...]) -> Floats | None:
    """Logarithms of numbers above 0, and 0 for no meaning; None: there are other choices."""
    numbers = [one for one in choices if isinstance(one, int | float) and one > 0]
    if len(numbers) < len(choices) or any(isinstance(one, bool) for one in choices):
        return None
    return np.append(np.log(np.array(numbers, np.float64)), 0.0)

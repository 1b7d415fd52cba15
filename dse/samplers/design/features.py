"""Genomes as points in space, for a model that learns from distances."""

import numpy as np
from numpy.typing import NDArray

from dse.samplers.design.genome import Genome, GenomeSpace

Floats = NDArray[np.float64]


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

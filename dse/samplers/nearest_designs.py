"""The designs of a space in the order of how near they come to one that cannot be used."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.samplers.design import Genome, Genomes, GenomeSpace
from dse.samplers.design.columns.genomes import Floats, Ints

_LOT = 256
"""Designs that are offered together."""

_OF_ONE, _OF_TWO = 1024, 64
"""Rows of a block that are offered at most: alone, and together with a row of a second one."""


@dataclass(frozen=True, slots=True, eq=False)
class _Others:
    """Other rows of a block, the nearest first.

    Attributes:
        rows: (N,) their numbers.
        knobs: (N,) knobs in which each differs.
        steps: (N,) sum of the steps between them: a word is one step from any other.
    """

    rows: Ints
    knobs: Ints
    steps: Floats

    def first(self, number: int) -> "_Others":
        return _Others(self.rows[:number], self.knobs[:number], self.steps[:number])


class NearestDesigns:
    """Finds what differs from a design in as few knobs as possible, and in those by small steps.

    One block of knobs takes another of its rows, or two blocks do; the number of network dimensions
    and what has a range stay.
    """

    def __init__(self, space: GenomeSpace) -> None:
        self._space = space
        self._scales = [_scale(knob.choices, knob.coordinates) for knob in space.knobs]

    def lots(self, genome: Genome) -> Iterator[Genomes]:
        """Other designs in lots, the nearest first; equally near ones in the order of the space."""
        others = [self._others(number, genome) for number in range(len(self._space.spans))]
        singles = [
            np.stack([np.full(own.rows.size, number), own.rows, own.knobs], axis=1)
            for number, own in enumerate(others)
        ]
        alone = np.concatenate([np.zeros((0, 3), np.int64), *singles])
        steps = np.concatenate([np.zeros(0), *(own.steps for own in others)])
        near = alone[:, 2] == 1
        first = alone[near][np.lexsort((steps[near],))]
        for at in range(0, len(first), _LOT):
            yield self._with(genome, first[at : at + _LOT, :2].reshape(-1, 1, 2))
        yield from self._farther(genome, others, alone[~near], steps[~near])

    def _farther(
        self, genome: Genome, others: list[_Others], alone: Ints, steps: Floats
    ) -> Iterator[Genomes]:
        """Designs that differ in two knobs or more, in lots, the nearest first."""
        changes = [np.concatenate([alone[:, None, :2], alone[:, None, :2]], axis=1)]
        knobs, lengths = [alone[:, 2]], [steps]
        few = [own.first(_OF_TWO) for own in others]
        for one, two in combinations(range(len(few)), 2):
            a, b = few[one], few[two]
            left, right = (grid.ravel() for grid in np.indices((a.rows.size, b.rows.size)))
            first = np.stack([np.full(left.size, one), a.rows[left]], axis=1)
            second = np.stack([np.full(left.size, two), b.rows[right]], axis=1)
            changes.append(np.stack([first, second], axis=1))
            knobs.append(a.knobs[left] + b.knobs[right])
            lengths.append(a.steps[left] + b.steps[right])
        order = np.lexsort((np.concatenate(lengths), np.concatenate(knobs)))
        all_changes = np.concatenate(changes)
        for at in range(0, len(order), _LOT):
            yield self._with(genome, all_changes[order[at : at + _LOT]])

    def _others(self, number: int, genome: Genome) -> _Others:
        span = self._space.spans[number]
        table = span.block.tables[genome.dimensions]
        own = np.array(genome.codes[span.first : span.end], np.int16)
        differs = table != own
        knobs = differs.sum(axis=1)
        steps = np.zeros(len(table))
        for column, scale in enumerate(self._scales[span.first : span.end]):
            steps += _steps(scale, table[:, column], int(own[column]))
        order = np.lexsort((steps, knobs))[1 : 1 + _OF_ONE]  # the first one is the design itself
        return _Others(order, knobs[order], steps[order])

    def _with(self, genome: Genome, changes: Ints) -> Genomes:
        """The design with other rows of some blocks.

        *changes*: (N, changes, 2) blocks and rows.
        """
        count = genome.dimensions
        codes = np.tile(np.array(genome.codes, np.int16), (len(changes), 1))
        for place in range(changes.shape[1]):
            blocks, rows = changes[:, place, 0], changes[:, place, 1]
            for number in np.unique(blocks).tolist():
                span, at = self._space.spans[number], np.flatnonzero(blocks == number)
                codes[at, span.first : span.end] = span.block.tables[count][rows[at]]
        reals = np.tile(np.array(genome.reals, np.float64), (len(changes), 1))
        return Genomes(np.full(len(changes), count, np.int16), codes, reals)


def _scale(choices: tuple[object, ...], coordinates: NDArray[np.float64] | None) -> Floats | None:
    """Places of the choices of a knob, next ones a step apart; None: they have no order."""
    if coordinates is None:
        return None
    return np.argsort(np.argsort(coordinates, kind="stable"), kind="stable").astype(np.float64)


def _steps(scale: Floats | None, codes: NDArray[Any], own: int) -> Floats:
    """(N,) steps from choice *own* of a knob to others; to and from no meaning it is one."""
    away: Floats = (codes != own).astype(np.float64)
    if scale is not None and own >= 0:
        meant = codes >= 0
        away[meant] = np.abs(scale[codes[meant]] - scale[own])
    return away

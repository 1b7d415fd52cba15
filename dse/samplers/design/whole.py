"""Plans for small spaces, where no way of moves need lead to the best: all designs are judged."""

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from dse.samplers.design.breeder import Breeder
from dse.samplers.design.columns.genomes import Flags, Genomes, Keys
from dse.samplers.design.columns.space import GenomeSpace
from dse.samplers.design.model.judge import Judge
from dse.samplers.design.pool import Weights

_MOST = 20_000
"""Valid designs of a space that is small, before checks."""


class Whole:
    """All designs of a small space, which the model of a lesson is asked about."""

    def __init__(self, space: GenomeSpace, breeder: Breeder, judge: Judge) -> None:
        """*breeder*: knows which designs pass; *judge*: what they promise."""
        self._space, self._breeder, self._judge = space, breeder, judge
        self._every: Genomes | None = None

    def plan(self, is_known: Callable[[Keys], Flags], draws: Sequence[Weights]) -> Genomes | None:
        """New designs to try next, in order: one for each of *draws*, weights of the objectives.

        Args:
            is_known: Tells what is not new.
            draws: Weights.

        Returns:
            None: bounds say more, or too little is known.
        """
        if self._every is None:
            every = self._breeder.as_known_again(every_genome(self._space)).distinct()
            self._every = every.at(self._breeder.admits(every))
            self._keys, self._sheets = self._every.keys(), self._judge.sheets(self._every)
        left = np.flatnonzero(~is_known(self._keys))
        points, steps = self._sheets
        new = self._every.at(left)
        chosen = self._judge.chosen(new, (points[left], steps[left]), draws) if len(left) else None
        return None if chosen is None else new.at(chosen)


def is_small(space: GenomeSpace, most: int = _MOST) -> bool:
    """True if a space has no ranges and *most* designs at most."""
    return not space.reals and sum(map(prod, _rows(space).values())) <= most


def every_genome(space: GenomeSpace) -> Genomes:
    """All valid genomes of a space without ranges."""
    parts = []
    for count, rows in _rows(space).items():
        places = np.indices(rows).reshape(len(rows), -1)
        codes = [
            span.block.tables[count][own] for span, own in zip(space.spans, places, strict=True)
        ]
        number = prod(rows)
        none, dimensions = np.zeros((number, 0)), np.full(number, count, np.int16)
        joined = np.concatenate([none.astype(np.int16), *codes], axis=1).astype(np.int16)
        parts.append(Genomes(dimensions, joined, none))
    return Genomes.joined(parts)


def _rows(space: GenomeSpace) -> dict[int, list[int]]:
    """Rows of each block by number of dimensions."""
    return {count: [span.block.rows(count) for span in space.spans] for count in space.counts}

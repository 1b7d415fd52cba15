"""Shortlists of all designs of a small space, where no way of moves need lead to the best."""

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from dse.samplers.design.breeder import Breeder
from dse.samplers.design.columns.genomes import Flags, Genomes, Keys
from dse.samplers.design.columns.space import GenomeSpace
from dse.samplers.design.model.judge import Judge
from dse.samplers.design.pool import Weights, scalarised

_MOST = 20_000
"""Valid designs of a space that is small."""

_EACH = 16
"""Designs on a shortlist for each of its weights."""


class Whole:
    """All designs of a small space, which the model of a lesson is asked about."""

    def __init__(self, space: GenomeSpace, breeder: Breeder, judge: Judge) -> None:
        """*breeder*: knows which designs pass; *judge*: what they promise."""
        self._space, self._breeder, self._judge = space, breeder, judge
        self._is_small = is_small(space, _MOST)
        self._every: Genomes | None = None

    def shortlist(
        self,
        is_known: Callable[[Keys], Flags],
        others: Genomes,
        draws: Sequence[Weights],
    ) -> Genomes | None:
        """The most promising designs that are neither known nor among *others*.

        Args:
            is_known: Tells what is not new.
            others: Designs that are judged already.
            draws: Weights of the objectives.

        Returns:
            None: the space is too large, or bounds say more.
        """
        if not self._is_small:
            return None
        if self._every is None:
            every = self._breeder.as_known_again(every_genome(self._space)).distinct()
            self._every = every.at(self._breeder.admits(every))
        left = self._every.at(~is_known(self._every.keys()))
        promise = self._judge.outlook(left) if len(left) else None
        if promise is None:
            return None
        each = min(_EACH, len(left))
        best = [np.argsort(scalarised(promise.T, one), kind="stable")[:each] for one in draws]
        return left.at(np.unique(np.concatenate(best))).without(others)


def is_small(space: GenomeSpace, most: int) -> bool:
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

"""Proof over a list of all designs, the most promising first."""

from collections.abc import Callable, Iterator, Sequence
from math import prod

import numpy as np

from dse.evaluate import Evaluator
from dse.proof.listed.best import BestObjectives
from dse.proof.parts.part import Part, Places
from dse.proof.prove import Candidate, Floats, Prover, nothing_known
from dse.space import Design, Space
from dse.study.compile import Study

_LISTED = 16
"""Designs that are bounded in one step."""


class ListProver(Prover):
    """Proof by a list, for studies whose evaluator knows metrics at best."""

    def __init__(
        self,
        study: Study,
        evaluator: Evaluator,
        gap: float,
        is_elsewhere: Callable[[Design], bool],
        part: Part,
    ) -> None:
        """Begin; see ``prover_of``."""
        super().__init__(study, gap, evaluator.canonical, is_elsewhere)
        self._best = BestObjectives(study, evaluator)
        self._designs = _Designs(study.space)
        self._unlisted: Iterator[list[int]] = _parts(part.designs(study.space.counts.searched))
        self._is_listed = False
        self._places: list[int] = []  # designs that may be good, the least promising first
        self._listed: list[Floats] = []  # their values, while designs are listed
        self._values = np.zeros((0, len(self._signs)))  # their values then

    def _unseen(self) -> Sequence[Floats]:
        if not self._is_listed:
            return [nothing_known(self._study.goals.signs)]
        return [self._values[: len(self._places)]] if self._places else []

    def advance(self) -> bool:
        """Bound the next designs, or look at the most promising one; false if none is left."""
        self._has_begun = True
        if not self._is_listed:
            self._list(next(self._unlisted, []))
            return True
        if not self._places:
            return False
        values = self._values[len(self._places) - 1][np.newaxis]
        design = self._designs.at(self._places.pop())
        if not self._set_aside(values)[0]:
            self._candidates.append(Candidate(design=design, values=values))
        return True

    def _list(self, places: Sequence[int]) -> None:
        """Bound the designs at *places*; none: all are, and the most promising come first."""
        for place in places:
            values = self._best.of(self._designs.at(place))
            if values is not None and not self._set_aside(values[np.newaxis])[0]:
                self._places.append(place)
                self._listed.append(values)
        if places:
            return
        self._is_listed = True
        if self._places:
            values = np.array(self._listed)
            worth = (np.log(np.maximum(np.abs(values), 1e-300)) * self._signs).sum(axis=1)
            order = np.argsort(-worth, kind="stable")
            self._values, self._listed = values[order], []
            self._places = [self._places[at] for at in order.tolist()]


def _parts(places: Places) -> Iterator[list[int]]:
    for at in range(0, len(places), _LISTED):
        yield places[at : at + _LISTED].tolist()


class _Designs:
    """The designs of a space by their places among those of ``Space.designs``."""

    def __init__(self, space: Space) -> None:
        self._space = space
        each = {
            dimensions: [block.rows(dimensions) for block in space.blocks]
            for dimensions in space.dimensions
        }
        self._sizes = [(dimensions, own, prod(own)) for dimensions, own in each.items()]

    def at(self, place: int) -> Design:
        """The design at a *place*."""
        for dimensions, sizes, count in self._sizes:
            if place >= count:
                place -= count
                continue
            rows = []
            for size in reversed(sizes):
                place, row = divmod(place, size)
                rows.append(row)
            return self._space.design(dimensions, rows[::-1])
        raise IndexError("the space has fewer designs")

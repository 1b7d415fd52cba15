"""Proof over a list of all designs, the most promising first."""

from array import array
from collections.abc import Callable, Iterator, Sequence
from math import prod

import numpy as np

from dse.evaluate import Evaluation, Evaluator
from dse.proof.listed.best import BestObjectives
from dse.proof.parts.part import Part, Places
from dse.proof.prove import Candidate, Flags, Floats, Prover, nothing_known
from dse.rank.pareto import no_worse
from dse.space import Design, Space
from dse.study.compile import Study

_LISTED, _LOOKED_AT = 256, 1 << 12
"""Designs that are bounded in one step, and of whose bounds one is chosen."""

_LEAST = 1e-300
"""Least value that has a logarithm here; the largest is its inverse."""

_HELD = 16
"""Outcomes of designs that were not asked for that are held against what was told of them."""


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
        self._unlisted = _parts(part.designs(study.space.counts.searched))
        self._is_listed, self._held = False, 0
        self._listed, self._known_at = array("q"), array("d")  # while designs are listed
        self._places = np.zeros(0, np.int64)  # of designs that may be good, the best bounds last
        self._values = np.zeros((0, len(self._signs)))  # of these
        self._awaited = np.zeros(0, np.bool_)  # whether what was asked for may set them aside

    def _unseen(self) -> Sequence[Floats]:
        if not self._is_listed:
            return [nothing_known(self._study.goals.signs)]
        return [self._values] if len(self._values) else []

    def advance(self) -> bool:
        """Bound the next designs, or look at the most promising ones; false if none is left."""
        self._has_begun = True
        if not self._is_listed:
            self._list(next(self._unlisted, []))
            return True
        if not len(self._places):
            return False
        if self._awaited.all():
            self._awaited[:] = False  # outcomes may be worse than they are at best
        looked_at = np.flatnonzero(~self._awaited)[-_LOOKED_AT:]
        hopeful = self._hopeful(self._values[looked_at])
        gone = looked_at[~hopeful]
        if hopeful.any():
            best = looked_at[hopeful][-1]
            self._want(self._designs.at(int(self._places[best])), self._values[[best]])
            gone = np.append(gone, best)
        kept = np.ones(len(self._places), np.bool_)
        kept[gone] = False
        self._places, self._values = self._places[kept], self._values[kept]
        self._awaited = self._awaited[kept]
        return True

    def _want(self, design: Design, values: Floats) -> None:
        """Have *design* asked for; what is set aside once it has its *values* comes after others.

        Outcomes come late, and are mostly what they are at best.
        """
        self._candidates.append(Candidate(design=design, values=values))
        self._awaited |= no_worse(values[0] * self._found.near, self._values)

    def learn(self, design: Design, evaluation: Evaluation) -> None:
        """Take note of an outcome, see ``Prover``.

        Raises:
            SimulationError: It is better than what the evaluator told of the design at best; some
                of the designs that were not asked for are looked at.
        """
        is_asked = self._key(design) in self._asked
        super().learn(design, evaluation)
        if evaluation.state == "complete" and (is_asked or self._held < _HELD):
            self._held += not is_asked
            self._best.hold(design, evaluation)

    def _hopeful(self, values: Floats) -> Flags:
        """(N,) whether nothing found is near enough to each; what the others reach is noted."""
        covered = self._found.covers(values)
        self._found.give_up(values[covered])
        return ~covered

    def _list(self, places: Sequence[int]) -> None:
        """Bound the designs at *places*; none: all are, and the most promising come last."""
        for place in places:
            values = self._best.of(self._designs.at(place))
            if values is not None and self._hopeful(values[np.newaxis])[0]:
                self._listed.append(place)
                self._known_at.extend(values)
        if places:
            return
        self._is_listed = True
        values = np.array(self._known_at).reshape(-1, len(self._signs))
        worth = (np.log(np.clip(np.abs(values), _LEAST, 1 / _LEAST)) * self._signs).sum(axis=1)
        order = np.argsort(-worth, kind="stable")
        self._places, self._values = np.array(self._listed, np.int64)[order], values[order]
        self._listed, self._known_at = array("q"), array("d")
        self._awaited = np.zeros(len(order), np.bool_)


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

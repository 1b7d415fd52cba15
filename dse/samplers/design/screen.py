"""Answers about designs without simulating them, worked out once for what decides them."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from dse.samplers.base import Twins
from dse.samplers.design.archive import KeyTable
from dse.samplers.design.columns.genomes import Flags, Genome, Genomes
from dse.samplers.design.columns.space import GenomeSpace
from dse.space import Check, Design

Answer = TypeVar("Answer")

Screen = Callable[[Genomes], Flags]
"""True of designs that may be feasible and may be worth simulating.

Must be sound: a design is turned down only if it is proven to break a rule, or to be dominated.
Called for many more designs than are simulated, so it must be quick.
"""


class Answers(Generic[Answer]):
    """Asks about designs, and remembers the answers to what decides them.

    Attributes:
        known: The answers so far; those of the latest designs alone where none is kept.
        is_kept: Whether answers are kept: a range among the deciding knobs is hardly met twice.
    """

    def __init__(
        self, space: GenomeSpace, ask: Callable[[Design], Answer], deciding: frozenset[str]
    ) -> None:
        """*deciding*: names of the knobs that *ask* looks at."""
        self._space, self._ask = space, ask
        self._at = [at for at, knob in enumerate(space.knobs) if knob.name in deciding]
        self.is_kept = not any(knob.name in deciding for knob in space.reals)
        self._table = KeyTable()
        self.known: list[Answer] = []

    def places(self, genomes: Genomes) -> NDArray[np.int64]:
        """(N,) number of the answer for each design among those *known*."""
        if not self.is_kept:
            self.known = [self._ask(self._space.design(genome)) for genome in genomes.each()]
            return np.arange(len(genomes))
        keys = genomes.keys_by(self._at)
        places = self._table.find(keys)
        new = np.flatnonzero(places < 0)
        if new.size:
            first: dict[int, int] = {}
            for at, key in zip(new.tolist(), keys[new].tolist(), strict=True):  # mostly few
                first.setdefault(key, at)
            rows, begin = np.array(list(first.values())), len(self.known)
            designs = map(self._space.design, genomes.at(rows).each())
            self.known += list(map(self._ask, designs))
            self._table.put(keys[rows], np.arange(begin, len(self.known), dtype=np.int32))
            places[new] = self._table.find(keys[new])
        return places.astype(np.int64)

    def of(self, genomes: Genomes) -> list[Answer]:
        """The answer for each design."""
        places = self.places(genomes).tolist()
        return [self.known[place] for place in places]

    def of_one(self, genome: Genome) -> Answer:
        """The answer for one design."""
        return self.of(Genomes.of([genome]))[0]


class AnswerTable(Generic[Answer]):
    """Answers as rows of an array, which grows with them."""

    def __init__(
        self, answers: Answers[Answer], rows: Callable[[Sequence[Answer]], NDArray[Any]]
    ) -> None:
        """*rows*: gives an array with a row for each answer."""
        self._answers, self._rows = answers, rows
        self._table, self._count = rows([]), 0

    def of(self, genomes: Genomes) -> NDArray[Any]:
        """(N, ...) the row of each design's answer."""
        places, known = self._answers.places(genomes), self._answers.known
        if not self._answers.is_kept:
            return np.asarray(self._rows(known)[places])
        self._take(known)
        return np.asarray(self._table[places])

    def _take(self, known: Sequence[Answer]) -> None:
        """Add rows for the answers that are new; there is room for as many again each time."""
        begin, end = self._count, len(known)
        if end == begin:
            return
        if end > len(self._table):
            shape = max(end, 2 * begin), *self._table.shape[1:]
            more = np.empty(shape, self._table.dtype)
            more[:begin] = self._table[:begin]
            self._table = more
        self._table[begin:end] = self._rows(known[begin:])
        self._count = end


def screen_of(space: GenomeSpace, checks: Sequence[Check]) -> Screen:
    """The screen of designs that break none of the *checks*; remembers their answers."""
    each = [
        AnswerTable(Answers(space, check.holds, check.deciding), lambda rows: np.array(rows, bool))
        for check in checks
    ]

    def admits(genomes: Genomes) -> Flags:
        """The later checks are asked about what the earlier ones let pass alone."""
        result = np.ones(len(genomes), bool)
        for answers in each:
            left = np.flatnonzero(result)
            result[left] = answers.of(genomes.at(left))
        return result

    return admits


def anything(genomes: Genomes) -> Flags:
    """The screen that lets all designs pass."""
    return np.ones(len(genomes), bool)


def folding(space: GenomeSpace, twins: Twins | None) -> Callable[[Genomes], Genomes]:
    """The way from designs to those that stand for all with the same outcome."""
    names = frozenset() if twins is None else twins.deciding
    at = [at for at, knob in enumerate(space.knobs) if knob.name in names]
    if twins is None or not at:
        return lambda genomes: genomes

    def codes_of(design: Design) -> list[int]:
        found = space.genome(twins.canonical(design))
        found = found or space.genome(design)  # what stands for it may break a rule of the space
        assert found is not None, "designs are of the space"
        return [found.codes[knob] for knob in at]

    answers = AnswerTable(
        Answers(space, codes_of, names), lambda rows: np.array(rows, np.int16).reshape(-1, len(at))
    )

    def folded(genomes: Genomes) -> Genomes:
        if not len(genomes):
            return genomes
        codes = genomes.codes.copy()
        codes[:, at] = answers.of(genomes)
        return Genomes(genomes.dimensions, codes, genomes.reals)

    return folded

"""Answers about designs without simulating them, worked out once for what decides them."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import numpy as np

from dse.samplers.base import Twins
from dse.samplers.design.columns.genomes import Flags, Genome, Genomes, row_bytes
from dse.samplers.design.columns.space import GenomeSpace
from dse.space import Check, Design

Answer = TypeVar("Answer")

Screen = Callable[[Genomes], Flags]
"""True of designs that may be feasible and may be worth simulating.

Must be sound: a design is turned down only if it is proven to break a rule, or to be dominated.
Called for many more designs than are simulated, so it must be quick.
"""


class Answers(Generic[Answer]):
    """Asks about designs, and remembers the answers to what decides them."""

    def __init__(
        self, space: GenomeSpace, ask: Callable[[Design], Answer], deciding: frozenset[str]
    ) -> None:
        """*deciding*: names of the knobs that *ask* looks at; a range among them is not kept."""
        self._space, self._ask = space, ask
        self._at = [at for at, knob in enumerate(space.knobs) if knob.name in deciding]
        self._is_kept = not any(knob.name in deciding for knob in space.reals)
        self._known: dict[bytes, Answer] = {}

    def of(self, genomes: Genomes) -> list[Answer]:
        """The answer for each design."""
        if not self._is_kept:
            return [self._ask(self._space.design(genome)) for genome in genomes.each()]
        deciding = genomes.dimensions[:, None], genomes.codes[:, self._at]
        keys, known = row_bytes(np.concatenate(deciding, axis=1)), self._known
        first = {key: row for row, key in enumerate(keys) if key not in known}
        for key, row in first.items():
            known[key] = self._ask(self._space.design(genomes.one(row)))
        return [known[key] for key in keys]

    def of_one(self, genome: Genome) -> Answer:
        """The answer for one design."""
        return self.of(Genomes.of([genome]))[0]


def screen_of(space: GenomeSpace, checks: Sequence[Check]) -> Screen:
    """The screen of designs that break none of the *checks*; remembers their answers."""
    each = [Answers(space, check.holds, check.deciding) for check in checks]

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

    answers = Answers(space, codes_of, names)

    def folded(genomes: Genomes) -> Genomes:
        if not len(genomes):
            return genomes
        codes = genomes.codes.copy()
        codes[:, at] = answers.of(genomes)
        return Genomes(genomes.dimensions, codes, genomes.reals)

    return folded

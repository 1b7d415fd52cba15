"""Answers about a design without simulating it."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from dse.samplers.design.genome import Genome, GenomeSpace
from dse.space import Check, Design

Answer = TypeVar("Answer")


Screen = Callable[[Genome], bool]
"""True of a design that may be feasible and may be worth simulating.

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
        self._known: dict[tuple[int, ...], Answer] = {}

    def of(self, genome: Genome) -> Answer:
        """The answer for a design."""
        if not self._is_kept:
            return self._ask(self._space.design(genome))
        codes = genome.codes
        key = (genome.dimensions, *[codes[at] for at in self._at])
        if key not in self._known:
            self._known[key] = self._ask(self._space.design(genome))
        return self._known[key]


def screen_of(space: GenomeSpace, checks: Sequence[Check]) -> Screen:
    """The screen of designs that break none of the *checks*; remembers their answers."""
    answers = [Answers(space, check.holds, check.deciding) for check in checks]
    return lambda genome: all(known.of(genome) for known in answers)

"""What can be told about a design without simulating it."""

from collections.abc import Callable
from typing import Protocol

from dse.samplers.design.genome import Genome, GenomeSpace
from dse.space import Design


class Screen(Protocol):
    """Knows designs that need no simulation, since they can be of no use."""

    def admits(self, genome: Genome) -> bool:
        """Whether the design may be feasible and may be worth simulating.

        Must be sound: a design is turned down only if it is proven to break a rule, or to be
        dominated. Called for many more designs than are simulated, so it must be quick.
        """


class Unscreened:
    """Admits every design."""

    def admits(self, genome: Genome) -> bool:
        """Yes."""
        return True


class DesignScreen:
    """Asks about designs, and remembers the answers to what decides them."""

    def __init__(
        self, space: GenomeSpace, admits: Callable[[Design], bool], deciding: frozenset[str]
    ) -> None:
        """*deciding*: names of the knobs that *admits* looks at; a range among them is not kept."""
        self._space, self._ask = space, admits
        self._at = [at for at, knob in enumerate(space.knobs) if knob.name in deciding]
        self._is_kept = not any(knob.name in deciding for knob in space.reals)
        self._answers: dict[tuple[int, ...], bool] = {}

    def admits(self, genome: Genome) -> bool:
        """The answer for a design."""
        codes = genome.codes
        key = (genome.dimensions, *[codes[at] for at in self._at])
        answer = self._answers.get(key) if self._is_kept else None
        if answer is None:
            answer = self._answers[key] = self._ask(self._space.design(genome))
        return answer

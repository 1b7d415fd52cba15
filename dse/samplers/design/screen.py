"""What can be told about a design without simulating it."""

from typing import Protocol

from dse.samplers.design.genome import Genome


class Screen(Protocol):
    """Knows designs that need no simulation, since they can be of no use."""

    def admits(self, genome: Genome) -> bool:
        """Whether the design may be feasible and may be worth simulating.

        Must be sound: a design is turned down only if it is proven to break a rule, or to be
        dominated. Called for many more designs than are simulated, so it must take microseconds.
        """


class Unscreened:
    """Admits every design."""

    def admits(self, genome: Genome) -> bool:
        """Yes."""
        return True

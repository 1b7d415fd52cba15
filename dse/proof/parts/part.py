"""A part of a proof: the machines, or the plans of some machines, that one of several bounds."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_MACHINES = 16
"""Machines of a part, at least; where there are fewer, parts share machines and divide their plans.
A look at a machine takes as long for half of its plans, so that plans are divided last."""

Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One of several parts that together are all plans of all machines.

    Attributes:
        number: Its number, from 0.
        of: How many parts there are.
    """

    number: int = 0
    of: int = 1

    def machines(self, count: int) -> Places:
        """Places of the machines of this part, rising, among *count*."""
        groups = self._groups(count)
        return _dealt(count, self.number % groups, groups)

    def plans(self, count: int, machines: int) -> Places:
        """Places of the plans of this part, rising, among *count* of one of so many machines."""
        groups = self._groups(machines)
        return _dealt(count, self.number // groups, self.sharing(machines))

    def designs(self, count: int) -> Places:
        """Places of the designs of this part, rising, in a list of *count*."""
        return _dealt(count, self.number, self.of)

    def sharing(self, machines: int) -> int:
        """Number of parts that divide the plans of the same machines, this one among them."""
        groups = self._groups(machines)
        return len(range(self.number % groups, self.of, groups))

    def _groups(self, machines: int) -> int:
        return min(self.of, max(1, machines // _MACHINES))


def _dealt(count: int, own: int, hands: int) -> Places:
    """Places that one of some hands is dealt.

    The order is a shuffled one, the same for all: neighbours are alike, and so is every second one.
    """
    if hands == 1:
        return np.arange(count)
    return np.sort(np.random.default_rng(count).permutation(count)[own::hands])

"""Places of the groups of many plans on many shapes of machines."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simcore.bounds.grown import Grown
from simcore.engines.collectives.placement import place_group
from simcore.errors import InfeasibleError
from simcore.many.parts import Numbered, distinct_pairs
from simcore.many.plans import AXES, PlanRow
from simcore.workload.graph import Axis

Ints = NDArray[np.int64]

NOWHERE, UNTILED = 0, -1
"""Numbers of the place of a group that there is not, and of one that does not tile the machine."""


@dataclass(slots=True, eq=False)
class Places:
    """Places, spots and shapes that designs have asked for.

    Attributes:
        sizes: NPUs of the dimensions of machines.
        groups: Stride and size of groups.
        spots: Members of a group in one dimension, and their stride.
        rows: Per place, the number of its spot in each dimension, -1: none.
        members: Per place.
    """

    dimensions: int
    sizes: Numbered[tuple[int, ...]] = field(default_factory=Numbered)
    groups: Numbered[tuple[int, int]] = field(default_factory=Numbered)
    spots: Numbered[tuple[int, int]] = field(default_factory=Numbered)
    rows: Grown = field(init=False)
    members: Grown = field(default_factory=lambda: Grown(np.int64))
    _known: dict[tuple[int, int], int] = field(default_factory=dict)
    _groups_of: dict[int, Ints] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rows = Grown(np.int64, (self.dimensions,))
        self.rows.append((-1,) * self.dimensions)
        self.members.append(1)

    def find(self, plans: Mapping[int, PlanRow], plan: Ints, npus: Ints) -> Ints:
        """Place of the groups of each axis of N designs, (N, axes) int64.

        Args:
            plans: Those of the designs, by number.
            plan: (N,) int64, of each design.
            npus: (N, D) int64, of the dimensions of its machine.
        """
        size = np.array([self.sizes.number(one) for one in map(tuple, npus.tolist())], np.int64)
        numbers, own = np.unique(plan, return_inverse=True)
        groups = np.stack([self._groups(number, plans[number]) for number in numbers.tolist()])
        group = groups[own]
        places = np.full(group.shape, NOWHERE)
        for axis in np.flatnonzero((groups >= 0).any(axis=0)).tolist():
            has = group[:, axis] >= 0
            pairs, _, where = distinct_pairs(group[has, axis], size[has])
            found = [self._place(*pair) for pair in pairs]
            places[has, axis] = np.array(found, np.int64)[where]
        return places

    def arrays(self) -> tuple[Ints, Ints]:
        """(P, D) and (P,) int64: spots and members of the places."""
        return self.rows.array(), self.members.array()

    def _groups(self, number: int, plan: PlanRow) -> Ints:
        """Group of each axis of a plan, -1: it has none."""
        found = self._groups_of.get(number)
        if found is None:
            found = np.full(len(AXES), -1)
            for group in plan.groups:
                found[AXES.index(group.axis)] = self.groups.number((group.stride, group.size))
            self._groups_of[number] = found
        return found

    def _place(self, group: int, size: int) -> int:
        known = self._known.get((group, size))
        if known is not None:
            return known
        stride, members = self.groups.things[group]
        try:
            place = place_group(str(Axis.DP), stride, members, self.sizes.things[size])
        except InfeasibleError:
            self._known[group, size] = UNTILED
            return UNTILED
        self.rows.append(
            tuple(
                self.spots.number(spot) if spot[0] > 1 else -1
                for spot in zip(place.extent, place.stride, strict=True)
            )
        )
        self.members.append(place.members)
        self._known[group, size] = len(self.rows) - 1
        return len(self.rows) - 1

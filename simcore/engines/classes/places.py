"""Classes of a stage's NPUs by places in their groups.

NPUs of a stage run the same program and differ in nothing but their places: where on a tree, how
far along a part of a ring, with whom they share which group. The classes of alike ones are the
coarsest partition that tells places on uneven lines apart and in which alike NPUs have alike
partners.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simcore.engines.collectives.placement import Placement
from simcore.engines.events.fold.relations import AlikeSet, alike
from simcore.engines.events.input import Ints
from simcore.machine import Dimension
from simcore.workload import ParallelPlan
from simcore.workload.graph import Axis


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassGroups:
    """Groups of one axis as the classes of their members: R that differ, of G members.

    Attributes:
        classes: (R, G) int64, of the members of each group, in the order of their NPU ids.
        row_of: (K,) int64, the group that the first member of each class belongs to.
    """

    classes: Ints
    row_of: Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NpuClasses:
    """M members of a stage in K classes, as the groups of some axes tell them apart.

    Attributes:
        class_of: (M,) int64, numbered by their first members.
        groups: Per axis the groups of the first members of the classes.
    """

    class_of: Ints
    groups: Mapping[Axis, ClassGroups]

    @property
    def count(self) -> int:
        """K."""
        return int(self.class_of.max()) + 1

    @property
    def firsts(self) -> Ints:
        """(K,) int64, the first member of each class."""
        firsts: Ints = np.unique(self.class_of, return_index=True)[1]
        return firsts


class AlikePlaces:
    """The members of one stage and the lines of their groups.

    Args:
        plan: Tells which NPUs are at one stage.
        dimensions: Of the network.
        placements: Of the groups within a stage.
        uneven: Dimensions, per axis, along which the members of a group do not behave alike.
    """

    def __init__(
        self,
        plan: ParallelPlan,
        dimensions: Sequence[Dimension],
        placements: Mapping[Axis, Placement],
        uneven: Mapping[Axis, Collection[int]],
    ) -> None:
        self._plan, self._placements, self._uneven = plan, placements, uneven
        sizes = [dimension.npus for dimension in dimensions]
        self._below = np.cumprod([1, *sizes[:-1]]).tolist()

    @cached_property
    def _npus(self) -> Ints:
        """(M,) int64: the members of the first stage; many, and not asked for in every run."""
        stride, members = self._plan.stage_stride, np.arange(self._plan.npus_per_stage)
        outer, inner = np.divmod(members, stride)
        npus: Ints = outer * self._plan.pp * stride + inner
        return npus

    def classes(self, axes: Collection[Axis]) -> NpuClasses:
        """Classes that groups of *axes* distinguish."""
        count = self._npus.size
        traits, partners = [np.zeros((count, 1), np.int64)], [np.empty((count, 0), np.int64)]
        for axis in axes:
            placement = self._placements[axis]
            for dimension in placement.involved:
                place, members = self._places(placement, dimension), placement.extent[dimension]
                if dimension in self._uneven.get(axis, ()):
                    traits.append(place[:, None])
                apart = placement.stride[dimension] * self._below[dimension]
                for other in _partners(place, members):
                    partners.append(self._member(self._npus + (other - place) * apart)[:, None])
        block = AlikeSet(
            members=np.arange(count),
            traits=np.concatenate(traits, axis=1),
            partners=np.concatenate(partners, axis=1),
        )
        class_of = alike(count, [block])
        _, first = np.unique(class_of, return_index=True)
        groups = {axis: self._groups(self._placements[axis], first, class_of) for axis in axes}
        return NpuClasses(class_of=class_of, groups=groups)

    def _places(self, placement: Placement, dimension: int) -> Ints:
        """(M,) int64: the place of each member on its line in one dimension."""
        apart = placement.stride[dimension] * self._below[dimension]
        places: Ints = self._npus // apart % placement.extent[dimension]
        return places

    def _member(self, npus: Ints) -> Ints:
        """Numbers of *npus* among those of their stage."""
        stride = self._plan.stage_stride
        members: Ints = npus // (stride * self._plan.pp) * stride + npus % stride
        return members

    def _groups(self, placement: Placement, members: Ints, class_of: Ints) -> ClassGroups:
        """The groups that *members*, the first ones of their classes, belong to."""
        first, offsets = self._npus[members].copy(), np.zeros(1, np.int64)
        for dimension in placement.involved:
            apart = placement.stride[dimension] * self._below[dimension]
            first -= self._places(placement, dimension)[members] * apart
            steps = np.arange(placement.extent[dimension]) * apart
            offsets = (steps[:, None] + offsets[None, :]).ravel()
        firsts, group_of = np.unique(first, return_inverse=True)
        rows = class_of[self._member(firsts[:, None] + offsets)]
        classes, row_of = distinct_rows(rows)
        return ClassGroups(classes=classes, row_of=row_of[group_of.ravel()])


def distinct_rows(rows: Ints) -> tuple[Ints, Ints]:
    """Rows that differ, by where they first appear, and the number of each row among them."""
    number: dict[bytes, int] = {}
    of_row = [number.setdefault(row.tobytes(), len(number)) for row in rows]
    _, first = np.unique(of_row, return_index=True)
    return rows[first], np.array(of_row, np.int64)


def _partners(place: Ints, members: int) -> list[Ints]:
    """Places on a line that others are found from: the next one, and halves exchanged in pairs."""
    found = [(place + 1) % members]
    if members & (members - 1) == 0:
        found += [place ^ (1 << k) for k in range(members.bit_length() - 1)]
    return found

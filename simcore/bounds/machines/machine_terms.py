"""Tables of the machine's side of the bound: where groups lie, kinds of links, systems."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from math import prod
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from simcore.bounds.grown import Grown
from simcore.bounds.machines.phase_costs import NOTHING, CostLine, PhaseCost, least_cost, phase_cost
from simcore.engines.collectives.placement import place_group
from simcore.errors import InfeasibleError
from simcore.kernels.bounds import tables as kernel_tables
from simcore.kernels.records import Records
from simcore.machine import Dimension
from simcore.machine.system import System
from simcore.terms import CollectiveKind
from simcore.topologies import TOPOLOGIES
from simcore.workload.graph import Axis, GroupLayout

Ints = NDArray[np.int64]

KINDS = {
    CollectiveKind.ALL_GATHER: kernel_tables.ALL_GATHER,
    CollectiveKind.REDUCE_SCATTER: kernel_tables.REDUCE_SCATTER,
    CollectiveKind.ALL_REDUCE: kernel_tables.ALL_REDUCE,
    CollectiveKind.ALL_TO_ALL: kernel_tables.ALL_TO_ALL,
}
"""Numbers of the collective kinds in the kernel's tables."""

_PHASES = (
    *((number, kind, kind) for kind, number in KINDS.items()),
    (kernel_tables.SUM_SCATTER, CollectiveKind.ALL_REDUCE, CollectiveKind.REDUCE_SCATTER),
    (kernel_tables.SUM_GATHER, CollectiveKind.ALL_REDUCE, CollectiveKind.ALL_GATHER),
)
"""Numbers of the kinds of phases, the collective that chooses the algorithm, what is done."""

AXES = tuple(axis for axis in Axis if axis not in (Axis.PP, Axis.EMBEDDING))
"""Axes whose groups lie within a stage, in the order of the kernel's tables."""

NO_NETWORK = 0
"""Number of the place where groups have no members and stages send no messages."""

Layout = tuple[int, tuple[GroupLayout, ...]]
"""NPUs of a plan and its groups."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One kind of network dimension, with its algorithm for each kind of collective.

    Attributes:
        topology: Of the dimension.
        npus: Likewise.
        algorithms: Per kind of collective those of which it is one.
    """

    topology: str
    npus: int
    algorithms: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, system: System, dimensions: Sequence[Dimension], index: int) -> "Link":
        """Link of dimension *index*."""
        topologies = [dimension.topology for dimension in dimensions]
        return cls(
            topology=dimensions[index].topology,
            npus=dimensions[index].npus,
            algorithms=tuple((system.algorithms(kind, topologies)[index],) for kind in KINDS),
        )

    @classmethod
    def any_of(cls, links: Sequence["Link"]) -> "Link":
        """Link of which it is known that it is one of *links*, of one topology and size."""
        each = zip(*(link.algorithms for link in links), strict=True)
        return replace(links[0], algorithms=tuple(tuple(sorted({*sum(own, ())})) for own in each))

    @property
    def row(self) -> tuple[int, int, int]:
        """Links of one NPU, NPUs, and least hops of a message (0: the shorter way round)."""
        shape = TOPOLOGIES[self.topology]
        hops = 0 if shape.cyclic else shape.least_hops(self.npus)
        return shape.links_per_npu(self.npus), self.npus, hops


@dataclass(slots=True, eq=False)
class Numbered(Generic[T]):
    """Distinct things, numbered in the order in which they were first met.

    Attributes:
        numbers: By thing.
        things: By number.
    """

    numbers: dict[T, int] = field(default_factory=dict)
    things: list[T] = field(default_factory=list)

    def number(self, thing: T) -> int:
        found = self.numbers.setdefault(thing, len(self.things))
        if found == len(self.things):
            self.things.append(thing)
        return found


@dataclass(slots=True, eq=False)
class Places:
    """Places of the groups of plans on shapes of networks; extent 0 is an absent axis.

    Attributes:
        dimensions: Of the network.
        where: (axes, dimensions) numbers of extents per place.
        members: (axes,) likewise.
        messages: Per place, dimension and distance of messages between stages.
        extents: NPUs, members and stride in one dimension.
    """

    dimensions: int
    where: Grown = field(init=False)
    members: Grown = field(init=False)
    messages: Grown = field(default_factory=lambda: Grown(kernel_tables.MESSAGE))
    extents: Numbered[tuple[int, int, int]] = field(default_factory=Numbered)

    def __post_init__(self) -> None:
        self.where = Grown(np.int64, (len(AXES), self.dimensions))
        self.members = Grown(np.int64, (len(AXES),))
        self.extents.number((0, 1, 1))
        self.where.append(np.zeros((len(AXES), self.dimensions), np.int64))
        self.members.append(np.ones(len(AXES), np.int64))
        self.messages.append((-1, 0))

    def __len__(self) -> int:
        return len(self.where)

    def add(self, npus: int, groups: Sequence[GroupLayout], shape: Sequence[int]) -> int:
        """Number of a new place; -1 where the NPUs are others or a group does not tile them."""
        where = np.zeros((len(AXES), len(shape)), np.int64)
        members = np.ones(len(AXES), np.int64)
        sizes = tuple(shape)
        if prod(sizes) != npus:
            return -1
        pipeline = None
        for group in groups:
            try:
                place = place_group(str(group.axis), group.stride, group.size, sizes)
            except InfeasibleError:
                return -1
            if group.axis is Axis.PP:
                pipeline = group
                continue
            axis = AXES.index(group.axis)
            members[axis] = group.size
            for d, (extent, stride) in enumerate(zip(place.extent, place.stride, strict=True)):
                if extent > 1:
                    where[axis, d] = self.extents.number((shape[d], extent, stride))
        self.where.append(where)
        self.members.append(members)
        self.messages.append(_message(pipeline, shape))
        return len(self) - 1


def _message(pipeline: GroupLayout | None, shape: Sequence[int]) -> tuple[int, int]:
    """Lowest dimension in which neighbouring stages differ, and by how much; -1 without stages."""
    if pipeline is None:
        return -1, 0
    stride = pipeline.stride
    for index, npus in enumerate(shape):
        if stride % npus:
            return index, stride % npus
        stride //= npus
    return -1, 0


@dataclass(slots=True, eq=False)
class PhaseTables:
    """``BoundTables.extents`` and ``.phases``: the cost of each phase for each kind of link.

    Grows with the places and links, so that a design that brings few new ones costs little.
    """

    costs: Numbered[tuple[PhaseCost, ...]] = field(default_factory=Numbered)
    rows: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros((0, 0, len(_PHASES)), np.int64)
    )
    table: Grown = field(default_factory=lambda: Grown(kernel_tables.PHASE))

    def __post_init__(self) -> None:
        self._number((NOTHING, NOTHING))

    def arrays(
        self, extents: Mapping[tuple[int, int, int], int], links: Mapping[Link, int]
    ) -> tuple[NDArray[np.int64], Records]:
        """The tables for all *extents* and *links*; those known before keep their numbers."""
        old_extents, old_links = self.rows.shape[:2]
        if (old_extents, old_links) != (len(extents), len(links)):
            rows = np.zeros((len(extents), len(links), len(_PHASES)), np.int64)
            rows[:old_extents, :old_links] = self.rows
            new = list(islice(links.items(), old_links, None))
            for extent, e in extents.items():
                for link, number in new if e < old_extents else links.items():
                    if link.npus == extent[0]:
                        rows[e, number] = self._costs_of(link, extent)
            self.rows = rows
        return self.rows, self.table.array()

    def _number(self, pair: tuple[PhaseCost, ...]) -> int:
        """Number of a pair of costs, which the table then holds."""
        number = self.costs.number(pair)
        if 2 * number == len(self.table):
            self.table.extend(cost.row() for cost in pair)
        return number

    def _costs_of(self, link: Link, extent: tuple[int, int, int]) -> list[int]:
        npus, members, stride = extent
        line = CostLine(topology=link.topology, npus=npus, members=members, stride=stride)
        found = [0] * len(_PHASES)
        for column, chooser, kind in _PHASES:
            names = link.algorithms[list(KINDS).index(chooser)]
            pair = tuple(
                least_cost([phase_cost(name, kind, line, first=first) for name in names])
                for first in (False, True)
            )
            found[column] = 2 * self._number(pair)
        return found


def system_row(system: System, meets: bool) -> tuple[float, ...]:
    """``BoundTables.systems``; *meets*: messages slow each other down."""
    profile = system.profile
    return (
        float(system.chunks),
        float(system.active_chunks_per_dimension),
        float(system.endpoint_delay_ns),
        float(system.collective_optimization == "local_bw_aware"),
        float(system.inter_dimension != "ascending"),
        float(system.phase_end == "each"),
        float(profile.compute_slots == 1 and profile.communication_streams == 1),
        float(meets),
    )


_NOWHERE = -1
_UNKNOWN = -2


@dataclass(slots=True, eq=False)
class PlaceIndex:
    """A table of the places of layouts on shapes, filled as far as designs ask for them.

    A shape is a number with one digit per dimension, the position of its size among all sizes.
    """

    places: Places
    _sizes: tuple[int, ...] = ()
    _table: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    _known: dict[tuple[int, ...], int] = field(default_factory=dict)

    def find(
        self, layouts: Sequence[Layout], npus_of_link: Ints, layout: Ints, links: Ints
    ) -> Ints:
        """Number of each design's place.

        Args:
            layouts: All of them.
            npus_of_link: Per kind of link, the size of a dimension of it.
            layout: (N,) one per design, negative where there is none.
            links: (N, D) kinds of link.

        Returns:
            (N,) int64; -1 where the plan has other NPUs than the network or does not tile it.
        """
        sizes, digits = np.unique(npus_of_link, return_inverse=True)
        self._reserve(len(layouts), tuple(sizes.tolist()), links.shape[1])
        key = layout.copy()
        for d in range(links.shape[1]):
            key *= sizes.size
            key += digits[links[:, d]]
        missing = layout < 0
        if missing.any():
            key[missing] = self._table.size - 1
        found = self._table[key]
        if (found == _UNKNOWN).any():
            for number in np.unique(key[found == _UNKNOWN]).tolist():
                self._table[number] = self._place(layouts, number, links.shape[1])
            found = self._table[key]
        return found

    def _reserve(self, layouts: int, sizes: tuple[int, ...], dimensions: int) -> None:
        """Make room for all layouts on all shapes; the last entry is for no layout."""
        kept = self._table[:-1] if sizes == self._sizes else self._table[:0]
        room = layouts * len(sizes) ** dimensions - kept.size
        if sizes != self._sizes or room or not self._table.size:
            fresh = np.full(room, _UNKNOWN, np.int64)
            self._sizes, self._table = sizes, np.concatenate([kept, fresh, [_NOWHERE]])

    def _place(self, layouts: Sequence[Layout], number: int, dimensions: int) -> int:
        shape: list[int] = []
        for _ in range(dimensions):
            number, digit = divmod(number, len(self._sizes))
            shape.insert(0, self._sizes[digit])
        npus, groups = layouts[number]
        if prod(shape) != npus:
            return _NOWHERE
        key = (number, *shape)
        if key not in self._known:
            self._known[key] = self.places.add(npus, groups, shape)
        return self._known[key]

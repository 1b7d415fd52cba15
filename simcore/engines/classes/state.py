"""State of a run of histories of NPUs, and how these part while it goes on."""

from dataclasses import dataclass

import numpy as np

from simcore.engines.classes.histories import Histories
from simcore.engines.classes.places import NpuClasses
from simcore.engines.classes.tables import ClassTables
from simcore.engines.events.input import Ints
from simcore.errors import SimulationError
from simcore.kernels.classes import layout as f
from simcore.kernels.classes.layout import Waits
from simcore.kernels.classes.memo import empty_memo, remember
from simcore.kernels.npu.layout import MISSING, NpuLayout, as_record
from simcore.machine.system import ExecutionProfile

_MOST_WAITS = 2**30
"""Entries of the largest table, of four bytes each."""

_FIRST_PLACES, _MOST_PLACES = 1 << 10, 1 << 19
"""Places of the memo's table."""


@dataclass(slots=True, kw_only=True, eq=False)
class ClassState:
    """The kernels' arrays, see ``kernels.classes.layout``.

    Attributes:
        histories: Those of its NPUs; the kernels' classes.
        first: (S + 1,) int64, where the nodes of each stage begin.
        shift: (S,) int64, difference of a node's position and its column in ``waits``.
        marks: Nodes of the first stage at which the kernel stops.
        told: (S,) int64, member of each stage whose nodes are told.
    """

    node: Ints
    npu: Ints
    at: NpuLayout
    table: Ints
    waits: Waits
    event: Ints
    counter: Ints
    memo: Ints
    histories: Histories
    first: Ints
    shift: Ints
    marks: Ints
    told: Ints

    @property
    def arrays(self) -> tuple[Ints, Ints, NpuLayout, Ints, Waits, Ints, Ints]:
        """Arrays for the kernels."""
        return (
            self.node, self.npu, self.at, self.table, self.waits, self.event, self.counter
        )  # fmt: skip

    @property
    def booked(self) -> Ints:
        """(S K, C + 1) int64: a copy of the times by category; the last column is idle time."""
        return self.npu[:, self.at.booked : self.at.booked + self.at.categories + 1].copy()

    @property
    def coming(self) -> Ints:
        """(E, 4) int64: the events to come, in their order."""
        events = self.event[: int(self.counter[f.EVENTS])]
        return events[np.lexsort((events[:, 2], events[:, 1], events[:, 0]))]

    def holds(self, who: int, node: int) -> bool:
        """True if one of an NPU's slots has a node."""
        slots = self.npu[who, self.at.slot : self.at.booked : self.at.slot_fields]
        return bool((slots == node).any())

    def columns(self, stage: int) -> slice:
        """The columns of ``waits`` that tell of a stage."""
        begin = int(self.first[stage] - self.shift[stage - 1]) if stage else 0
        return slice(begin, int(self.first[stage + 1] - self.shift[stage]))


def started(
    tables: ClassTables,
    first: Ints,
    categories: int,
    profile: ExecutionProfile,
    members: int,
    room: int,
) -> ClassState:
    """The arrays before anything has happened: all *members* of a stage are one.

    Args:
        tables: The iteration.
        first: (S + 1,) int64, where the nodes of each stage begin.
        categories: What time is booked under, beside idle.
        profile: What an NPU does at once.
        members: NPUs of a stage.
        room: Nodes that an NPU may have ready at once.
    """
    stages, node = first.size - 1, tables.node
    classes = NpuClasses(class_of=np.zeros(members, np.int64), groups={})
    slots = profile.compute_slots + profile.communication_streams
    at = f.npu_layout(profile.compute_slots, slots, tables.ports, categories, room)
    npu = np.zeros((stages, at.npu_size), np.int64)
    npu[:, at.slot : at.booked : at.slot_fields] = -1
    return ClassState(
        node=node,
        npu=npu,
        at=as_record(at),
        table=np.empty(0, np.int64),
        waits=np.ascontiguousarray(node[None, :-1, MISSING], np.int32),
        event=np.empty((0, 4), np.int64),
        counter=np.zeros(f.COUNTERS, np.int64),
        memo=np.empty(0, np.int64),
        histories=Histories(classes=classes, of_class=np.zeros(1, np.int64)),
        first=first,
        shift=np.zeros(stages, np.int64),
        marks=np.empty(0, np.int64),
        told=np.zeros(stages, np.int64),
    )


def settle(state: ClassState, tables: ClassTables, events: Ints) -> None:
    """Lay out what depends on the histories: table, memo, and the heap with its *events*."""
    counter, npus = state.counter[: f.COUNTERS], state.npu.shape[0]
    counter[f.CLASSES], counter[f.DUE] = state.histories.count, 0
    counter[f.NEW_AXIS] = counter[f.PARTED] = -1
    counter[f.TAKES] = int(tables.takes)
    state.table = tables.write(counter, state.histories, state.marks, state.shift, state.told)
    most = npus * int(state.at.slots)
    state.counter = np.concatenate([counter, np.zeros(3 * most, np.int64)])
    state.memo = empty_memo(_FIRST_PLACES)
    room = f.SPARE_EVENTS + most + 4 * npus + 8 * int(state.at.room)
    state.event = np.concatenate([events, np.empty((room, 4), np.int64)])
    state.counter[f.EVENTS] = state.counter[f.NUMBERS] = events.shape[0]


def keep_ends(state: ClassState, members: Ints, ends: Ints) -> None:
    """Remember when *members* ended that began so; a memory that is full starts anew, larger."""
    while not remember(state.node, state.table, state.counter, state.memo, members, ends):
        places = int(state.memo[f.MEMO_PLACES])
        if places >= _MOST_PLACES:
            return
        state.memo = empty_memo(8 * places)


def tell_apart(state: ClassState, tables: ClassTables, finer: Histories) -> Ints:
    """Go on with *finer* histories, each of which was part of one.

    Collectives that were about to be decided are looked for anew, see ``look_for_collectives``.

    Returns:
        (S H,) int64: what each NPU was before.

    Raises:
        SimulationError: They are too many.
    """
    before = state.histories
    parent = before.of_member[finer.classes.firsts[finer.firsts]]
    events = _for_each(state, parent)
    _drop_ended(state)
    if state.waits.shape[1] * finer.count > _MOST_WAITS:
        raise SimulationError(
            f"{finer.count} places in the groups of a stage end their collectives at different "
            f"times, with {state.waits.shape[1]} nodes to go: too many to follow each; choose "
            "system.phase_end: together"
        )
    old: Ints = np.arange(state.shift.size)[:, None] * before.count + parent[None, :]
    state.waits = state.waits[parent]
    state.npu = state.npu[old.ravel()]
    state.histories = finer
    settle(state, tables, events)
    return old.ravel()


def _for_each(state: ClassState, parent: Ints) -> Ints:
    """The events to come, once for each history that one becomes; *parent*, (H,), of each."""
    coming = state.coming
    who, position = coming[:, 3] >> f.POSITION_BITS, coming[:, 3] & f.POSITION_MASK
    stage, c = np.divmod(who, state.histories.count)
    # a node that ended together with another one has its event still to come
    left = state.waits[c, position - state.shift[stage]] != f.ENDED
    at, now = np.nonzero((c[:, None] == parent[None, :]) & left[:, None])
    events = coming[at]
    events[:, 2] = np.arange(at.size)
    events[:, 3] = (stage[at] * parent.size + now) << f.POSITION_BITS | position[at]
    return events


def _drop_ended(state: ClassState) -> None:
    """Forget the columns of nodes that all NPUs of their stage have behind them."""
    behind = (state.waits == f.ENDED).all(axis=0)
    keep, shift, kept = list[Ints](), list[int](), 0
    for stage, last in enumerate(state.first[1:].tolist()):
        own = state.columns(stage)
        left = np.flatnonzero(~behind[own])
        low = own.start + int(left[0]) if left.size else own.stop
        keep.append(np.arange(low, own.stop))
        kept += own.stop - low
        shift.append(last - kept)
    state.waits = state.waits[:, np.concatenate(keep)]
    state.shift = np.array(shift, np.int64)

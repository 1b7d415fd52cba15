"""A common order of all collectives: NPUs whose groups cross then never wait for each other.

An NPU runs one collective or send at a time. Where it has two free at once it takes the one with
the lower id, and where two NPUs so take the collectives of two groups in different orders, both
wait for ever. Here all collectives of all NPUs are put in one order first, and every NPU keeps to
it: each collective waits for the one before it, and for the sends of its NPU that come before it,
as another member may need them to get there. Nothing else about the run changes.
"""

from collections.abc import Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from simcore.engines.events.joined import joined
from simcore.engines.events.programs import Program, starts
from simcore.formats.astra.log.statistics import ProgramTotals
from simcore.formats.astra.traces.load import LoadedTraces
from simcore.formats.chakra.trace import Flags, Ids, Ints
from simcore.terms import NodeKind

if TYPE_CHECKING:
    from simcore.formats.chakra import Node


def in_common_order(traces: LoadedTraces, *, rendezvous: bool, notes: list[str]) -> LoadedTraces:
    """The traces with every NPU kept to one order of all collectives.

    The order is that in which they could start if communication took no time: by the longest path
    of compute nodes before them, over all NPUs; at one time by the lowest id among their nodes. The
    nodes of a collective are those of one group that agree in kind, size and dimensions, the k-th
    such node of an NPU with the k-th of every other. A receive comes after its send.

    Args:
        traces: Programs of all NPUs.
        rendezvous: Whether a send waits for its receiver: then sends keep to the order, too.
        notes: Receives a remark if no order lets all nodes run.
    """
    machine = _Machine(traces, rendezvous=rendezvous)
    rank = machine.ranks()
    if machine.stuck:
        notes.append(
            f"--group-order=common: in every order {machine.stuck} nodes wait for each other, or "
            "for others that do (a collective counts as one)."
        )
    bounds = machine.first.tolist()
    programs: list[Program] = []
    totals: list[ProgramTotals] = []
    index_of: dict[tuple[int, bytes], int] = {}
    program_of_npu = np.empty_like(traces.program_of_npu)
    nodes: list[tuple[Node, ...]] = []
    for npu, old in enumerate(traces.program_of_npu.tolist()):
        own = slice(bounds[npu], bounds[npu + 1])
        waits = _waits(machine.meets[own], machine.sends[own], rank[own], rendezvous=rendezvous)
        key = old, waits.tobytes()
        if key not in index_of:
            index_of[key] = len(programs)
            programs.append(_with_waits(machine.programs[npu], waits))
            totals.append(traces.totals[old])
            nodes.extend(traces.nodes[old : old + 1])
        program_of_npu[npu] = index_of[key]
    return replace(
        traces,
        programs=joined(programs),
        program_of_npu=program_of_npu,
        totals=tuple(totals),
        nodes=tuple(nodes),
    )


class _Machine:
    """All nodes of all NPUs, one NPU after the other, and the events that they share.

    Attributes:
        programs: Per NPU, its program; parts: the ids of its nodes.
        first: (N + 1,) int64, the first node of each NPU.
        meets: (V,) bool, nodes of collectives that run among NPUs; sends: likewise.
        stuck: How many nodes no order reaches; known after ``ranks``.
    """

    def __init__(self, traces: LoadedTraces, *, rendezvous: bool) -> None:
        programs = list(traces.programs)
        self.programs = [programs[index] for index in traces.program_of_npu.tolist()]
        self.parts: list[Ids] = [program.node_id for program in self.programs]
        sizes = np.array([part.size for part in self.parts])
        self.first = starts(sizes)
        self._npu = np.repeat(np.arange(sizes.size), sizes)
        kind, comm = self._all("kind"), self._all("comm_kind")
        self.sends: Flags = kind == NodeKind.SEND
        self.meets: Flags = comm >= 0
        self._works: Flags = kind == NodeKind.COMPUTE
        self._receives: Flags = (kind == NodeKind.RECV) & (self._all("peer") >= 0)
        self.stuck = 0
        self._event = np.arange(self._npu.size)
        self._join_collectives()
        self._edges = self._dependencies()
        self._join_messages(rendezvous=rendezvous)

    def _all(self, name: str) -> Ints:
        return np.concatenate([getattr(program, name) for program in self.programs])

    def _join_collectives(self) -> None:
        rows = np.flatnonzero(self.meets)
        names = ("group", "comm_kind", "size_bytes", "involved_dims")
        columns = [self._all(name)[rows] for name in names]
        count = _occurrence([*columns, self._npu[rows]])
        same = np.unique(np.stack([*columns, count], axis=1), axis=0, return_inverse=True)[1]
        first = np.full(same.max(initial=-1) + 1, self._event.size)
        np.minimum.at(first, same, rows)
        self._event[rows] = first[same]

    def _dependencies(self) -> tuple[Ints, Ints]:
        before = [p.dep + at for p, at in zip(self.programs, self.first.tolist(), strict=False)]
        counts = np.concatenate([np.diff(program.dep_start) for program in self.programs])
        return np.concatenate(before), np.repeat(np.arange(counts.size), counts)

    def _join_messages(self, *, rendezvous: bool) -> None:
        """Let a receive come after its send, or with it where that waits for the receive."""
        rows = np.flatnonzero(self.sends | self._receives)
        peer, own, sends = self._all("peer")[rows], self._npu[rows], self.sends[rows]
        columns = [
            self._all("tag")[rows],
            np.where(sends, own, peer),
            np.where(sends, peer, own),
            self._all("size_bytes")[rows],
        ]
        columns.append(_occurrence([*columns, sends.astype(np.int64)]))
        order = np.lexsort([~sends, *columns])
        key = np.stack(columns, axis=1)[order]
        pairs = np.flatnonzero((key[1:] == key[:-1]).all(axis=1))
        source, target = rows[order[pairs]], rows[order[pairs + 1]]
        if rendezvous:
            self._event[target] = source
            return
        before, after = self._edges
        self._edges = np.concatenate((before, source)), np.concatenate((after, target))

    def ranks(self) -> Ints:
        """(V,) int64, place of each node in the common order; those never reached come last."""
        rank = np.full(self._event.size, self._event.size)
        before, after = self._event[self._edges[0]], self._event[self._edges[1]]
        order = np.argsort(before, kind="stable")
        start = np.searchsorted(before[order], np.arange(self._event.size + 1)).tolist()
        children = after[order].tolist()
        waits = np.bincount(after, minlength=self._event.size).tolist()
        ids = np.full(self._event.size, np.iinfo(np.uint64).max, np.uint64)
        np.minimum.at(ids, self._event, np.concatenate(self.parts))
        lasts = np.where(self._works, self._all("duration_ns"), 0).tolist()
        known = ids.tolist()
        events = np.unique(self._event)
        time = [0] * self._event.size
        free = [(0, known[event], event) for event in events.tolist() if not waits[event]]
        heapify(free)
        reached = 0
        while free:
            now, _, event = heappop(free)
            rank[event] = reached
            reached += 1
            for child in children[start[event] : start[event + 1]]:
                time[child] = max(time[child], now + lasts[event])
                waits[child] -= 1
                if not waits[child]:
                    heappush(free, (time[child], known[child], child))
        self.stuck = events.size - reached
        return rank[self._event]


def _occurrence(columns: Sequence[Ints]) -> Ints:
    """Count of rows with equal values in all *columns* before each row."""
    size = columns[0].size
    order = np.lexsort(columns)
    table = np.stack(columns, axis=1)[order]
    begins = np.ones(size, np.bool_)
    begins[1:] = (table[1:] != table[:-1]).any(axis=1)
    place = np.arange(size)
    count = np.empty(size, np.int64)
    count[order] = place - np.maximum.accumulate(np.where(begins, place, 0))
    return count


def _waits(meets: Flags, sends: Flags, rank: Ints, *, rendezvous: bool) -> Ints:
    """(W, 2) int64, who waits for whom among the nodes of one NPU, to keep to the order."""
    rows = np.flatnonzero(meets | sends)
    rows = rows[np.argsort(rank[rows], kind="stable")].tolist()
    found: list[tuple[int, int]] = []
    before: list[int] = []  # the last collective, and the sends since
    for row in rows:
        if meets[row] or rendezvous:
            found += [(row, earlier) for earlier in before]
            before = []
        before.append(row)
    return np.array(found, np.int64).reshape(-1, 2)


def _with_waits(program: Program, waits: Ints) -> Program:
    if not waits.size:
        return program
    size = program.kind.size
    waiting = np.concatenate((np.repeat(np.arange(size), np.diff(program.dep_start)), waits[:, 0]))
    pairs = np.unique(waiting * size + np.concatenate((program.dep, waits[:, 1])))
    dep_start = np.searchsorted(pairs, np.arange(size + 1) * size)
    return replace(program, dep_start=dep_start, dep=pairs % size)

"""Lanes of nodes: on each one, slices follow each other and never overlap.

A receive is posted long before its message is sent; its slice begins when both have happened.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappush, heapreplace

import numpy as np

from simcore.engines.classes.run import NodeTimes
from simcore.engines.events.input import Ints
from simcore.terms import NodeKind

SORTS = ("compute", "communication", "receives", "memory tiers")
"""Sorts of lanes, in the order in which they stand; each takes as many lanes as slices overlap."""

_SORT_OF = {
    NodeKind.COMPUTE: 0,
    NodeKind.COLLECTIVE: 1,
    NodeKind.SEND: 1,
    NodeKind.RECV: 2,
    NodeKind.MEM_LOAD: 3,
    NodeKind.MEM_STORE: 3,
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lanes:
    """Lanes and slices of T nodes.

    Attributes:
        start_ns, end_ns: (T,) int64, slice of each node.
        sent_by: (T,) int64, the send of each receive; -1 for other nodes.
        lane: (T,) int64, lane of each node within its stage, from 1 on.
        names: Of each stage, names of its lanes.
    """

    start_ns: Ints
    end_ns: Ints
    sent_by: Ints
    lane: Ints
    names: Sequence[Sequence[str]]


def lanes_of(nodes: NodeTimes) -> Lanes:
    """Give every node a lane of its stage and sort, the first that is free."""
    sorts = np.array([_SORT_OF.get(kind, 0) for kind in NodeKind])
    sent_by, end_ns = _senders(nodes), nodes.execution.end_ns
    began = nodes.execution.start_ns
    start_ns = np.where(sent_by < 0, began, np.clip(began[sent_by], began, end_ns))
    lane, names, first = np.empty(start_ns.size, np.int64), [], 0
    for stage in nodes.graph.stages:
        own = slice(first, first + stage.nodes)
        sort = sorts[stage.kind]
        of_stage: list[str] = []
        for number, name in enumerate(SORTS):
            chosen = np.flatnonzero(sort == number)
            found, lanes = _packed(start_ns[own][chosen], end_ns[own][chosen])
            lane[own][chosen] = len(of_stage) + 1 + found
            of_stage += [name if one == 0 else f"{name} {one + 1}" for one in range(lanes)]
        names.append(tuple(of_stage))
        first += stage.nodes
    return Lanes(start_ns=start_ns, end_ns=end_ns, sent_by=sent_by, lane=lane, names=names)


def _senders(nodes: NodeTimes) -> Ints:
    """(T,) int64: for each receive the send of the same message, else -1."""
    sends: dict[tuple[int, int, int], int] = {}
    receives: list[tuple[int, tuple[int, int, int]]] = []
    first = 0
    for stage in nodes.graph.stages:
        messages = np.flatnonzero(stage.tag >= 0)
        columns = (messages, stage.kind[messages], stage.peer_stage[messages], stage.tag[messages])
        for at, kind, peer, tag in zip(*(column.tolist() for column in columns), strict=True):
            if kind == NodeKind.SEND:
                sends[stage.stage, peer, tag] = first + at
            else:
                receives.append((first + at, (peer, stage.stage, tag)))
        first += stage.nodes
    found = np.full(nodes.execution.start_ns.size, -1, np.int64)
    for at, key in receives:
        found[at] = sends[key]
    return found


def _packed(start_ns: Ints, end_ns: Ints) -> tuple[Ints, int]:
    """(N,) int64 lanes from 0 on for slices, and how many there are: as few as can be."""
    lane = np.zeros(start_ns.size, np.int64)
    free: list[tuple[int, int]] = []
    order = np.lexsort((end_ns, start_ns))
    rows = zip(order.tolist(), start_ns[order].tolist(), end_ns[order].tolist(), strict=True)
    for at, start, end in rows:
        if free and free[0][0] <= start:
            lane[at] = free[0][1]
            heapreplace(free, (end, free[0][1]))
        else:
            lane[at] = len(free)
            heappush(free, (end, len(free)))
    return lane, len(free)

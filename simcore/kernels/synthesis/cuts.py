"""Greatest flows (Dinic's algorithm) on small and middling graphs, capacities in doubles."""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

EPSILON = 1e-11


@njit(cache=True, nogil=True)
def greatest_flow(
    source: int,
    sink: int,
    offsets: Ints,
    to: Ints,
    twin: Ints,
    room: Floats,
    level: Ints,
    at: Ints,
    way: Ints,
) -> float:
    """Send as much as can be from *source* to *sink*; the nodes with ``level`` >= 0 are the cut.

    Args:
        source: Node at which the flow begins.
        sink: Node at which it ends.
        offsets: (nodes + 1,) where the arcs of each node begin.
        to: (A,) next node of each arc.
        twin: (A,) the arc back.
        room: (A,) capacity of each arc that is left; changed.
        level: (nodes,) workspace; in the end distance from the source in what is left, or -1.
        at: (nodes,) workspace.
        way: (nodes,) workspace.

    Returns:
        The flow.
    """
    total = 0.0
    least = EPSILON * (room.max() if len(room) else 1.0)
    while _levels(source, offsets, to, room, least, level, way) and level[sink] >= 0:
        at[:] = offsets[:-1]
        node, length = source, 0
        while True:
            if node == sink:
                sent = np.inf
                for step in range(length):
                    sent = min(sent, room[way[step]])
                total += sent
                for step in range(length - 1, -1, -1):
                    room[way[step]] -= sent
                    room[twin[way[step]]] += sent
                    if room[way[step]] <= least:
                        length = step
                node = to[twin[way[length]]]
                continue
            while at[node] < offsets[node + 1]:
                arc = at[node]
                if room[arc] > least and level[to[arc]] == level[node] + 1:
                    break
                at[node] += 1
            if at[node] < offsets[node + 1]:
                way[length] = at[node]
                length += 1
                node = to[at[node]]
            elif length == 0:
                break
            else:
                length -= 1
                node = to[twin[way[length]]]
                at[node] += 1
    return total


@njit(cache=True, nogil=True)
def _levels(
    source: int, offsets: Ints, to: Ints, room: Floats, least: float, level: Ints, queue: Ints
) -> bool:
    level[:] = -1
    level[source] = 0
    queue[0] = source
    done, count = 0, 1
    while done < count:
        node = queue[done]
        done += 1
        for arc in range(offsets[node], offsets[node + 1]):
            if room[arc] > least and level[to[arc]] < 0:
                level[to[arc]] = level[node] + 1
                queue[count] = to[arc]
                count += 1
    return True


@njit(cache=True, nogil=True)
def gather_time(
    npus: int,
    offsets: Ints,
    to: Ints,
    twin: Ints,
    capacity: Floats,
    supply: Ints,
    start: float,
) -> float:
    """Least time in which one unit of every NPU can flow to every other, by the worst cut.

    Args:
        npus: NPUs, the first nodes; the last but one is the source of all.
        offsets: (nodes + 1,) as for ``greatest_flow``.
        to: (A,) as there.
        twin: (A,) as there.
        capacity: (A,) units per time of each arc; of those of the source, not used.
        supply: (npus,) arc from the source to each NPU.
        start: A time that is known to be needed.

    Returns:
        The time; infinite where an NPU cannot be reached.
    """
    nodes = len(offsets) - 1
    level, at, way = (
        np.empty(nodes, np.int64),
        np.empty(nodes, np.int64),
        np.empty(nodes, np.int64),
    )
    time = start
    for sink in range(npus):
        while True:
            room = capacity.copy()
            for npu in range(npus):
                room[supply[npu]] = 0.0 if npu == sink else 1.0 / time
            flow = greatest_flow(nodes - 2, sink, offsets, to, twin, room, level, at, way)
            if flow * time >= (npus - 1) * (1.0 - 1e-9):
                break
            behind = 0
            for npu in range(npus):
                behind += level[npu] >= 0
            through = 0.0
            for node in range(nodes - 2):
                for arc in range(offsets[node], offsets[node + 1]):
                    if level[node] >= 0 and level[to[arc]] < 0:
                        through += capacity[arc]
            if through <= 0.0:
                return np.inf
            time = behind / through
    return time


@njit(cache=True, nogil=True)
def narrowest_pair(npus: int, offsets: Ints, to: Ints, twin: Ints, capacity: Floats) -> float:
    """Least greatest flow between any two NPUs, either way."""
    nodes = len(offsets) - 1
    level, at, way = (
        np.empty(nodes, np.int64),
        np.empty(nodes, np.int64),
        np.empty(nodes, np.int64),
    )
    least = np.inf
    for other in range(1, npus):
        for back in range(2):
            room = capacity.copy()
            a, b = (other, 0) if back else (0, other)
            least = min(least, greatest_flow(a, b, offsets, to, twin, room, level, at, way))
    return least

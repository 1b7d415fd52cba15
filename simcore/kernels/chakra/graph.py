"""Graph kernels for traces: links ids to positions, finds unreachable nodes and longest paths."""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit

Ints = NDArray[np.int64]

Ids = NDArray[np.uint64]
Positions = NDArray[np.int32]


@njit(cache=True)
def _position(ids: Ids, begin: int, end: int, wanted: int) -> int:
    """Position of *wanted* among the ascending ids from *begin* to *end*, or -1."""
    guess = np.int64(wanted - ids[begin])  # right where no number is left out, as in most files
    if 0 <= guess < end - begin and ids[begin + guess] == wanted:
        return begin + guess
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if ids[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < end and ids[low] == wanted else -1


@njit(cache=True)
def link_dependencies(
    ids: Ids,
    rows: Ints,
    first: Ints,
    starts: tuple[Ints, Ints],
    deps: tuple[Ids, Ids],
    out: tuple[Ints, Positions],
) -> tuple[int, int, int, int]:
    """Turns dependency ids into positions: distinct, ascending, data and control together.

    Args:
        ids: (T,) uint64, node ids, ascending in each file.
        rows: (T,) int64, row of each position.
        first: (F + 1,) int64, first position of each file.
        starts: Two (T + 1,) int64, where the data and control ids of each row start.
        deps: Two (E,) uint64, the ids.
        out: dep_start, (T + 1,) int64, and dep, (E1 + E2,) int32, positions that count from the
            file's first; receive the result.

    Returns:
        Entries of dep used, position and list entry of the first unknown id, else -1, -1, and how
        many nodes wait for a node behind them.
    """
    dep_start, dep = out
    used, backwards = 0, 0
    dep_start[0] = 0
    for f in range(first.size - 1):
        begin, end = first[f], first[f + 1]
        for t in range(begin, end):
            mine = used
            for which in range(2):
                start = starts[which]
                for e in range(start[rows[t]], start[rows[t] + 1]):
                    parent = _position(ids, begin, end, deps[which][e]) - begin
                    if parent < 0:
                        return used, t, 2 * e + which, backwards
                    used = _inserted(dep, mine, used, parent)
            if used > mine and dep[used - 1] >= t - begin:
                backwards += 1
            dep_start[t + 1] = used
    return used, -1, -1, backwards


@njit(cache=True)
def _inserted(dep: Positions, first: int, used: int, parent: int) -> int:
    """Put *parent* among the ascending positions from *first* on, if it is new; their end."""
    at = used
    while at > first and dep[at - 1] > parent:
        at -= 1
    if at > first and dep[at - 1] == parent:
        return used
    for i in range(used, at, -1):
        dep[i] = dep[i - 1]
    dep[at] = parent
    return used + 1


@njit(cache=True)
def children_of(dep_start: Ints, dep: Positions, start: Ints, child: Ints, fill: Ints) -> None:
    """The reverse graph: ``child[start[t]:start[t + 1]]`` wait for t, ascending.

    Args:
        dep_start: (T + 1,) int64, where each node's dependencies start in *dep*.
        dep: (E,) int32, positions.
        start: (T + 1,) int64, receives the result.
        child: (E,) int64, likewise.
        fill: (T,) int64, scratch.
    """
    nodes = dep_start.size - 1
    start[:] = 0
    for e in range(dep.size):
        start[dep[e] + 1] += 1
    for t in range(nodes):
        start[t + 1] += start[t]
        fill[t] = start[t]
    for t in range(nodes):
        for e in range(dep_start[t], dep_start[t + 1]):
            child[fill[dep[e]]] = t
            fill[dep[e]] += 1


@njit(cache=True)
def longest_paths(dep_start: Ints, dep: Positions, weight: Ints, end: Ints, scratch: Ints) -> None:
    """End of each node if nothing but dependencies delayed it; -1 for nodes never reached.

    Args:
        dep_start: (T + 1,) int64, where each node's dependencies start in *dep*.
        dep: (E,) int32, positions.
        weight: (T,) int64, duration of each node.
        end: (T,) int64, receives the ends; a node in or behind a cycle has -1.
        scratch: (4T + 1 + E,) int64.
    """
    nodes, edges = dep_start.size - 1, dep.size
    start = scratch[: nodes + 1]
    child = scratch[nodes + 1 : nodes + 1 + edges]
    at = nodes + 1 + edges
    waiting = scratch[at : at + nodes]
    ready = scratch[at + nodes : at + 2 * nodes]
    queue = scratch[at + 2 * nodes : at + 3 * nodes]
    children_of(dep_start, dep, start, child, queue)
    head, tail = 0, 0
    for t in range(nodes):
        end[t] = -1
        ready[t] = 0
        waiting[t] = dep_start[t + 1] - dep_start[t]
        if waiting[t] == 0:
            queue[tail] = t
            tail += 1
    while head < tail:
        t = queue[head]
        head += 1
        end[t] = ready[t] + weight[t]
        for e in range(start[t], start[t + 1]):
            c = child[e]
            ready[c] = max(ready[c], end[t])
            waiting[c] -= 1
            if waiting[c] == 0:
                queue[tail] = c
                tail += 1

"""The dependency graph of traces, by position in ascending order of node id."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.errors import ConfigError
from simcore.formats.chakra.trace import Flags, Ids, Ints, Trace
from simcore.kernels.native import call


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DependencyGraph:
    """Dependencies of the nodes of a trace.

    Attributes:
        first: (F + 1,) int64, first position of each file.
        rows: (T,) int64, row of each position.
        ids: (T,) uint64, node ids, ascending in each file.
        dep_start: (T + 1,) int64; position t waits for ``dep[dep_start[t]:dep_start[t + 1]]``.
        dep: (E,) int32 positions, distinct and ascending per node, from the file's first on.
        ascending: Nobody waits for a node behind it, so that there are no cycles.
    """

    first: Ints
    rows: Ints
    ids: Ids
    dep_start: Ints
    dep: NDArray[np.int32]
    ascending: bool

    def longest_paths(self, weight: Ints) -> Ints:
        """(T,) int64 end of each node if only dependencies delay it; -1 for those never free."""
        end = np.empty(self.rows.size, np.int64)
        for a, b in zip(self.first[:-1].tolist(), self.first[1:].tolist(), strict=True):
            edges = self.dep_start[a : b + 1]
            dep = self.dep[edges[0] : edges[-1]]
            scratch = np.empty(4 * (b - a) + 1 + dep.size, np.int64)
            call("longest_paths", edges - edges[0], dep, weight[a:b], end[a:b], scratch)
        return end

    def never_free(self) -> Flags:
        """(T,) bool, the nodes in or behind a cycle."""
        if self.ascending:
            return np.zeros(self.rows.size, np.bool_)
        return self.longest_paths(np.zeros(self.rows.size, np.int64)) < 0


def build_graph(trace: Trace) -> DependencyGraph:
    """Links the dependencies of *trace*, data and control together.

    Raises:
        ConfigError: An id stands twice, or a dependency names no node of the file.
    """
    ids, first = trace.ids, trace.first
    rows = np.arange(ids.size)
    if not _all_within(ids[1:] > ids[:-1], first):
        file = np.repeat(np.arange(first.size - 1), np.diff(first))
        rows = np.lexsort((ids, file))
        ids = ids[rows]
        if not _all_within(ids[1:] > ids[:-1], first):
            _refuse_twice(trace, ids, rows)
    dep_start = np.empty(ids.size + 1, np.int64)
    dep = np.empty(trace.data_deps.size + trace.ctrl_deps.size, np.int32)
    found = np.empty(4, np.int64)
    call(
        "link_dependencies", ids, rows, first, trace.data_start, trace.ctrl_start,
        trace.data_deps, trace.ctrl_deps, dep_start, dep, found,
    )  # fmt: skip
    used, node, entry, backwards = found.tolist()
    if node >= 0:
        listed, kind = (trace.ctrl_deps, "control") if entry % 2 else (trace.data_deps, "data")
        rule = f"each {kind} dependency must be the id of a node in the same file"
        raise ConfigError(trace.place(int(rows[node])), rule, got=int(listed[entry // 2]))
    return DependencyGraph(
        first=first,
        rows=rows,
        ids=ids,
        dep_start=dep_start,
        dep=dep[:used].copy(),
        ascending=not backwards,
    )


def _all_within(holds: Flags, first: Ints) -> bool:
    """True if all pairs of neighbours in one file fulfil a condition."""
    across = first[1:-1][(first[1:-1] > 0) & (first[1:-1] <= holds.size)]
    return int(holds.sum()) + int((~holds[np.unique(across) - 1]).sum()) == holds.size


def _refuse_twice(trace: Trace, ids: Ids, rows: Ints) -> None:
    twice = ids[1:] == ids[:-1]
    twice[trace.first[1:-1] - 1] = False
    row = int(rows[np.argmax(twice)])
    raise ConfigError(trace.place(row), "ids must be unique", got="two nodes of that id")


def refuse_endless(trace: Trace, graph: DependencyGraph) -> Flags:
    """The nodes that can never start because of a cycle, by position.

    Raises:
        ConfigError: No node at all of a file can start, or it has no nodes.
    """
    for file in np.flatnonzero(np.diff(graph.first) == 0)[:1].tolist():
        at = str(trace.path_of(file))
        raise ConfigError(at, "a trace must hold nodes", got="metadata only")
    stuck = graph.never_free()
    if stuck.any():
        for file, part in enumerate(np.split(stuck, graph.first[1:-1])):
            if part.all():
                ids = graph.ids[graph.first[file] : graph.first[file + 1]]
                rule = "some node must be free of dependencies (these form cycles)"
                raise ConfigError(str(trace.path_of(file)), rule, got=[int(i) for i in ids[:8]])
    return stuck

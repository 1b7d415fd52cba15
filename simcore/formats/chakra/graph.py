"""The dependency graph of a trace, by position in ascending order of node id."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.errors import ConfigError
from simcore.formats.chakra.trace import Ids, Ints, Trace
from simcore.kernels.native import call


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DependencyGraph:
    """Who waits for whom.

    Attributes:
        rows: (T,) int64, file row of each position.
        ids: (T,) uint64, ascending node ids.
        dep_start: (T + 1,) int64; position t waits for ``dep[dep_start[t]:dep_start[t + 1]]``.
        dep: (E,) int64 positions, distinct and ascending per node.
    """

    rows: Ints
    ids: Ids
    dep_start: Ints
    dep: Ints

    def longest_paths(self, weight: Ints) -> Ints:
        """(T,) int64 end of each node if only dependencies delay it; -1 for those never free."""
        end = np.empty(self.rows.size, np.int64)
        scratch = np.empty(4 * self.rows.size + 1 + self.dep.size, np.int64)
        call("longest_paths", self.dep_start, self.dep, weight, end, scratch)
        return end

    def never_free(self) -> NDArray[np.bool_]:
        """(T,) bool, the nodes in or behind a cycle."""
        return self.longest_paths(np.zeros(self.rows.size, np.int64)) < 0


def build_graph(trace: Trace) -> DependencyGraph:
    """Links the dependencies of *trace*, data and control together.

    Raises:
        ConfigError: An id stands twice, or a dependency names no node of the file.
    """
    ids = trace.ids
    rows = np.argsort(ids, kind="stable")
    ids = ids[rows]
    twice = np.flatnonzero(ids[1:] == ids[:-1])
    if twice.size:
        raise ConfigError(
            trace.place(int(rows[twice[0]])), "ids must be unique", got="two nodes of that id"
        )
    dep_start = np.empty(ids.size + 1, np.int64)
    dep = np.empty(trace.data_deps.size + trace.ctrl_deps.size, np.int64)
    found = np.empty(3, np.int64)
    call(
        "link_dependencies",
        ids,
        rows,
        trace.data_start,
        trace.ctrl_start,
        trace.data_deps,
        trace.ctrl_deps,
        dep_start,
        dep,
        found,
    )
    used, node, entry = found.tolist()
    if node >= 0:
        listed, kind = (trace.ctrl_deps, "control") if entry % 2 else (trace.data_deps, "data")
        rule = f"each {kind} dependency must be the id of a node in the same file"
        raise ConfigError(trace.place(int(rows[node])), rule, got=int(listed[entry // 2]))
    return DependencyGraph(rows=rows, ids=ids, dep_start=dep_start, dep=dep[:used].copy())


def refuse_endless(trace: Trace, graph: DependencyGraph) -> NDArray[np.bool_]:
    """The nodes that can never start because of a cycle, by position.

    Raises:
        ConfigError: No node at all can start, or the trace has no nodes.
    """
    if not len(trace):
        raise ConfigError(str(trace.path), "a trace must hold nodes", got="metadata only")
    stuck = graph.never_free()
    if stuck.all():
        rule = "some node must be free of dependencies (these form cycles)"
        raise ConfigError(str(trace.path), rule, got=[int(i) for i in graph.ids[:8]])
    return stuck

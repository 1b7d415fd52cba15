"""Critical path of an executed iteration: the chain of nodes and waits that its time consists of.

The walk begins at the end of the node that ends last and goes back to 0. Whatever ended last before
a node began was what it waited for: a node that it depends on, the node that held its slot, or for
a receive the send on the other stage. Works on recorded times alone, so no engine is slowed by it.
Source: critical path method, Kelley and Walker, "Critical-Path Planning and Scheduling", 1959.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from simcore.engines.attribution import Cause, Reason
from simcore.engines.classes.run import NodeTimes
from simcore.engines.moving import LOST
from simcore.engines.stages.lowering import p2p_hop
from simcore.engines.stages.times import place_groups
from simcore.kernels.npu import layout as n
from simcore.machine import Dimension
from simcore.terms import CollectiveKind, NodeKind
from simcore.workload.graph import ports_of

_COMPUTE, _COLLECTIVE, _RECV = map(int, (NodeKind.COMPUTE, NodeKind.COLLECTIVE, NodeKind.RECV))
_MOVES = (int(NodeKind.MEM_LOAD), int(NodeKind.MEM_STORE))
_OF_ITEMS = (_COMPUTE, _COLLECTIVE, *_MOVES)
_LOST = Reason(Cause.LOST)


@dataclass(frozen=True, slots=True)
class PathPart:
    """Part of the critical path, from *start_ns* to *end_ns*, on the NPUs of *stage*.

    Attributes:
        node: Position in the stage's graph; -1: a wait that no recorded node explains.
    """

    stage: int
    node: int
    start_ns: int
    end_ns: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class CriticalPath:
    """Parts in order of time; each begins where the one before ends, the first at 0."""

    parts: tuple[PathPart, ...]

    @property
    def time_ns(self) -> int:
        """Length of the path, the iteration time."""
        return sum(part.end_ns - part.start_ns for part in self.parts)

    def by_reason_ns(self) -> dict[Reason, int]:
        """Nanoseconds of each reason, largest first; they sum to ``time_ns``."""
        of_object: dict[int, tuple[Reason, int]] = {}  # thousands of parts share a few reasons
        for part in self.parts:
            _, so_far = of_object.get(id(part.reason), (part.reason, 0))
            of_object[id(part.reason)] = part.reason, so_far + part.end_ns - part.start_ns
        spent: dict[Reason, int] = {}
        for reason, time_ns in of_object.values():
            spent[reason] = spent.get(reason, 0) + time_ns
        return dict(sorted(spent.items(), key=lambda item: (-item[1], item[0])))


def critical_path(nodes: NodeTimes, dimensions: Sequence[Dimension]) -> CriticalPath:
    """Walk back from the node that ends last; the parts sum to its end in integer nanoseconds.

    Args:
        nodes: An executed iteration.
        dimensions: The network that it ran on, innermost first.
    """
    walk, parts = _Walk(nodes, dimensions), list[PathPart]()
    waits = Reason(Cause.WAIT)
    at = int(nodes.execution.end_ns.argmax())
    now = walk.end[at]
    while now > 0:
        start = walk.start[at]
        if start > now:
            start = now
        before = walk.before(at, start)
        source = walk.source(at)
        if source >= 0 and start < walk.end[source] <= now and source not in walk.seen:
            before, start = source, walk.end[source]  # it waited for this message to be sent
        if start < now:
            parts += walk.parts(at, start, now)
        if before < 0:
            if start > 0:
                parts.append(PathPart(walk.stage(at), -1, 0, start, waits))
            break
        ended = walk.end[before]
        if ended > start:
            ended = start
        elif ended < start:
            parts.append(PathPart(walk.stage(at), -1, ended, start, waits))
        at, now = before, ended
    return CriticalPath(tuple(reversed(parts)))


@dataclass(frozen=True, slots=True)
class _Slots:
    """Lists of what the nodes of a stage may have waited for there.

    Attributes:
        before: The node that last began before each one in its slot, among those of all stages;
            -1: there is none, or it needs no slot.
        dep_start: Place of each node's first dependency in *dep*.
        dep: Nodes that others depend on, likewise.
        item: As of the stage's graph.
        peer_stage: Likewise.
    """

    before: list[int]
    dep_start: list[int]
    dep: list[int]
    item: list[int]
    peer_stage: list[int]


class _Walk:
    """Nodes of all stages in one row, and what each may have waited for."""

    def __init__(self, nodes: NodeTimes, dimensions: Sequence[Dimension]) -> None:
        self._graph, stages = nodes.graph, nodes.graph.stages
        self._dimensions = dimensions
        self._places = place_groups(nodes.graph.groups, dimensions)
        # lists: a walk looks at single nodes, of which Python is quicker to fetch from them
        self.start: list[int] = nodes.execution.start_ns.tolist()
        self.end: list[int] = nodes.execution.end_ns.tolist()
        loses, own_ns = LOST in nodes.lowered.categories, nodes.lowered.node[:, n.DURATION]
        self._least: list[int] = own_ns.tolist() if loses else self.end
        self.seen = set[int]()
        sizes = [stage.nodes for stage in stages]
        self._first: list[int] = np.cumsum([0, *sizes]).tolist()
        self._stage: list[int] = np.repeat(np.arange(len(sizes)), sizes).tolist()
        self._kind: list[int] = np.concatenate([stage.kind for stage in stages]).tolist()
        self._sends: dict[tuple[int, int, int], int] = {}
        for stage, first in zip(stages, self._first, strict=False):
            sends = np.flatnonzero(stage.kind == NodeKind.SEND)
            columns = (sends, stage.peer_stage[sends], stage.tag[sends])
            for i, peer, tag in zip(*(column.tolist() for column in columns), strict=True):
                self._sends[stage.stage, peer, tag] = first + i
        ports = ports_of(nodes.graph.transfers)
        self._port_lanes = np.array([2 + ports[one.port] for one in nodes.graph.transfers], int)
        self._start_ns = nodes.execution.start_ns
        self._slots: list[_Slots | None] = [None] * len(sizes)  # of those that the walk comes to
        self._reasons: dict[tuple[int, ...], Reason] = {}

    def _made(self, stage: int) -> "_Slots":
        """Slots of *stage*, made when the walk first comes to it: one after another few do."""
        graph, first = self._graph.stages[stage], self._first[stage]
        start = self._start_ns[first : self._first[stage + 1]]
        lane_of = (graph.kind != _COMPUTE).astype(np.int64)  # 1 communicates; then each port
        moves = np.flatnonzero(np.isin(graph.kind, _MOVES))
        if moves.size:
            lane_of[moves] = self._port_lanes[graph.item[moves]]
        lane_of[graph.kind == _RECV] = -1
        before = np.full(lane_of.size, -1, np.int64)
        for lane in np.unique(lane_of[lane_of >= 0]).tolist():
            own = np.flatnonzero(lane_of == lane)
            own = own[np.argsort(start[own], kind="stable")]
            place = np.searchsorted(start[own], start[own], side="left")
            before[own] = np.where(place > 0, first + own[place - 1], -1)
        columns = (before, graph.dep_start, first + graph.dep, graph.item, graph.peer_stage)
        found = self._slots[stage] = _Slots(*(column.tolist() for column in columns))
        return found

    def stage(self, at: int) -> int:
        return self._stage[at]

    def source(self, at: int) -> int:
        """The send of a receive, else -1."""
        if self._kind[at] != _RECV:
            return -1
        stage = self._stage[at]
        graph, i = self._graph.stages[stage], at - self._first[stage]
        return self._sends.get((int(graph.peer_stage[i]), stage, int(graph.tag[i])), -1)

    def before(self, at: int, start: int) -> int:
        """Cause that the node which began at *start* waited for, -1: nothing that is recorded.

        Of its dependencies, and of what ran in the slot before (some slots are free before the
        end), the one that ended last.
        """
        seen, ends, starts = self.seen, self.end, self.start
        seen.add(at)
        stage = self._stage[at]
        i, slots = at - self._first[stage], self._slots[stage] or self._made(stage)
        found = slots.dep[slots.dep_start[i] : slots.dep_start[i + 1]]
        if slots.before[i] >= 0:
            found.append(slots.before[i])
        best, latest_ns, began_ns = -1, -1, -1
        for node in found:
            if node not in seen:
                end_ns = ends[node]
                if end_ns > start:
                    end_ns = start
                if end_ns > latest_ns or (end_ns == latest_ns and starts[node] > began_ns):
                    best, latest_ns, began_ns = node, end_ns, starts[node]
        return best

    def parts(self, at: int, start: int, end: int) -> list[PathPart]:
        """Parts of a node's time, the last first: a compute may have lost some to communication."""
        stage, kind = self._stage[at], self._kind[at]
        node = at - self._first[stage]
        own = PathPart(stage, node, start, end, self._reason(stage, node, kind))
        lost = self.end[at] - self.start[at] - self._least[at] if kind == _COMPUTE else 0
        if lost <= 0 or end - lost <= start:
            return [own]
        later = PathPart(stage, node, end - lost, end, _LOST)
        return [later, replace(own, end_ns=end - lost)]

    def _reason(self, stage: int, node: int, kind: int) -> Reason:
        slots = self._slots[stage] or self._made(stage)
        of_item = kind in _OF_ITEMS
        key = (kind, slots.item[node]) if of_item else (stage, slots.peer_stage[node], -1)
        found = self._reasons.get(key)
        if found is None:
            found = self._reasons[key] = self._new_reason(stage, node, kind)
        return found

    def _new_reason(self, stage: int, node: int, kind: int) -> Reason:
        graph = self._graph.stages[stage]
        item = int(graph.item[node])
        if kind == _COMPUTE:
            operator = self._graph.operators[item]
            return Reason(Cause.COMPUTE, operator.name, phase=str(operator.phase))
        if kind == _COLLECTIVE:
            work = self._graph.collectives[item]
            name = CollectiveKind(work.kind).name.lower()
            place = self._places.get(work.axis)
            used = tuple(place.involved) if place is not None else self._crossed(0, -1)
            return Reason(Cause.COLLECTIVE, name, str(work.axis), str(work.phase), used)
        if kind in _MOVES:
            moved = self._graph.transfers[item]
            return Reason(Cause.TRANSFER, moved.name, moved.category, str(moved.phase))
        used = self._crossed(stage, int(graph.peer_stage[node]))
        return Reason(Cause.MESSAGE, axis="pp", dimensions=used)

    def _crossed(self, stage: int, peer: int) -> tuple[int, ...]:
        """The dimension between two stages, as their first NPUs see it; -1: the last stage."""
        plan = self._graph.plan
        if plan.pp == 1:
            return ()
        ends = (stage * plan.stage_stride, peer % plan.pp * plan.stage_stride)
        return (p2p_hop(self._dimensions, *ends)[0],)

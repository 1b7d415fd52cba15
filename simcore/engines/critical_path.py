"""Critical path of an executed iteration: the chain of nodes and waits that its time consists of.

The walk begins at the end of the node that ends last and goes back to 0. Whatever ended last before
a node began was what it waited for: a node that it depends on, the node that held its slot, or for
a receive the send on the other stage. Works on recorded times alone, so no engine is slowed by it.
Source: critical path method, Kelley and Walker, "Critical-Path Planning and Scheduling", 1959.
"""

from bisect import bisect_left, bisect_right
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
        start = min(walk.start[at], now)
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
        ended = min(walk.end[before], start)
        if ended < start:
            parts.append(PathPart(walk.stage(at), -1, ended, start, waits))
        at, now = before, ended
    return CriticalPath(tuple(reversed(parts)))


@dataclass(frozen=True, slots=True)
class _Slots:
    """Slots of a stage, and what else its nodes may have waited for there.

    Attributes:
        lane_of: Lane of each node: 0 computes, 1 communicates, then each port; -1: it needs none.
        lanes: Nodes of each lane by their start, and these starts.
        dep_start: Place of each node's first dependency in *dep*.
        dep: Nodes of the stage that others depend on.
    """

    lane_of: list[int]
    lanes: dict[int, tuple[list[int], list[int]]]
    dep_start: list[int]
    dep: list[int]


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
        self._first: list[int] = np.cumsum([0, *(stage.nodes for stage in stages)]).tolist()
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
        self._slots: dict[int, _Slots] = {}  # of the stages that the walk comes to
        self._reasons: dict[tuple[int, ...], Reason] = {}

    def _slots_of(self, stage: int) -> "_Slots":
        """Slots of *stage*, made when the walk first comes to it: one after another few do."""
        if stage not in self._slots:
            self._slots[stage] = self._made(stage)
        return self._slots[stage]

    def _made(self, stage: int) -> "_Slots":
        graph, first = self._graph.stages[stage], self._first[stage]
        own, start = np.arange(first, self._first[stage + 1]), self._start_ns
        lane_of = np.where(graph.kind == _RECV, -1, graph.kind != _COMPUTE)
        moves = np.flatnonzero(np.isin(graph.kind, _MOVES))
        if moves.size:
            lane_of[moves] = self._port_lanes[graph.item[moves]]
        lanes = {}
        for lane in {0, 1, *lane_of.tolist()}:
            of_lane = own[lane_of == lane]
            ordered = of_lane[np.argsort(start[of_lane], kind="stable")]
            lanes[lane] = (ordered.tolist(), start[ordered].tolist())
        return _Slots(lane_of.tolist(), lanes, graph.dep_start.tolist(), graph.dep.tolist())

    def stage(self, at: int) -> int:
        return bisect_right(self._first, at) - 1

    def source(self, at: int) -> int:
        """The send of a receive, else -1."""
        if self._kind[at] != _RECV:
            return -1
        stage = self.stage(at)
        graph, i = self._graph.stages[stage], at - self._first[stage]
        return self._sends.get((int(graph.peer_stage[i]), stage, int(graph.tag[i])), -1)

    def before(self, at: int, start: int) -> int:
        """Cause that the node which began at *start* waited for, -1: nothing that is recorded."""
        self.seen.add(at)
        best, latest = -1, (-1, -1)
        for node in self._candidates(at):
            if node not in self.seen:
                found = (min(self.end[node], start), self.start[node])
                if best < 0 or found > latest:
                    best, latest = node, found
        return best

    def _candidates(self, at: int) -> list[int]:
        """Dependencies, then what ran in the slot before: some slots are free before the end."""
        stage = self.stage(at)
        first, slots = self._first[stage], self._slots_of(stage)
        begin, end = slots.dep_start[at - first : at - first + 2]
        found = [first + node for node in slots.dep[begin:end]]
        if self._kind[at] != _RECV:
            order, starts = slots.lanes[slots.lane_of[at - first]]
            place = bisect_left(starts, self.start[at])
            found += order[max(place - 1, 0) : place]
        return found

    def parts(self, at: int, start: int, end: int) -> list[PathPart]:
        """Parts of a node's time, the last first: a compute may have lost some to communication."""
        stage, kind = self.stage(at), self._kind[at]
        node = at - self._first[stage]
        own = PathPart(stage, node, start, end, self._reason(stage, node, kind))
        lost = self.end[at] - self.start[at] - self._least[at] if kind == _COMPUTE else 0
        if lost <= 0 or end - lost <= start:
            return [own]
        later = PathPart(stage, node, end - lost, end, _LOST)
        return [later, replace(own, end_ns=end - lost)]

    def _reason(self, stage: int, node: int, kind: int) -> Reason:
        graph = self._graph.stages[stage]
        of_item = kind in (_COMPUTE, _COLLECTIVE, *_MOVES)
        key = (kind, int(graph.item[node])) if of_item else (stage, int(graph.peer_stage[node]), -1)
        if key not in self._reasons:
            self._reasons[key] = self._new_reason(stage, node, kind)
        return self._reasons[key]

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

"""Critical path of an executed iteration: the chain of nodes and waits that its time consists of.

The walk begins at the end of the node that ends last and goes back to 0. Whatever ended last before
a node began was what it waited for: a node that it depends on, the node that held its slot, or for
a receive the send on the other stage. Works on recorded times alone, so no engine is slowed by it.
Source: critical path method, Kelley and Walker, "Critical-Path Planning and Scheduling", 1959.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from simcore.engines.attribution import Cause, Reason
from simcore.engines.classes.run import NodeTimes
from simcore.engines.events.input import Ints
from simcore.engines.stages.lowering import p2p_hop
from simcore.engines.stages.times import place_groups
from simcore.machine import Dimension
from simcore.terms import CollectiveKind, NodeKind


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
        spent: dict[Reason, int] = {}
        for part in self.parts:
            spent[part.reason] = spent.get(part.reason, 0) + part.end_ns - part.start_ns
        return dict(sorted(spent.items(), key=lambda item: (-item[1], item[0])))


def critical_path(nodes: NodeTimes, dimensions: Sequence[Dimension]) -> CriticalPath:
    """Walk back from the node that ends last; the parts sum to its end in integer nanoseconds.

    Args:
        nodes: An executed iteration.
        dimensions: The network that it ran on, innermost first.
    """
    walk, parts = _Walk(nodes, dimensions), list[PathPart]()
    now = int(walk.end.max())
    at = int(walk.end.argmax())
    while now > 0:
        start = min(int(walk.start[at]), now)
        before = walk.before(at, start)
        source = walk.source(at)
        if source >= 0 and start < walk.end[source] <= now and source not in walk.seen:
            before, start = source, int(walk.end[source])  # it waited for this message to be sent
        if start < now:
            parts.append(walk.part(at, start, now))
        if before < 0:
            if start > 0:
                parts.append(PathPart(walk.stage(at), -1, 0, start, Reason(Cause.WAIT)))
            break
        ended = min(int(walk.end[before]), start)
        if ended < start:
            parts.append(PathPart(walk.stage(at), -1, ended, start, Reason(Cause.WAIT)))
        at, now = before, ended
    return CriticalPath(tuple(reversed(parts)))


class _Walk:
    """Nodes of all stages in one row, and what each may have waited for."""

    def __init__(self, nodes: NodeTimes, dimensions: Sequence[Dimension]) -> None:
        self._graph, stages = nodes.graph, nodes.graph.stages
        self._dimensions = dimensions
        self._places = place_groups(nodes.graph.groups, dimensions)
        self.start, self.end = nodes.execution.start_ns, nodes.execution.end_ns
        self.seen = set[int]()
        self._first = np.cumsum([0, *(stage.nodes for stage in stages)])
        self._kind = np.concatenate([stage.kind for stage in stages])
        self._sends = {
            (stage.stage, int(stage.peer_stage[i]), int(stage.tag[i])): int(first) + int(i)
            for stage, first in zip(stages, self._first, strict=False)
            for i in np.flatnonzero(stage.kind == NodeKind.SEND)
        }
        self._rows = [self._lanes(stage.stage) for stage in stages]

    def _lanes(self, stage: int) -> dict[bool, tuple[Ints, Ints]]:
        """Nodes of each slot of *stage* by their start, and these starts: True computes."""
        own = np.arange(self._first[stage], self._first[stage + 1])
        kind, lanes = self._kind[own], {}
        for computes in (True, False):
            other = (kind == NodeKind.COLLECTIVE) | (kind == NodeKind.SEND)
            of_lane = own[kind == NodeKind.COMPUTE if computes else other]
            ordered = of_lane[np.argsort(self.start[of_lane], kind="stable")]
            lanes[computes] = (ordered, self.start[ordered])
        return lanes

    def stage(self, at: int) -> int:
        return int(np.searchsorted(self._first, at, side="right")) - 1

    def source(self, at: int) -> int:
        """The send of a receive, else -1."""
        if self._kind[at] != NodeKind.RECV:
            return -1
        stage = self.stage(at)
        graph, i = self._graph.stages[stage], at - self._first[stage]
        return self._sends.get((int(graph.peer_stage[i]), stage, int(graph.tag[i])), -1)

    def before(self, at: int, start: int) -> int:
        """Cause that the node which began at *start* waited for, -1: nothing that is recorded."""
        self.seen.add(at)
        best = max(
            (node for node in self._candidates(at) if node not in self.seen),
            key=lambda node: (min(int(self.end[node]), start), int(self.start[node])),
            default=-1,
        )
        return best

    def _candidates(self, at: int) -> Iterator[int]:
        """Dependencies, then what ran in the slot before: some slots are free before the end."""
        stage = self.stage(at)
        graph, first = self._graph.stages[stage], int(self._first[stage])
        begin, behind = graph.dep_start[at - first : at - first + 2].tolist()
        yield from (first + int(node) for node in graph.dep[begin:behind])
        if self._kind[at] == NodeKind.RECV:
            return
        order, starts = self._rows[stage][bool(self._kind[at] == NodeKind.COMPUTE)]
        place = int(np.searchsorted(starts, self.start[at]))
        yield from (int(node) for node in order[max(place - 1, 0) : place])

    def part(self, at: int, start: int, end: int) -> PathPart:
        stage = self.stage(at)
        node = at - int(self._first[stage])
        return PathPart(stage, node, start, end, self._reason(stage, node))

    def _reason(self, stage: int, node: int) -> Reason:
        graph = self._graph.stages[stage]
        kind, item = NodeKind(int(graph.kind[node])), int(graph.item[node])
        if kind is NodeKind.COMPUTE:
            operator = self._graph.operators[item]
            return Reason(Cause.COMPUTE, operator.name, phase=str(operator.phase))
        if kind is NodeKind.COLLECTIVE:
            work = self._graph.collectives[item]
            name = CollectiveKind(work.kind).name.lower()
            place = self._places.get(work.axis)
            used = tuple(place.involved) if place is not None else self._crossed(0, -1)
            return Reason(Cause.COLLECTIVE, name, str(work.axis), str(work.phase), used)
        used = self._crossed(stage, int(graph.peer_stage[node]))
        return Reason(Cause.MESSAGE, axis="pp", dimensions=used)

    def _crossed(self, stage: int, peer: int) -> tuple[int, ...]:
        """The dimension between two stages, as their first NPUs see it; -1: the last stage."""
        plan = self._graph.plan
        if plan.pp == 1:
            return ()
        ends = (stage * plan.stage_stride, peer % plan.pp * plan.stage_stride)
        return (p2p_hop(self._dimensions, *ends)[0],)

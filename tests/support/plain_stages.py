"""Runs the stages of an iteration node by node in plain Python: one NPU per stage, all in step.

Written from the rules of ASTRA-sim 2.0's feeder and from what an iteration is booked under, with
nothing of the kernels: dependencies and messages are read from the graph, of the lowered nodes only
how long each takes.
"""

import heapq
from dataclasses import dataclass, field

import numpy as np

from simcore.engines.collectives.ends import SharedEnds
from simcore.engines.stages.lowering import Lowered
from simcore.kernels.npu import layout as n
from simcore.machine.system import ExecutionProfile
from simcore.terms import NodeKind
from simcore.workload.graph import StageGraph, TrainingGraph


@dataclass(eq=False)
class Node:
    """A node, and how it stands."""

    stage: int
    position: int
    kind: NodeKind
    duration_ns: int
    last_step_ns: int
    category: int
    missing: int
    children: list["Node"] = field(default_factory=list)
    receive: "Node | None" = None
    together: list["Node"] = field(default_factory=list)
    waits: bool = False
    has_data: bool = False
    start_ns: int = -1
    end_ns: int = -1

    def __lt__(self, other: "Node") -> bool:
        return self.position < other.position


class PlainStages:
    """An iteration; after ``run``, when each node ran and what time was booked under, by stage."""

    def __init__(
        self,
        graph: TrainingGraph,
        lowered: Lowered,
        profile: ExecutionProfile,
        shared_ends: SharedEnds,
    ) -> None:
        stages = len(graph.stages)
        self.now = 0
        self.nodes = _nodes(graph, lowered)
        self.shared_ends = shared_ends
        self.items = {id(self.nodes[c.nodes[0]]): c.item for c in lowered.shared}
        for shared in lowered.shared:
            members = [self.nodes[at] for at in shared.nodes]
            for member in members:
                member.together = members
        slots = profile.compute_slots + profile.communication_streams
        self.lanes = (0, profile.compute_slots), (profile.compute_slots, slots)
        self.slots: list[list[Node | None]] = [[None] * slots for _ in range(stages)]
        self.ready: list[tuple[list[Node], list[Node]]] = [([], []) for _ in range(stages)]
        self.to_post: list[list[Node]] = [[] for _ in range(stages)]
        self.booked = np.zeros((stages, len(lowered.categories) + 1), np.int64)
        self.booked_until = [0] * stages
        self.events: list[tuple[int, int, int, Node]] = []
        self.scheduled = 0

    def run(self) -> None:
        """Run to the end."""
        for node in self.nodes:
            if node.missing == 0:
                self._make_ready(node)
        for stage in range(len(self.slots)):
            self._issue(stage)
        while self.events:
            self.now, _, _, node = heapq.heappop(self.events)
            if node.kind is NodeKind.SEND:
                self._deliver(node)
            elif node.end_ns < 0:
                self._end_with_others(node)
        assert all(node.end_ns >= 0 for node in self.nodes)

    def _deliver(self, send: Node) -> None:
        self._end(send)
        assert send.receive is not None
        send.receive.has_data = True
        if send.receive.start_ns >= 0:
            self._end(send.receive)

    def _end_with_others(self, node: Node) -> None:
        """What ends at the same time by the NPU's own clock ends with it, slot by slot."""
        self._end(node)
        slots = self.slots[node.stage]
        for slot in range(len(slots)):
            other = slots[slot]
            if other is None or other.kind is NodeKind.SEND or other.together:
                continue
            if other.start_ns + other.duration_ns == self.now:
                self._end(other)

    def _schedule(self, time_ns: int, since_ns: int, node: Node) -> None:
        self.scheduled += 1
        heapq.heappush(self.events, (time_ns, since_ns, self.scheduled, node))

    def _make_ready(self, node: Node) -> None:
        if node.kind is NodeKind.RECV:
            self.to_post[node.stage].append(node)
        else:
            lane = 0 if node.kind is NodeKind.COMPUTE else 1
            heapq.heappush(self.ready[node.stage][lane], node)

    def _issue(self, stage: int) -> None:
        while self.to_post[stage]:
            node = self.to_post[stage].pop()
            node.start_ns = self.now
            if node.has_data:
                self._schedule(self.now, self.now, node)
        slots, ready = self.slots[stage], self.ready[stage]
        while True:
            choice = []
            for lane, (first, behind) in enumerate(self.lanes):
                if ready[lane] and None in slots[first:behind]:
                    choice.append((ready[lane][0], slots.index(None, first), lane))
            if not choice:
                return
            node, slot, lane = min(choice)
            heapq.heappop(ready[lane])
            self._book(stage)
            slots[slot] = node
            node.start_ns = self.now
            if not node.together:
                end = self.now + node.duration_ns
                at_start = node.last_step_ns < 0
                self._schedule(end, self.now if at_start else end - node.last_step_ns, node)
                continue
            node.waits = True
            if all(member.waits for member in node.together):
                self._resolve(node.together)

    def _resolve(self, members: list[Node]) -> None:
        """The last member has started: when does each end?"""
        stages = tuple(member.stage for member in members)
        starts = np.array([member.start_ns for member in members], np.int64)
        for member in members:
            self._book(member.stage)
            member.waits = False
        ends = self.shared_ends.ends(self.items[id(members[0])], stages, starts).tolist()
        for member, end in zip(members, ends, strict=True):
            self._schedule(end, end - self.shared_ends.lead_ns, member)

    def _end(self, node: Node) -> None:
        self._book(node.stage)
        node.end_ns = self.now
        slots = self.slots[node.stage]
        if node.kind is not NodeKind.RECV:
            slots[slots.index(node)] = None
        for child in node.children:
            child.missing -= 1
            if child.missing == 0:
                self._make_ready(child)
        self._issue(node.stage)

    def _book(self, stage: int) -> None:
        """Book the time since the last change: the lowest slot counts, computes come first."""
        if self.now == self.booked_until[stage]:
            return
        category = self.booked.shape[1] - 1
        for node in self.slots[stage]:
            # a member of a collective between stages does nothing until all have started
            if node is not None and not node.waits:
                category = node.category
                break
        self.booked[stage, category] += self.now - self.booked_until[stage]
        self.booked_until[stage] = self.now


def _nodes(graph: TrainingGraph, lowered: Lowered) -> list[Node]:
    nodes = []
    receives: dict[int, Node] = {}
    sends: dict[int, Node] = {}
    for stage, first in zip(graph.stages, lowered.stage_start.tolist(), strict=False):
        own = [_node(stage, at, lowered.node[first + at].tolist()) for at in range(stage.nodes)]
        for at, node in enumerate(own):
            for parent in stage.dep[stage.dep_start[at] : stage.dep_start[at + 1]].tolist():
                own[parent].children.append(node)
            by_tag = {NodeKind.SEND: sends, NodeKind.RECV: receives}.get(node.kind)
            if by_tag is not None:
                by_tag[int(stage.tag[at])] = node
        nodes += own
    for tag, send in sends.items():
        send.receive = receives[tag]
    return nodes


def _node(stage: StageGraph, at: int, lowered: list[int]) -> Node:
    return Node(
        stage=stage.stage,
        position=at,
        kind=NodeKind(int(stage.kind[at])),
        duration_ns=lowered[n.DURATION],
        last_step_ns=lowered[n.LAST_STEP],
        category=lowered[n.CATEGORY],
        missing=int(stage.dep_start[at + 1] - stage.dep_start[at]),
    )

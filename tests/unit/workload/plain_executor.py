"""Runs a training graph node by node: the rules of an NPU in plain Python, one NPU per stage."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from simcore.terms import NodeKind
from simcore.workload.graph import Axis, StageGraph, TrainingGraph

Duration = Callable[[StageGraph, int], float]

_ACROSS = {Axis.PP, Axis.EMBEDDING}


@dataclass
class _Npu:
    graph: StageGraph
    missing: np.ndarray
    children: list[list[int]]
    ready: dict[str, list[int]] = field(default_factory=lambda: {"compute": [], "comm": []})
    busy: dict[str, bool] = field(default_factory=lambda: {"compute": False, "comm": False})
    arrived: set[int] = field(default_factory=set)
    end: dict[int, float] = field(default_factory=dict)


@dataclass
class Run:
    """Finish time, and the nodes that ran on each stage with their finish times."""

    makespan: float
    ends: list[dict[int, float]]


def run(graph: TrainingGraph, duration: Duration) -> Run:
    """Lowest ready position first; one compute slot and one communication slot per NPU."""
    return _Executor(graph, duration).run()


class _Executor:
    def __init__(self, graph: TrainingGraph, duration: Duration) -> None:
        self.graph, self.duration = graph, duration
        self.npus = [_npu(stage) for stage in graph.stages]
        self.events: list[tuple[float, int, int, int]] = []
        self.count = 0
        self.waiting: dict[int, list[tuple[int, int]]] = {}
        self.now = 0.0

    def run(self) -> Run:
        for stage, npu in enumerate(self.npus):
            for ready in np.flatnonzero(npu.missing == 0):
                self.make_ready(stage, int(ready))
        self.issue()
        while self.events:
            self.now, _, stage, node = heapq.heappop(self.events)
            self.finish(stage, node)
            if not self.events or self.events[0][0] > self.now:
                self.issue()
        return Run(makespan=self.now, ends=[npu.end for npu in self.npus])

    def at(self, time: float, stage: int, node: int) -> None:
        self.count += 1
        heapq.heappush(self.events, (time, self.count, stage, node))

    def make_ready(self, stage: int, node: int) -> None:
        npu = self.npus[stage]
        kind = npu.graph.kind[node]
        if kind == NodeKind.RECV:
            npu.ready.setdefault("recv", []).append(node)
            if int(npu.graph.tag[node]) in npu.arrived:
                self.at(self.now, stage, node)
            return
        slot = "compute" if kind == NodeKind.COMPUTE else "comm"
        heapq.heappush(npu.ready[slot], node)

    def issue(self) -> None:
        for stage, npu in enumerate(self.npus):
            for slot in ("compute", "comm"):
                if not npu.busy[slot] and npu.ready[slot]:
                    npu.busy[slot] = True
                    self.start(stage, heapq.heappop(npu.ready[slot]))

    def start(self, stage: int, node: int) -> None:
        stage_graph = self.npus[stage].graph
        time = self.duration(stage_graph, node)
        item = int(stage_graph.item[node])
        if stage_graph.kind[node] == NodeKind.COLLECTIVE:
            axis = self.graph.collectives[item].axis
            if axis in _ACROSS:
                members = self.waiting.setdefault(item, [])
                members.append((stage, node))
                stages = len(self.npus) if axis is Axis.PP else 2
                if len(members) == stages:
                    for member in members:
                        self.at(self.now + time, *member)
                return
        self.at(self.now + time, stage, node)

    def finish(self, stage: int, node: int) -> None:
        npu = self.npus[stage]
        kind = npu.graph.kind[node]
        assert node not in npu.end, "a node ran twice"
        npu.end[node] = self.now
        if kind != NodeKind.RECV:
            npu.busy["compute" if kind == NodeKind.COMPUTE else "comm"] = False
        if kind == NodeKind.SEND:
            self.deliver(int(npu.graph.peer_stage[node]), int(npu.graph.tag[node]))
        for child in npu.children[node]:
            npu.missing[child] -= 1
            if npu.missing[child] == 0:
                self.make_ready(stage, child)

    def deliver(self, stage: int, tag: int) -> None:
        npu = self.npus[stage]
        npu.arrived.add(tag)
        for node in npu.ready.get("recv", []):
            if npu.graph.tag[node] == tag:
                self.at(self.now, stage, node)


def _npu(graph: StageGraph) -> _Npu:
    children: list[list[int]] = [[] for _ in range(graph.nodes)]
    for node in range(graph.nodes):
        for parent in graph.dep[graph.dep_start[node] : graph.dep_start[node + 1]]:
            children[parent].append(node)
    return _Npu(graph=graph, missing=np.diff(graph.dep_start), children=children)

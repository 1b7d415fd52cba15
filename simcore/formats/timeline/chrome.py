"""Chrome trace of a timeline: a process per pipeline stage, and one of the critical path.

Source: "Trace Event Format", Google, 2016: complete events (X), flows (s, f), counters (C) and
metadata (M); times in microseconds. Slices of one thread nest or follow each other.
"""

import json
from collections.abc import Iterator, Sequence

from simcore.engines.classes.run import NodeTimes
from simcore.engines.collectives.placement import Placement
from simcore.engines.critical_path import CriticalPath
from simcore.engines.stages.lowering import p2p_hop
from simcore.engines.stages.times import place_groups
from simcore.formats.timeline.lanes import Lanes
from simcore.formats.timeline.memory import StageMemory
from simcore.machine import Dimension
from simcore.terms import CollectiveKind, NodeKind
from simcore.workload.graph import CollectiveOp, Operator, TrainingGraph, TransferOp

Event = dict[str, object]
_MOVES = (int(NodeKind.MEM_LOAD), int(NodeKind.MEM_STORE))
_COMPUTE, _COLLECTIVE, _SEND, _RECV = map(
    int, (NodeKind.COMPUTE, NodeKind.COLLECTIVE, NodeKind.SEND, NodeKind.RECV)
)


def trace_json(
    nodes: NodeTimes,
    dimensions: Sequence[Dimension],
    lanes: Lanes,
    memory: Sequence[StageMemory],
    path: CriticalPath,
) -> str:
    """The trace as JSON.

    Compute slices name FLOP, bytes and phase; communication slices bytes, group and dimensions of
    the network. An arrow leads from each send to its receive. Counters tell what each stage holds
    in memory.

    Args:
        nodes: An executed iteration.
        dimensions: The network that it ran on, innermost first.
        lanes: Of its nodes.
        memory: Of each stage.
        path: Its critical path.
    """
    events = [*_names(nodes.graph, lanes), *_Slices(nodes, dimensions, lanes).events()]
    for stage, held in enumerate(memory):
        events += _counters(stage, held)
    events += _critical_track(len(nodes.graph.stages), path)
    content = {"traceEvents": events, "displayTimeUnit": "ms"}
    return json.dumps(content, separators=(",", ":"))


def _names(graph: TrainingGraph, lanes: Lanes) -> Iterator[Event]:
    for stage, names in zip(graph.stages, lanes.names, strict=True):
        yield _named("process_name", stage.stage, 0, name=f"stage {stage.stage}")
        yield _named("process_sort_index", stage.stage, 0, sort_index=stage.stage)
        for lane, name in enumerate(names, start=1):
            yield _named("thread_name", stage.stage, lane, name=name)
            yield _named("thread_sort_index", stage.stage, lane, sort_index=lane)


class _Slices:
    """Slices of all nodes, each message followed by an end of its arrow."""

    def __init__(self, nodes: NodeTimes, dimensions: Sequence[Dimension], lanes: Lanes) -> None:
        self._graph, self._lanes, self._dimensions = nodes.graph, lanes, dimensions
        places = place_groups(nodes.graph.groups, dimensions)
        self._operators = [_of_operator(one) for one in nodes.graph.operators]
        self._collectives = [
            _of_collective(one, nodes.graph, places.get(one.axis))
            for one in nodes.graph.collectives
        ]

    def events(self) -> Iterator[Event]:
        first = 0
        for stage in self._graph.stages:
            own = slice(first, first + stage.nodes)
            columns = (
                *(stage.kind, stage.item, stage.microbatch, stage.layer, stage.peer_stage),
                *(stage.size_bytes, self._lanes.lane[own], self._lanes.sent_by[own]),
                *(self._lanes.start_ns[own], self._lanes.end_ns[own]),
            )
            rows = zip(*(column.tolist() for column in columns), strict=True)
            for at, row in enumerate(rows, start=first):
                kind, item, microbatch, layer, peer, size, lane, sent_by, start, end = row
                name, category, args = self._told(stage.stage, kind, item, peer, size)
                of_batch = {"microbatch": microbatch, "layer": layer}
                told = args | {key: value for key, value in of_batch.items() if value >= 0}
                yield _slice(stage.stage, lane, name, start, end, cat=category, args=told)
                if kind == _SEND:
                    yield _arrow("s", stage.stage, lane, at, start)
                elif kind == _RECV:
                    yield _arrow("f", stage.stage, lane, sent_by, start)
            first += stage.nodes

    def _told(
        self, stage: int, kind: int, item: int, peer: int, size: int
    ) -> tuple[str, str, dict[str, object]]:
        """Name, category and arguments of a slice."""
        if kind == _COMPUTE:
            return self._operators[item]
        if kind == _COLLECTIVE:
            return self._collectives[item]
        if kind in _MOVES:
            return _of_transfer(self._graph.transfers[item])
        plan = self._graph.plan
        ends = stage * plan.stage_stride, peer % plan.pp * plan.stage_stride
        crossed = [p2p_hop(self._dimensions, *ends)[0]] if plan.pp > 1 else []
        name = f"{'send to' if kind == _SEND else 'receive from'} stage {peer}"
        told = {"bytes": size, "group": "pp", "dimensions": crossed, "peer stage": peer}
        return name, "message", told


def _arrow(phase: str, pid: int, tid: int, number: int, at_ns: int) -> Event:
    """Start (s) or end (f) of arrow *number*, on the slice that encloses the moment."""
    told: Event = {"name": "message", "cat": "message", "id": number, "ts": at_ns / 1000}
    return {"ph": phase, "pid": pid, "tid": tid, **told, **({"bp": "e"} if phase == "f" else {})}


def _of_operator(one: Operator) -> tuple[str, str, dict[str, object]]:
    phase = str(one.phase)
    told = {"flop": one.flop, "bytes": one.bytes, "phase": phase}
    return f"{one.name} ({phase})", phase, told


def _of_transfer(one: TransferOp) -> tuple[str, str, dict[str, object]]:
    told = {"bytes": one.size_bytes, "tier": one.tier, "way": str(one.way), "phase": str(one.phase)}
    return f"{one.name} ({one.category})", "memory tier", told


def _of_collective(
    one: CollectiveOp, graph: TrainingGraph, place: Placement | None
) -> tuple[str, str, dict[str, object]]:
    group = graph.groups[one.axis]
    told: dict[str, object] = {
        "collective": CollectiveKind(one.kind).name.lower(),
        "bytes": one.size_bytes,
        "group": str(one.axis),
        "group size": group.size,
        "group stride": group.stride,
        "phase": str(one.phase),
    }
    if place is not None:
        told["dimensions"] = place.involved
    return f"{one.name} ({one.axis})", "collective", told


def _counters(stage: int, memory: StageMemory) -> Iterator[Event]:
    held = {name: size for name, size in memory.held_bytes.items() if size}
    moments = zip(memory.time_ns.tolist(), memory.activations_bytes.tolist(), strict=True)
    for at_ns, size in moments:
        told = held | {"activations": size}
        yield {"ph": "C", "pid": stage, "name": "memory, bytes", "ts": at_ns / 1000, "args": told}


def _critical_track(track: int, path: CriticalPath) -> Iterator[Event]:
    """The parts of the critical path, as a process of its own behind the stages."""
    yield _named("process_name", track, 0, name="critical path")
    yield _named("process_sort_index", track, 0, sort_index=track)
    yield _named("thread_name", track, 1, name="what the iteration waited for")
    for part in path.parts:
        told: dict[str, object] = {"stage": part.stage}
        if part.node >= 0:
            told["node"] = part.node
        name, cause = str(part.reason), str(part.reason.cause)
        yield _slice(track, 1, name, part.start_ns, part.end_ns, cat=cause, args=told)


def _slice(pid: int, tid: int, name: str, start_ns: int, end_ns: int, **more: object) -> Event:
    times = {"ts": start_ns / 1000, "dur": (end_ns - start_ns) / 1000}
    return {"ph": "X", "pid": pid, "tid": tid, "name": name, **times, **more}


def _named(what: str, pid: int, tid: int, **args: object) -> Event:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": args}

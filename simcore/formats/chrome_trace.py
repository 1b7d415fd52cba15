"""Chrome trace of an executed iteration: a process per pipeline stage, and the critical path."""

import json
from collections.abc import Sequence
from heapq import heappush, heapreplace

import numpy as np
from numpy.typing import NDArray

from simcore.engines.classes.run import NodeTimes
from simcore.engines.critical_path import critical_path
from simcore.engines.events.input import Ints
from simcore.machine import Dimension
from simcore.terms import NodeKind

_LANES = {
    NodeKind.COMPUTE: (1, "compute"),
    NodeKind.COLLECTIVE: (2, "communication"),
    NodeKind.SEND: (2, "communication"),
    NodeKind.RECV: (3, "receives"),
}


_FIRST_RECEIVES = 3
"""Receives wait side by side, and slices that overlap in part are dropped: they go on this lane and
as many further ones as it takes."""


def timeline_json(nodes: NodeTimes, dimensions: Sequence[Dimension]) -> str:
    """The nodes of every stage as complete events; times in microseconds, as Chrome expects.

    Args:
        nodes: An executed iteration.
        dimensions: The network that it ran on.
    """
    events: list[dict[str, object]] = []
    first = 0
    for stage in nodes.graph.stages:
        events += [_named("process_name", stage.stage, 0, f"stage {stage.stage}")]
        events += [
            _named("thread_name", stage.stage, lane, name)
            for lane, name in dict.fromkeys(_LANES.values())
        ]
        own = slice(first, first + stage.nodes)
        start_ns, end_ns = nodes.execution.start_ns[own], nodes.execution.end_ns[own]
        lanes = _lanes(stage.kind, start_ns, end_ns)
        what = (stage.kind, stage.item, stage.microbatch, stage.layer, stage.peer_stage)
        rows = np.stack([*what, stage.size_bytes, lanes, start_ns, end_ns], axis=1)
        for kind, item, microbatch, layer, peer, size, lane, start, end in rows.tolist():
            events.append(
                {
                    "ph": "X",
                    "pid": stage.stage,
                    "tid": lane,
                    "name": _name(nodes, NodeKind(kind), item, peer),
                    "ts": start / 1000,
                    "dur": (end - start) / 1000,
                    "args": {"microbatch": microbatch, "layer": layer, "bytes": size},
                }
            )
        first += stage.nodes
    events += _critical_track(nodes, dimensions)
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"})


def _lanes(kind: NDArray[np.int8], start_ns: Ints, end_ns: Ints) -> Ints:
    """(N,) int64: the lane of each node; receives on one lane do not overlap."""
    lanes = np.array([_LANES[NodeKind(k)][0] for k in kind.tolist()], np.int64)
    receives = np.flatnonzero(kind == NodeKind.RECV)
    free: list[tuple[int, int]] = []
    for node in receives[np.lexsort((end_ns[receives], start_ns[receives]))].tolist():
        start, end = int(start_ns[node]), int(end_ns[node])
        if free and free[0][0] <= start:
            lane = free[0][1]
            heapreplace(free, (end, lane))
        else:
            lane = _FIRST_RECEIVES + len(free)
            heappush(free, (end, lane))
        lanes[node] = lane
    return lanes


def _critical_track(nodes: NodeTimes, dimensions: Sequence[Dimension]) -> list[dict[str, object]]:
    """The parts of the critical path, as a process of its own behind the stages."""
    track = len(nodes.graph.stages)
    events = [
        _named("process_name", track, 0, "critical path"),
        _named("thread_name", track, 1, "what the iteration waited for"),
    ]
    for part in critical_path(nodes, dimensions).parts:
        events.append(
            {
                "ph": "X",
                "pid": track,
                "tid": 1,
                "name": str(part.reason),
                "ts": part.start_ns / 1000,
                "dur": (part.end_ns - part.start_ns) / 1000,
                "args": {"stage": part.stage, "node": part.node},
            }
        )
    return events


def _named(what: str, stage: int, lane: int, name: str) -> dict[str, object]:
    return {"ph": "M", "name": what, "pid": stage, "tid": lane, "args": {"name": name}}


def _name(nodes: NodeTimes, kind: NodeKind, item: int, peer: int) -> str:
    if kind is NodeKind.COMPUTE:
        operator = nodes.graph.operators[item]
        return f"{operator.name} ({operator.phase})"
    if kind is NodeKind.COLLECTIVE:
        collective = nodes.graph.collectives[item]
        return f"{collective.name} ({collective.axis})"
    return f"{'send to' if kind is NodeKind.SEND else 'receive from'} stage {peer}"

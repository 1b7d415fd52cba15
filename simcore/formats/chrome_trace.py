"""Chrome trace of an executed iteration: one process per pipeline stage."""

import json

import numpy as np

from simcore.engines.classes.run import NodeTimes
from simcore.terms import NodeKind

_LANES = {
    NodeKind.COMPUTE: (1, "compute"),
    NodeKind.COLLECTIVE: (2, "communication"),
    NodeKind.SEND: (2, "communication"),
    NodeKind.RECV: (3, "receives"),
}


def timeline_json(nodes: NodeTimes) -> str:
    """The nodes of every stage as complete events; times in microseconds, as Chrome expects."""
    events: list[dict[str, object]] = []
    first = 0
    for stage in nodes.graph.stages:
        events += [_named("process_name", stage.stage, 0, f"stage {stage.stage}")]
        events += [
            _named("thread_name", stage.stage, lane, name)
            for lane, name in dict.fromkeys(_LANES.values())
        ]
        rows = np.stack(
            [
                stage.kind,
                stage.item,
                stage.microbatch,
                stage.layer,
                stage.peer_stage,
                nodes.execution.start_ns[first : first + stage.nodes],
                nodes.execution.end_ns[first : first + stage.nodes],
            ],
            axis=1,
        )
        for kind, item, microbatch, layer, peer, start, end in rows.tolist():
            events.append(
                {
                    "ph": "X",
                    "pid": stage.stage,
                    "tid": _LANES[NodeKind(kind)][0],
                    "name": _name(nodes, NodeKind(kind), item, peer),
                    "ts": start / 1000,
                    "dur": (end - start) / 1000,
                    "args": {"microbatch": microbatch, "layer": layer},
                }
            )
        first += stage.nodes
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"})


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

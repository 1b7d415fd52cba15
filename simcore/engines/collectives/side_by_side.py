"""Synthesised collectives of several groups of a network, side by side on its links."""

from collections.abc import Sequence

import numpy as np

from simcore.flows.simulate import FlowTable, simulate_flows
from simcore.graphs.network_table import NetworkFile
from simcore.graphs.routed import routed
from simcore.graphs.routing import RouteTable
from simcore.synthesis.placed.carriage import Carriage

_NS = 1e9


def together_ns(network: NetworkFile, carriages: Sequence[Carriage]) -> float:
    """Time until collectives of several groups are done that start together.

    Links are shared max-min fairly, each collective being one flow on all of its links; alone it
    takes its own time.
    """
    if len(carriages) == 1:
        return carriages[0].time_ns
    graph = routed(network).graph
    most = np.array([one.load_bytes.max(initial=0.0) for one in carriages])
    counts = [len(one.links) for one in carriages]
    table = RouteTable(
        offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        links=np.concatenate([one.links for one in carriages]),
        parts=np.concatenate(
            [one.load_bytes / size for one, size in zip(carriages, most, strict=True)]
        ),
        latency_ns=np.array([one.latency_ns for one in carriages]),
    )
    flows = FlowTable(
        route=np.arange(len(carriages)),
        size_bytes=most,
        start_ns=np.zeros(len(carriages)),
        cap_bytes_per_s=np.array([one.most_bytes_per_ns for one in carriages]) * _NS,
    )
    return simulate_flows(graph, table, flows).makespan_ns

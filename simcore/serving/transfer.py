"""Transfer of the cache from the NPUs that read prompts to those that answer."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simcore.engines.classes.run import NodeTimes
from simcore.engines.limits.counted_time import MAX_NS, dimension_fields, too_long
from simcore.errors import InfeasibleError
from simcore.kernels.collectives.phase_machine import message_ns
from simcore.machine import Dimension, Platform
from simcore.serving.routes import CachePiece, CacheRoutes, seats
from simcore.terms import NodeKind
from simcore.workload.graph import TrainingGraph


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """The cache of one batch of prompts on its way.

    Attributes:
        arrival_ns: When the last piece is there, from the start of the reading.
        busiest_ns: How long the NPU that hands over or gets most is busy with it.
    """

    arrival_ns: int
    busiest_ns: int


def transfer(
    routes: CacheRoutes, made: Mapping[tuple[int, int], int], platform: Platform
) -> Transfer:
    """Send every piece as soon as it is made and those made before it are sent.

    Args:
        routes: Which pieces there are.
        made: In ns, when those of each micro-batch and layer are made; see ``made_ns``.
        platform: The machine of both pools.

    Raises:
        InfeasibleError: A piece is on its way for longer than can be counted.
    """
    links = _Links(platform.dimensions)
    arrival, sent, received = 0, 0, defaultdict[int, int](int)
    for seat in seats(routes.reads):
        free = busy = 0
        pieces = routes.pieces(seat)
        for piece in sorted(pieces, key=lambda piece: made[piece.microbatch, piece.layer]):
            took = links.message_ns(piece)
            free = max(free, made[piece.microbatch, piece.layer]) + took
            busy += took
            received[piece.target] += took
        arrival, sent = max(arrival, free), max(sent, busy)
    return Transfer(arrival_ns=arrival, busiest_ns=max(sent, *received.values()))


def made_ns(reading: NodeTimes) -> dict[tuple[int, int], int]:
    """End of the attention of each micro-batch and layer, which makes keys and values."""
    found: dict[tuple[int, int], int] = {}
    ends, first = reading.execution.end_ns.tolist(), 0
    for stage in reading.graph.stages:
        nodes = attention_nodes(reading.graph, stage.stage)
        found |= {at: ends[first + node] for at, node in nodes.items()}
        first += stage.nodes
    return found


def attention_nodes(graph: TrainingGraph, stage: int) -> dict[tuple[int, int], int]:
    """Position of the compute node of a *stage* that ends the attention, by micro-batch, layer."""
    kinds = [{kernel.kind for kernel in operator.kernels} for operator in graph.operators]
    has_core = np.array(["attention" in each for each in kinds])
    nodes = graph.stages[stage]
    computes = np.flatnonzero(nodes.kind == NodeKind.COMPUTE)
    chosen = computes[has_core[nodes.item[computes]]]
    places = zip(nodes.microbatch[chosen].tolist(), nodes.layer[chosen].tolist(), strict=True)
    return dict(zip(places, chosen.tolist(), strict=True))


class _Links:
    """Times of messages between NPUs of a machine.

    A message is charged for the outermost dimension in which the two NPUs differ.
    """

    def __init__(self, dimensions: Sequence[Dimension]) -> None:
        self._dimensions = dimensions
        self._known: dict[tuple[int, int, int], int] = {}

    def message_ns(self, piece: CachePiece) -> int:
        """Time of *piece* on its way on an idle link."""
        key = piece.source, piece.target, piece.size_bytes
        if key not in self._known:
            self._known[key] = self._time_ns(*key)
        return self._known[key]

    def _time_ns(self, source: int, target: int, size_bytes: int) -> int:
        found = 0
        for number, dimension in enumerate(self._dimensions):
            at, to = source % dimension.npus, target % dimension.npus
            if at != to:
                hops = dimension.shape.hops(dimension.npus, at, to)
                link = dimension.link_bandwidth_bytes_per_s / 1e9
                time_ns = message_ns(hops, dimension.latency_s * 1e9, size_bytes, link)
                if time_ns >= MAX_NS:
                    raise _too_slow(dimension, number, time_ns * 1e-9)
                found = int(time_ns)
            source //= dimension.npus
            target //= dimension.npus
        return found


def _too_slow(dimension: Dimension, number: int, time_s: float) -> InfeasibleError:
    latency, bandwidth = dimension_fields(dimension, f"platform.dimensions[{number}]")
    is_late = dimension.latency_s * dimension.npus > time_s / 2
    field = latency if is_late else bandwidth
    return too_long(field, "a piece of the cache takes at least", time_s)

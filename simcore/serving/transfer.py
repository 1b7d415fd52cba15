"""Transfer of the cache from the NPUs that read prompts to those that answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.engines.classes.run import NodeTimes
from simcore.engines.limits.counted_time import MAX_NS, dimension_fields, too_long
from simcore.errors import InfeasibleError
from simcore.kernels.collectives.messages import messages_ns
from simcore.machine import Dimension, Platform
from simcore.serving.routes import CacheRoutes, SentPieces, seats
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


NO_TRANSFER = Transfer(arrival_ns=0, busiest_ns=0)
"""The cache is where the answer goes on as soon as it is made."""


def transfer(
    routes: CacheRoutes, made: Mapping[tuple[int, int], int], platform: Platform
) -> Transfer:
    """Send every piece as soon as it is made and those made before it are sent.

    Args:
        routes: Which pieces there are.
        made: In ns, when those of each micro-batch and layer are made; see ``made_ns``.
        platform: The machine of both pools.

    Raises:
        InfeasibleError: A piece, or all of an NPU, takes longer than can be counted.
    """
    links = _Links(platform.dimensions)
    made_at = _made_columns(made)
    arrival, sent, received = 0, 0, np.zeros(platform.npus, np.int64)
    for seat in seats(routes.reads):
        pieces = routes.sent(seat)
        if not pieces.target.size:
            continue  # others of its tensor parallel group hold the same, and send it
        ready_ns = made_at[pieces.microbatch, pieces.layer]
        took_ns = links.messages_ns(pieces)
        order = np.argsort(ready_ns, kind="stable")
        left_ns = np.cumsum(took_ns[order][::-1])[::-1]  # of each piece and all behind it
        # the link is never idle from the piece on that was ready last of those it waited for
        arrival = max(arrival, int((ready_ns[order] + left_ns).max(initial=0)))
        sent = max(sent, int(took_ns.sum()))
        np.add.at(received, pieces.target, took_ns)
        links.check_countable(received.max())  # so that no sum passes the range of 64 bits
    return Transfer(arrival_ns=arrival, busiest_ns=max(sent, int(received.max())))


def _made_columns(made: Mapping[tuple[int, int], int]) -> NDArray[np.int64]:
    """(micro-batches, layers) int64 of *made*."""
    places = np.array([*made], np.int64)
    columns = np.zeros(places.max(axis=0) + 1, np.int64)
    columns[places[:, 0], places[:, 1]] = [*made.values()]
    return columns


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
        self._latency_ns = np.array([one.latency_s * 1e9 for one in dimensions])
        rates = [one.link_bandwidth_bytes_per_s / 1e9 for one in dimensions]
        self._bytes_per_ns = np.array(rates)
        self._kept_ns = np.zeros(len(rates))  # each dimension, so far

    def messages_ns(self, pieces: SentPieces) -> NDArray[np.int64]:
        """Time of each of *pieces* on its way on an idle link.

        Raises:
            InfeasibleError: One, or all together, takes longer than can be counted.
        """
        targets, which = np.unique(pieces.target, return_inverse=True)
        ways = np.array([self._way(pieces.source, target) for target in targets.tolist()], np.int64)
        number, hops = ways[which].T
        latency_ns, rate = self._latency_ns[number], self._bytes_per_ns[number]
        took_ns: NDArray[np.int64] = messages_ns(hops, latency_ns, pieces.size_bytes, rate)
        slowest = int(took_ns.argmax())
        if took_ns[slowest] >= MAX_NS:
            raise self._too_slow("a piece of the cache", int(number[slowest]), took_ns[slowest])
        self._kept_ns += np.bincount(number, took_ns, len(self._kept_ns))
        self.check_countable(took_ns.sum(dtype=np.float64))
        return took_ns

    def check_countable(self, busy_ns: float) -> None:
        """See whether the time that an NPU is busy with the cache can be counted.

        Raises:
            InfeasibleError: It cannot.
        """
        if busy_ns >= MAX_NS:
            busiest = int(self._kept_ns.argmax())
            raise self._too_slow("the cache of a batch of prompts", busiest, busy_ns)

    def _way(self, source: int, target: int) -> tuple[int, int]:
        """Number of the dimension that a message is charged for, and its hops there."""
        found = 0, 0
        for number, dimension in enumerate(self._dimensions):
            at, to = source % dimension.npus, target % dimension.npus
            if at != to:
                found = number, dimension.shape.hops(dimension.npus, at, to)
            source //= dimension.npus
            target //= dimension.npus
        return found

    def _too_slow(self, what: str, number: int, time_ns: float) -> InfeasibleError:
        dimension, time_s = self._dimensions[number], time_ns * 1e-9
        latency, bandwidth = dimension_fields(dimension, f"platform.dimensions[{number}]")
        is_late = dimension.latency_s * dimension.npus > time_s / 2
        return too_long(latency if is_late else bandwidth, f"{what} takes at least", time_s)

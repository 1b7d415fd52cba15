"""From the workload's graphs to the executor's arrays: every node gets its time on this machine."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simcore.engines.collectives.time import CollectiveTime
from simcore.engines.moving import LOST, Taking
from simcore.engines.stages.times import MessageTimes
from simcore.errors import SimulationError
from simcore.kernels.classes import layout as f
from simcore.kernels.classes.children import invert_dependencies
from simcore.kernels.classes.layout import Ints
from simcore.kernels.classes.nodes import write_nodes
from simcore.kernels.collectives.phase_machine import message_ns
from simcore.kernels.npu import layout as n
from simcore.machine import Dimension
from simcore.terms import NodeKind
from simcore.workload.graph import StageGraph, TrainingGraph, ports_of

ON_ITS_START = -1
"""``last_step_ns`` of a node whose end is scheduled when it starts."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlacedCollective:
    """A collective whose members are at several stages.

    Attributes:
        item: Index into ``TrainingGraph.collectives``.
        nodes: (stages that take part,) int64 positions in the executor's arrays, by stage.
        stages: The stages.
    """

    item: int
    nodes: tuple[int, ...]
    stages: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lowered:
    """The executor's programs and what its results are booked under.

    Attributes:
        rows: (T + 1, NODE_FIELDS) int64, all stages' nodes, one stage after another; the last row
            says where the children of the node before it end. Whoever executes them notes there
            when they start and end: to copy them takes as long as half of a run.
        child: (E,) int64, their children.
        stage_start: (S + 1,) int64, where each stage's nodes begin.
        categories: Names of the booking categories: phases of compute, axes of communication,
            tiers of memory.
        shared: Collectives between stages, by number.
    """

    rows: Ints
    child: Ints
    stage_start: Ints
    categories: tuple[str, ...]
    shared: tuple[PlacedCollective, ...]

    @property
    def node(self) -> Ints:
        """(T, NODE_FIELDS) int64: the nodes."""
        return self.rows[:-1]


def p2p_hop(dimensions: Sequence[Dimension], source: int, target: int) -> tuple[int, int]:
    """Dimension and number of links that a message between two NPUs crosses.

    It is charged for the lowest dimension in which they differ (ASTRA-sim's congestion-unaware
    rule).
    """
    for index, dimension in enumerate(dimensions):
        at, to = source % dimension.npus, target % dimension.npus
        if at != to:
            return index, dimension.shape.hops(dimension.npus, at, to)
        source //= dimension.npus
        target //= dimension.npus
    raise SimulationError("an NPU sends to itself")


def p2p_ns(dimensions: Sequence[Dimension], source: int, target: int, size_bytes: int) -> int:
    """Time of one message between two NPUs on idle links, in whole ns."""
    index, hops = p2p_hop(dimensions, source, target)
    dimension = dimensions[index]
    link = dimension.link_bandwidth_bytes_per_s / 1e9
    return int(message_ns(hops, dimension.latency_s * 1e9, size_bytes, link))


def lower(
    graph: TrainingGraph,
    dimensions: Sequence[Dimension],
    operator_ns: NDArray[np.int64],
    collective_times: Sequence[CollectiveTime | None],
    transfer_ns: Ints,
    messages: MessageTimes | None = None,
) -> Lowered:
    """Give every node its duration, and its place in the executor's arrays.

    Args:
        graph: The iteration.
        dimensions: Of the network.
        operator_ns: (O,) int64, time of each operator.
        collective_times: Of each collective; None where its members are at several stages.
        transfer_ns: (T,) int64, time of each transfer into or out of a tier of memory.
        messages: Times of messages between stages; None: on idle links.
    """
    categories, first_item, items = _items(graph, operator_ns, collective_times, transfer_ns)
    sizes = [stage.nodes for stage in graph.stages]
    stage_start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    rows = np.empty((int(stage_start[-1]) + 1, f.NODE_FIELDS), np.int64)
    node, rows[-1] = rows[:-1], 0
    child = np.empty(sum(stage.dep.size for stage in graph.stages), np.int64)
    rows[-1, n.CHILDREN] = child.size
    edges = 0
    for stage, first in zip(graph.stages, stage_start.tolist(), strict=False):
        own = node[first : first + stage.nodes]
        write_nodes(stage.kind, stage.item, stage.stage, first_item, items, own)
        _time_messages(stage, messages, dimensions, graph.plan.stage_stride, own)
        node[first, n.CHILDREN] = edges
        invert_dependencies(stage.dep_start, stage.dep, first, child, node)
        edges += stage.dep.size
    _pair_messages(graph.stages, stage_start, node)
    shared = _shared_collectives(graph, stage_start, node)
    for number, collective in enumerate(shared):
        node[list(collective.nodes), n.MATE] = number
    return Lowered(
        rows=rows,
        child=child,
        stage_start=stage_start,
        categories=categories,
        shared=shared,
    )


def with_losses(lowered: Lowered, graph: TrainingGraph, taking: Taking | None) -> Lowered:
    """*lowered* with what communication takes, and what computes lose with it; None: nothing."""
    if taking is None:
        return lowered
    for stage, first in zip(graph.stages, lowered.stage_start.tolist(), strict=False):
        own = lowered.rows[first : first + stage.nodes]
        sends = np.flatnonzero(stage.kind == NodeKind.SEND)
        parts = np.zeros((stage.nodes, 2), np.int64)
        parts[sends] = taking.of_sends(stage.size_bytes[sends], own[sends, n.DURATION])
        for kind, of_items in (
            (NodeKind.COMPUTE, taking.operators),
            (NodeKind.COLLECTIVE, taking.collectives),
        ):
            nodes = np.flatnonzero(stage.kind == kind)
            parts[nodes] = of_items[stage.item[nodes]]
        own[:, f.CORES], own[:, f.MEMORY] = parts[:, 0], parts[:, 1]
    return replace(lowered, categories=(*lowered.categories, LOST))


def _items(
    graph: TrainingGraph,
    operator_ns: Ints,
    collective_times: Sequence[CollectiveTime | None],
    transfer_ns: Ints,
) -> tuple[tuple[str, ...], Ints, Ints]:
    """Categories, and as ``write_nodes`` reads them where the items of each kind begin, and these.

    Operators, then collectives, transfers, sends and receives.
    """
    ports = ports_of(graph.transfers)
    rows: list[tuple[int, int, str, int]] = [
        (time, ON_ITS_START, str(operator.phase), n.COMPUTE)
        for operator, time in zip(graph.operators, operator_ns.tolist(), strict=True)
    ]
    first = np.zeros(max(NodeKind) + 1, np.int64)
    first[NodeKind.COLLECTIVE] = len(rows)
    rows += [
        (time.duration_ns, time.last_step_ns, str(operation.axis), n.COMMUNICATION)
        if time
        else (0, 0, str(operation.axis), n.SHARED)
        for operation, time in zip(graph.collectives, collective_times, strict=True)
    ]
    first[[NodeKind.MEM_LOAD, NodeKind.MEM_STORE]] = len(rows)
    rows += [
        (time, ON_ITS_START, transfer.category, n.TRANSFER + ports[transfer.port])
        for transfer, time in zip(graph.transfers, transfer_ns.tolist(), strict=True)
    ]
    first[[NodeKind.SEND, NodeKind.RECV]] = len(rows), len(rows) + 1
    rows += [(0, ON_ITS_START, "pp", kind) for kind in (n.SEND, n.RECV)]
    categories = _categories(graph)
    number = {name: at for at, name in enumerate(categories)}
    numbered = [(time, lead, number[name], kind) for time, lead, name, kind in rows]
    return categories, first, np.array(numbered, np.int64)


def _categories(graph: TrainingGraph) -> tuple[str, ...]:
    phases = dict.fromkeys([str(operator.phase) for operator in graph.operators])
    axes = dict.fromkeys([*[str(c.axis) for c in graph.collectives], "pp"])
    tiers = dict.fromkeys([transfer.category for transfer in graph.transfers])
    return (*phases, *axes, *tiers)


def _place_messages(stage: StageGraph, messages: MessageTimes, node: Ints) -> None:
    """Give sends the times of *messages*."""
    stages = messages.time_ns.shape[1]
    sends = np.flatnonzero(stage.kind == NodeKind.SEND)
    onwards = stage.peer_stage[sends] == (stage.stage + 1) % stages
    both = messages.time_ns[:, stage.stage]
    node[sends, n.DURATION] = np.where(onwards, both[0], both[1])


def _time_messages(
    stage: StageGraph,
    messages: MessageTimes | None,
    dimensions: Sequence[Dimension],
    stage_stride: int,
    node: Ints,
) -> None:
    """Give sends their times: those of *messages*, or those on idle links."""
    if messages is not None:
        _place_messages(stage, messages, node)
        return
    duration = node[:, n.DURATION]
    sends = np.flatnonzero(stage.kind == NodeKind.SEND)
    for peer in np.unique(stage.peer_stage[sends]).tolist():
        to_peer = sends[stage.peer_stage[sends] == peer]
        for size in np.unique(stage.size_bytes[to_peer]).tolist():
            own, other = stage.stage * stage_stride, peer * stage_stride
            same = to_peer[stage.size_bytes[to_peer] == size]
            duration[same] = p2p_ns(dimensions, own, other, size)


def _pair_messages(stages: Sequence[StageGraph], stage_start: Ints, node: Ints) -> None:
    """Point each send to its receive; their tags are the same and unique."""
    ends = {}
    for what in (NodeKind.SEND, NodeKind.RECV):
        positions = [np.flatnonzero(stage.kind == what) for stage in stages]
        tags = [stage.tag[at] for stage, at in zip(stages, positions, strict=True)]
        nodes = [at + first for at, first in zip(positions, stage_start[:-1], strict=True)]
        tag, at = np.concatenate(tags), np.concatenate(nodes)
        order = np.argsort(tag, kind="stable")
        ends[what] = tag[order], at[order]
    (send_tag, send), (receive_tag, receive) = ends[NodeKind.SEND], ends[NodeKind.RECV]
    if not np.array_equal(send_tag, receive_tag):
        raise SimulationError("the stages' sends and receives do not pair up")
    node[send, n.MATE] = receive


def _shared_collectives(
    graph: TrainingGraph, stage_start: Ints, node: Ints
) -> tuple[PlacedCollective, ...]:
    """The collectives between stages: the k-th node of an item on each stage is one of them."""
    is_shared = node[:, n.KIND] == n.SHARED
    nodes: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for stage, first in zip(graph.stages, stage_start[:-1].tolist(), strict=True):
        met: dict[int, int] = {}
        for position in np.flatnonzero(is_shared[first : first + stage.nodes]).tolist():
            item = int(stage.item[position])
            met[item] = met.get(item, 0) + 1
            nodes.setdefault((item, met[item]), []).append((stage.stage, first + position))
    return tuple(
        PlacedCollective(
            item=item,
            nodes=tuple(node for _, node in members),
            stages=tuple(stage for stage, _ in members),
        )
        for (item, _), members in nodes.items()
    )

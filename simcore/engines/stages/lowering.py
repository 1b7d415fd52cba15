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
        node: (T, NODE_FIELDS) int64, all stages' nodes, one stage after another, before they run.
        child: (E,) int64, their children.
        stage_start: (S + 1,) int64, where each stage's nodes begin.
        categories: Names of the booking categories: phases of compute, axes of communication,
            tiers of memory.
        shared: Collectives between stages, by number.
    """

    node: Ints
    child: Ints
    stage_start: Ints
    categories: tuple[str, ...]
    shared: tuple[PlacedCollective, ...]


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
    tables = _tables(graph, operator_ns, collective_times, transfer_ns)
    sizes = [stage.nodes for stage in graph.stages]
    stage_start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    node = np.zeros((int(stage_start[-1]), f.NODE_FIELDS), np.int64)
    node[:, [n.MATE, f.STARTED, f.HAS_ENDED, f.ITEM]] = -1
    child = np.empty(sum(stage.dep.size for stage in graph.stages), np.int64)
    edges = 0
    for stage, first in zip(graph.stages, stage_start.tolist(), strict=False):
        own = node[first : first + stage.nodes]
        _lower_stage(stage, tables, own)
        _time_messages(stage, messages, dimensions, graph.plan.stage_stride, own)
        node[first, n.CHILDREN] = edges
        invert_dependencies(stage.dep_start, stage.dep, first, child, node)
        edges += stage.dep.size
    _pair_messages(graph.stages, stage_start, node)
    shared = _shared_collectives(graph, stage_start, node)
    for number, collective in enumerate(shared):
        node[list(collective.nodes), n.MATE] = number
    return Lowered(
        node=node,
        child=child,
        stage_start=stage_start,
        categories=tables.categories,
        shared=shared,
    )


def with_losses(lowered: Lowered, graph: TrainingGraph, taking: Taking | None) -> Lowered:
    """*lowered* with what communication takes, and what computes lose with it; None: nothing."""
    if taking is None:
        return lowered
    node = lowered.node.copy()
    for stage, first in zip(graph.stages, lowered.stage_start.tolist(), strict=False):
        own = node[first : first + stage.nodes]
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
    return replace(lowered, node=node, categories=(*lowered.categories, LOST))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Tables:
    """Per operator, collective and transfer, what its nodes get."""

    categories: tuple[str, ...]
    operator_ns: Ints
    operator_category: NDArray[np.int32]
    collective_ns: Ints
    last_step_ns: Ints
    collective_category: NDArray[np.int32]
    is_shared: NDArray[np.bool_]
    p2p_category: int
    transfer_ns: Ints
    transfer_category: NDArray[np.int32]
    port: Ints


def _tables(
    graph: TrainingGraph,
    operator_ns: Ints,
    collective_times: Sequence[CollectiveTime | None],
    transfer_ns: Ints,
) -> _Tables:
    phases = list(dict.fromkeys(str(operator.phase) for operator in graph.operators))
    axes = list(dict.fromkeys([*(str(c.axis) for c in graph.collectives), "pp"]))
    tiers = list(dict.fromkeys(transfer.category for transfer in graph.transfers))
    categories = (*phases, *axes, *tiers)
    ports = ports_of(graph.transfers)
    return _Tables(
        categories=categories,
        operator_ns=operator_ns,
        operator_category=_indices([str(o.phase) for o in graph.operators], categories),
        collective_ns=np.array([t.duration_ns if t else 0 for t in collective_times], np.int64),
        last_step_ns=np.array([t.last_step_ns if t else 0 for t in collective_times], np.int64),
        collective_category=_indices([str(c.axis) for c in graph.collectives], categories),
        is_shared=np.array([time is None for time in collective_times], np.bool_),
        p2p_category=categories.index("pp"),
        transfer_ns=transfer_ns,
        transfer_category=_indices([t.category for t in graph.transfers], categories),
        port=np.array([ports[transfer.port] for transfer in graph.transfers], np.int64),
    )


def _indices(names: list[str], categories: tuple[str, ...]) -> NDArray[np.int32]:
    return np.array([categories.index(name) for name in names], np.int32)


def _lower_stage(stage: StageGraph, tables: _Tables, node: Ints) -> None:
    """Fill the records *node*, (N, NODE_FIELDS), of one stage's nodes."""
    node[:, f.STAGE] = stage.stage
    kind, duration = node[:, n.KIND], node[:, n.DURATION]
    last_step, category = node[:, n.LAST_STEP], node[:, n.CATEGORY]
    last_step[:] = ON_ITS_START
    category[:] = tables.p2p_category
    compute = np.flatnonzero(stage.kind == NodeKind.COMPUTE)
    item = stage.item[compute]
    kind[compute] = n.COMPUTE
    duration[compute] = tables.operator_ns[item]
    category[compute] = tables.operator_category[item]
    collective = np.flatnonzero(stage.kind == NodeKind.COLLECTIVE)
    item = stage.item[collective]
    local, shared = n.COMMUNICATION, n.SHARED
    kind[collective] = np.where(tables.is_shared[item], shared, local)
    duration[collective] = tables.collective_ns[item]
    last_step[collective] = tables.last_step_ns[item]
    category[collective] = tables.collective_category[item]
    moves = np.flatnonzero(np.isin(stage.kind, (NodeKind.MEM_LOAD, NodeKind.MEM_STORE)))
    item = stage.item[moves]
    kind[moves] = n.TRANSFER + tables.port[item]
    duration[moves] = tables.transfer_ns[item]
    category[moves] = tables.transfer_category[item]
    kind[stage.kind == NodeKind.RECV] = n.RECV
    kind[stage.kind == NodeKind.SEND] = n.SEND


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

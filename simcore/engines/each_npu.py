"""Executes an iteration NPU by NPU and message by message; NPUs that are alike run as one.

For networks in which messages slow each other down, for topologies on which groups of one axis lie
differently, and for designs in which the members of a collective do not end together
(``phase_end: each``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.engines.classes.run import Execution, Ran
from simcore.engines.collectives.ends import is_shared
from simcore.engines.collectives.members import engine_options
from simcore.engines.collectives.phases import runnable
from simcore.engines.collectives.placement import Placement
from simcore.engines.events.fold.run import run_folded
from simcore.engines.events.input import (
    EngineInput,
    GridGroup,
    Ints,
    ListGroup,
    RemoteMemory,
    SystemOptions,
)
from simcore.engines.events.programs import Program
from simcore.engines.limits import memory
from simcore.engines.machine_times import MachineTimes, ProgramTimes
from simcore.engines.stages.accounts import book
from simcore.engines.stages.lowering import Lowered, lower
from simcore.errors import ConfigError, SimulationError
from simcore.machine import Platform
from simcore.machine.system import System
from simcore.network import DEFAULT_BACKEND
from simcore.network.dimensions import engine_dimensions
from simcore.terms import CollectiveKind, NodeKind
from simcore.workload.graph import Axis, StageGraph, TrainingGraph, ports_of

_LOCAL_KEYS = {axis: 1 + index for index, axis in enumerate(Axis)}
_FIRST_SHARED_KEY = 16
_NOTHING = np.zeros(0, np.int64)


class NodeTimes(NamedTuple):
    """Times of nodes by what they do.

    Attributes:
        operator_ns: (O,) int64, of each operator.
        transfer_ns: (T,) int64, of each transfer into or out of a tier of memory.
    """

    operator_ns: NDArray[np.int64]
    transfer_ns: NDArray[np.int64] = _NOTHING

    def at_speed(self, speed: float) -> "NodeTimes":
        """Times of an NPU that computes at a multiple of the speed."""
        return self._replace(operator_ns=np.rint(self.operator_ns / speed).astype(np.int64))


def run_every_npu(graph: TrainingGraph, times: ProgramTimes, machine: MachineTimes) -> Ran:
    """Run the programs of all NPUs; each stage is told by its NPU that ends last.

    Raises:
        ConfigError: The NPUs take more memory than a run may; says what to choose.
        MemoryError: They take more than this machine has.
        SimulationError: The NPUs wait for each other for ever; names the nodes.
    """
    nodes = sum(stage.nodes for stage in graph.stages) * graph.plan.npus_per_stage
    if not memory.may_take(nodes):
        raise _too_many(nodes, times, machine)
    platform, operator_ns = machine.platform, times.operator_ns
    lowered = lower(graph, platform.dimensions, operator_ns, times.collectives, times.transfer_ns)
    shared = [axis for axis in graph.groups if is_shared(graph.plan, axis)]
    lasts = NodeTimes(operator_ns, times.transfer_ns)
    inputs = expand(graph, platform, machine.system, lasts, times.placements, shared)
    network = machine.outside()
    where, on = machine.where, machine.on
    inputs = replace(inputs, backend=machine.backend, network=network, where=where, on=on)
    run = execute_each(graph, lowered, inputs)
    ran = Ran.of_nodes(graph, lowered, run)
    return ran if network is None else replace(ran, account=network.account())


def _too_many(nodes: int, times: ProgramTimes, machine: MachineTimes) -> ConfigError:
    """Error of a run whose NPUs take more memory than it may."""
    limit = f"follows all NPUs that differ: {memory.told(nodes)}"
    if machine.messages_meet and times.loose:
        rule = (
            f"{limit}; {times.loose}; choose together, which takes the NPUs of a stage to stay in "
            "step, or fewer micro-batches"
        )
        return ConfigError("system.phase_end", rule, got=machine.system.phase_end)
    if machine.messages_meet:
        rule = f"{limit}; choose {DEFAULT_BACKEND}, fewer NPUs or fewer micro-batches"
        return ConfigError("backend", rule, got=machine.backend)
    if times.unlike:
        rule = f"where groups lie differently on it, {limit}; choose another topology or fewer NPUs"
        return ConfigError("platform.dimensions", rule, got=times.unlike)
    if machine.platform.npu_scale:
        rule = f"where NPUs are of unlike speed, {limit}; choose fewer NPUs or none"
        return ConfigError("platform.npu_scale", rule, got=machine.platform.npu_scale)
    rule = f"where members of a collective end one by one, {limit}; choose together"
    return ConfigError("system.phase_end", rule, got="each")


def execute_each(graph: TrainingGraph, lowered: Lowered, inputs: EngineInput) -> Execution:
    """Run the programs of all NPUs, *inputs*; each stage of *graph* is its NPU that ends last.

    Raises:
        SimulationError: The NPUs wait for each other for ever; names the nodes.
    """
    output = run_folded(inputs)
    if output.waiting:
        raise SimulationError("; ".join(output.waiting[:4]))
    plan = graph.plan
    npu = [[plan.npu(s, member) for member in range(plan.npus_per_stage)] for s in range(plan.pp)]
    finish = output.finish_ns[np.array(npu)]
    slowest = [npu[stage][member] for stage, member in enumerate(finish.argmax(axis=1).tolist())]
    start = np.concatenate([output.node_start_ns[npu] for npu in slowest])
    end = np.concatenate([output.node_end_ns[npu] for npu in slowest])
    ran = Execution(
        start_ns=start,
        end_ns=end,
        finish_ns=finish.max(axis=1),
        booked_ns=np.zeros((0, 0), np.int64),
        events=output.events,
        npus=output.classes,
    )
    return replace(ran, booked_ns=book(lowered, start, end))


def expand(
    graph: TrainingGraph,
    platform: Platform,
    system: System,
    times: NodeTimes,
    placements: Mapping[Axis, Placement],
    shared_axes: Sequence[Axis],
) -> EngineInput:
    """Write out the program of every NPU.

    Args:
        graph: The iteration.
        platform: The machine.
        system: Of the collectives.
        times: Of operators and transfers.
        placements: Of the groups whose members are all at one stage.
        shared_axes: Axes whose groups have members at several stages.

    Raises:
        SimulationError: An algorithm cannot run in one group but can in another, which one engine
            run cannot express.
    """
    plan, ports = graph.plan, ports_of(graph.transfers)
    groups: dict[int, ListGroup | GridGroup] = {
        _LOCAL_KEYS[axis]: GridGroup(
            extent=np.array(placement.extent, np.int64),
            stride=np.array(placement.stride, np.int64),
        )
        for axis, placement in placements.items()
        if axis not in shared_axes
    }
    for axis in shared_axes:
        stages = _stages_of(graph, axis)
        for member in range(plan.npus_per_stage):
            members = np.array([plan.npu(stage, member) for stage in stages], np.int64)
            groups[_shared_key(graph, axis, member)] = ListGroup(members=members)
    programs = _programs(graph, platform, times, shared_axes)
    return EngineInput(
        backend="congestion_unaware",
        dimensions=engine_dimensions(platform.dimensions),
        options=_options(platform, system, _extents(graph, placements, shared_axes)),
        programs=programs,
        program_of_npu=np.arange(graph.plan.npus, dtype=np.int64),
        groups=groups,
        remote_memory=RemoteMemory(kind="ports" if ports else "none", ports=len(ports)),
    )


def _programs(
    graph: TrainingGraph, platform: Platform, times: NodeTimes, shared_axes: Sequence[Axis]
) -> tuple[Program, ...]:
    """Program of each NPU; those of a stage and a speed have the columns in common that may be."""
    speeds = platform.speeds() if platform.npu_scale else [1.0] * graph.plan.npus
    known, found = dict[tuple[int, float], Program](), list[Program]()
    for npu, speed in enumerate(speeds):
        number, member = graph.plan.stage_and_member(npu)
        key = number, speed
        if key not in known:
            own = times.at_speed(speed) if platform.npu_scale else times
            known[key] = _stage_program(graph, own, graph.stages[number], shared_axes)
        found.append(_of_member(graph, known[key], (number, member), shared_axes))
    return tuple(found)


def _extents(
    graph: TrainingGraph, placements: Mapping[Axis, Placement], shared_axes: Sequence[Axis]
) -> list[set[int]]:
    """Per dimension, how many members groups have there."""
    local = [placement for axis, placement in placements.items() if axis not in shared_axes]
    dimensions = len(next(iter(placements.values())).extent) if placements else 1
    extents = [{placement.extent[d] for placement in local} - {1} for d in range(dimensions)]
    if dimensions == 1:  # there a list runs the dimension's algorithm; elsewhere it is a ring
        extents[0] |= {len(_stages_of(graph, axis)) for axis in shared_axes}
    return extents


def _options(platform: Platform, system: System, extents: Sequence[set[int]]) -> SystemOptions:
    """One set of algorithms for all groups; stand-ins must agree between them."""
    topologies = [dimension.topology for dimension in platform.dimensions]
    for kind in (CollectiveKind.ALL_REDUCE, CollectiveKind.ALL_GATHER):
        for dimension, name in enumerate(system.algorithms(kind, topologies)):
            if len({runnable(name, kind, extent) for extent in extents[dimension]}) > 1:
                raise SimulationError(
                    f"dimension {dimension}: {name} runs in some groups only, where NPUs are "
                    "followed one by one; choose an algorithm that runs in all, such as ring"
                )
    memory_rate = platform.npu.memory_bandwidth_bytes_per_s
    members = [max(sizes, default=1) for sizes in extents]
    return engine_options(system, topologies, memory_rate, members)


def _stages_of(graph: TrainingGraph, axis: Axis) -> list[int]:
    last = graph.plan.pp - 1
    return [0, last] if axis is Axis.EMBEDDING else list(range(last + 1))


def _shared_key(graph: TrainingGraph, axis: Axis, member: int) -> int:
    block = list(Axis).index(axis)
    return _FIRST_SHARED_KEY + block * graph.plan.npus_per_stage + member


def _of_member(
    graph: TrainingGraph, first: Program, at: tuple[int, int], shared_axes: Sequence[Axis]
) -> Program:
    """Program of a member of a stage, *at*, from that of its *first* member."""
    stage, member = graph.stages[at[0]], at[1]
    if member == 0:
        return first
    group, peer = first.group, first.peer
    if shared_axes:
        group = _of_items(stage, NodeKind.COLLECTIVE, _keys(graph, member, shared_axes), 0)
    if (stage.peer_stage >= 0).any():
        peer = np.where(stage.peer_stage >= 0, _peers(graph, stage, member), peer)
    return replace(first, group=group, peer=peer)


def _stage_program(
    graph: TrainingGraph, times: NodeTimes, stage: StageGraph, shared_axes: Sequence[Axis]
) -> Program:
    """Program of the first member of a stage."""
    nodes = stage.nodes
    kinds = [int(operation.kind) for operation in graph.collectives]
    keys = _keys(graph, 0, shared_axes)
    peer = np.where(stage.peer_stage >= 0, _peers(graph, stage, 0), -1)
    moves = np.isin(stage.kind, (NodeKind.MEM_LOAD, NodeKind.MEM_STORE))
    size_bytes, priority = stage.size_bytes.copy(), np.zeros(nodes, np.int64)
    if moves.any():
        ports = ports_of(graph.transfers)
        port = np.array([ports[transfer.port] for transfer in graph.transfers], np.int64)
        peer[moves] = priority[moves] = port[stage.item[moves]]
        size_bytes[moves] = times.transfer_ns[stage.item[moves]]
    return Program(
        node_id=np.arange(nodes, dtype=np.uint64),
        kind=stage.kind,
        on_cpu=np.zeros(nodes, np.bool_),
        skipped=np.zeros(nodes, np.bool_),
        duration_ns=_of_items(stage, NodeKind.COMPUTE, times.operator_ns, 0),
        comm_kind=_of_items(stage, NodeKind.COLLECTIVE, kinds, -1).astype(np.int8),
        size_bytes=size_bytes,
        priority=priority,
        group=_of_items(stage, NodeKind.COLLECTIVE, keys, 0),
        involved_dims=np.full(nodes, -1, np.int64),
        peer=peer,
        tag=np.maximum(stage.tag, 0),
        dep_start=stage.dep_start,
        dep=stage.dep.astype(np.int64),
    )


def _peers(graph: TrainingGraph, stage: StageGraph, member: int) -> Ints:
    """(T,) int64: NPUs of a member's peers; of nodes without one, any."""
    of_stage = np.array([graph.plan.npu(peer, member) for peer in range(graph.plan.pp)])
    return of_stage.take(stage.peer_stage, mode="clip")


def _keys(graph: TrainingGraph, member: int, shared_axes: Sequence[Axis]) -> list[int]:
    """Keys of a member's groups, collective by collective."""
    return [
        _shared_key(graph, operation.axis, member)
        if operation.axis in shared_axes
        else _LOCAL_KEYS[operation.axis]
        for operation in graph.collectives
    ]


def _of_items(
    stage: StageGraph, kind: NodeKind, values: Sequence[int] | Ints, otherwise: int
) -> Ints:
    """(N,) int64: for nodes of *kind*, that of the *values* which their item has."""
    out = np.full(stage.nodes, otherwise, np.int64)
    own = stage.kind == kind
    out[own] = np.asarray(values, np.int64)[stage.item[own]]
    return out

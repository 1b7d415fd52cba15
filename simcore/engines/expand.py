"""From the stages' graphs to a program for every NPU: input of the unfolded engine.

The long way round: nothing is assumed about NPUs being alike. Checks the folded execution, and
runs designs in which members of a group end their collectives one by one.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from simcore.engines.collectives.members import engine_dimensions, engine_options
from simcore.engines.collectives.phases import runnable
from simcore.engines.collectives.placement import Placement
from simcore.engines.events.input import EngineInput, GridGroup, Ints, ListGroup, SystemOptions
from simcore.engines.events.programs import Program
from simcore.errors import SimulationError
from simcore.machine import Platform
from simcore.machine.system import System
from simcore.terms import CollectiveKind, NodeKind
from simcore.workload.graph import Axis, TrainingGraph

_LOCAL_KEYS = {axis: 1 + index for index, axis in enumerate(Axis)}
_FIRST_SHARED_KEY = 16


def expand(
    graph: TrainingGraph,
    platform: Platform,
    system: System,
    operator_ns: NDArray[np.int64],
    placements: Mapping[Axis, Placement],
    shared_axes: Sequence[Axis],
) -> EngineInput:
    """Write out the program of every NPU.

    Args:
        graph: The iteration.
        platform: The machine.
        system: Of the collectives.
        operator_ns: (O,) int64, time of each operator.
        placements: Of the groups whose members are all at one stage.
        shared_axes: Axes whose groups have members at several stages.

    Raises:
        SimulationError: An algorithm cannot run in one group but can in another, which one engine
            run cannot express.
    """
    plan = graph.plan
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
    programs = tuple(_program(graph, operator_ns, npu, shared_axes) for npu in range(plan.npus))
    return EngineInput(
        backend="congestion_unaware",
        dimensions=engine_dimensions(platform.dimensions),
        options=_options(platform, system, _extents(graph, placements, shared_axes)),
        programs=programs,
        program_of_npu=np.arange(graph.plan.npus, dtype=np.int64),
        groups=groups,
    )


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


def _program(
    graph: TrainingGraph,
    operator_ns: Ints,
    npu: int,
    shared_axes: Sequence[Axis],
) -> Program:
    number, member = graph.plan.stage_and_member(npu)
    stage = graph.stages[number]
    nodes = stage.nodes
    of_stage = np.array([graph.plan.npu(peer, member) for peer in range(graph.plan.pp)])
    duration = np.zeros(nodes, np.int64)
    compute = stage.kind == NodeKind.COMPUTE
    duration[compute] = operator_ns[stage.item[compute]]
    comm_kind = np.full(nodes, -1, np.int8)
    group = np.zeros(nodes, np.int64)
    collective = stage.kind == NodeKind.COLLECTIVE
    kinds = np.array([int(operation.kind) for operation in graph.collectives] or [0], np.int8)
    keys = np.array(
        [
            _shared_key(graph, operation.axis, member)
            if operation.axis in shared_axes
            else _LOCAL_KEYS[operation.axis]
            for operation in graph.collectives
        ]
        or [0],
        np.int64,
    )
    comm_kind[collective] = kinds[stage.item[collective]]
    group[collective] = keys[stage.item[collective]]
    messages = stage.peer_stage >= 0
    peer = np.where(messages, of_stage.take(stage.peer_stage, mode="clip"), -1)
    return Program(
        node_id=np.arange(nodes, dtype=np.uint64),
        kind=stage.kind,
        on_cpu=np.zeros(nodes, np.bool_),
        skipped=np.zeros(nodes, np.bool_),
        duration_ns=duration,
        comm_kind=comm_kind,
        size_bytes=stage.size_bytes,
        priority=np.zeros(nodes, np.int64),
        group=group,
        involved_dims=np.full(nodes, -1, np.int64),
        peer=peer,
        tag=np.maximum(stage.tag, 0),
        dep_start=stage.dep_start,
        dep=stage.dep.astype(np.int64),
    )

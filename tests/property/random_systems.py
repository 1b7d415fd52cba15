"""Random small systems, most of them with NPUs that are alike: groups, pipelines, odd ones out."""

from dataclasses import dataclass, replace
from math import prod

import numpy as np

from simcore.engines.events.input import (
    EngineInput,
    GridGroup,
    ListGroup,
    RemoteMemory,
    SharedBus,
    SystemOptions,
)
from simcore.engines.events.programs import Program
from simcore.formats.astra.collective_names import algorithms_of
from simcore.network import NetworkDimension
from simcore.terms import CollectiveKind, NodeKind

KINDS = (
    CollectiveKind.ALL_REDUCE,
    CollectiveKind.ALL_GATHER,
    CollectiveKind.REDUCE_SCATTER,
    CollectiveKind.ALL_TO_ALL,
)
SHAPES = (
    (4,),
    (6,),
    (8,),
    (16,),
    (3,),
    (4, 2),
    (2, 4),
    (4, 4),
    (3, 4),
    (8, 2),
    (2, 2, 4),
    (4, 4, 2),
)


@dataclass(frozen=True)
class Node:
    """A node before it belongs to an NPU: its group is a slot, its peer a distance in stages."""

    kind: NodeKind
    size: int = 0
    duration: int = 1
    comm: int = -1
    group: int = 0
    peer: int = 0
    tag: int = 0
    involved: int = -1
    deps: tuple[int, ...] = ()


def program_of(nodes: list[Node], groups: list[int], npu: int, stage_npus: int) -> Program:
    """The program of one NPU; *groups* are the keys of its slots."""
    count = len(nodes)
    transfers = (NodeKind.SEND, NodeKind.RECV)
    return Program(
        node_id=np.arange(count, dtype=np.uint64),
        kind=np.array([node.kind for node in nodes], np.int8),
        on_cpu=np.zeros(count, np.bool_),
        skipped=np.zeros(count, np.bool_),
        duration_ns=np.array([node.duration for node in nodes], np.int64),
        comm_kind=np.array([node.comm for node in nodes], np.int8),
        size_bytes=np.array([node.size for node in nodes], np.int64),
        priority=np.arange(count) % 3,
        group=np.array([groups[node.group] for node in nodes], np.int64),
        involved_dims=np.array([node.involved for node in nodes], np.int64),
        peer=np.array(
            [npu + node.peer * stage_npus if node.kind in transfers else -1 for node in nodes]
        ),
        tag=np.array([node.tag for node in nodes], np.int64),
        dep_start=np.cumsum([0] + [len(node.deps) for node in nodes]),
        dep=np.array([dep for node in nodes for dep in node.deps], np.int64),
    )


def random_system(seed: int) -> EngineInput:
    """The system of one number."""
    rng = np.random.default_rng(seed)
    shape = SHAPES[rng.integers(len(SHAPES))]
    npus = prod(shape)
    dimensions = tuple(
        NetworkDimension(
            topology=str(rng.choice(["ring", "fully_connected", "switch"])),
            npus=size,
            bytes_per_ns=float(rng.choice([1.0, 25.0, 50.0])),
            latency_ns=float(rng.choice([0.0, 10.0, 30.0, 500.0])),
        )
        for size in shape
    )
    backends = ["congestion_unaware", "congestion_aware_multidim"]
    groups, slots = _groups(rng, shape)
    stages = int(rng.choice([2, 4])) if rng.random() < 0.3 and npus % 4 == 0 else 1
    per_stage = npus // stages
    templates = [_nodes(rng, stage, stages, len(slots)) for stage in range(stages)]
    if stages > 1:
        for stage in range(stages):
            members = np.arange(stage * per_stage, (stage + 1) * per_stage)
            groups[100 + stage] = ListGroup(members=members)
    programs = []
    for npu in range(npus):
        stage = npu // per_stage
        keys = [slot[npu] for slot in slots]
        if stages > 1:
            keys = [100 + stage] * len(slots)
        programs.append(program_of(templates[stage], keys, npu, per_stage))
    start_ns = _disturb(rng, programs)
    return EngineInput(
        backend=backends[int(rng.random() < 0.5)],
        dimensions=dimensions,
        options=_options(rng, shape),
        programs=tuple(programs),
        program_of_npu=np.arange(npus),
        groups=groups,
        remote_memory=RemoteMemory(
            kind="pool" if rng.random() < 0.1 else "per_npu", latency_ns=100, bytes_per_ns=10
        ),
        start_ns=start_ns,
    )


def _groups(
    rng: np.random.Generator, shape: tuple[int, ...]
) -> tuple[dict[int, ListGroup | GridGroup], list[list[int]]]:
    """Groups by key, and per slot the key of each NPU's group."""
    npus = prod(shape)
    groups: dict[int, ListGroup | GridGroup] = {}
    slots = [[0] * npus]
    for way in rng.choice(["next", "far", "mixed", "grid"], size=2, replace=False).tolist():
        size = int(rng.choice([s for s in (2, 3, 4, 8) if npus % s == 0 and s < npus] or [npus]))
        if way == "grid":
            key = len(groups) + 1
            d = int(rng.integers(len(shape)))
            extent = np.ones(len(shape), np.int64)
            extent[d] = shape[d] if rng.random() < 0.5 or shape[d] % 2 else shape[d] // 2
            stride = np.ones(len(shape), np.int64)
            stride[d] = shape[d] // int(extent[d]) if rng.random() < 0.5 else 1
            groups[key] = GridGroup(extent=extent, stride=stride)
            slots.append([key] * npus)
            continue
        ids = np.arange(npus)
        if way == "far":
            ids = ids.reshape(size, -1).T.reshape(-1)
        elif way == "mixed":
            ids = rng.permutation(npus)
        order = rng.permutation(size) if rng.random() < 0.3 else np.arange(size)
        keys = [0] * npus
        for part in ids.reshape(-1, size):
            key = len(groups) + 1
            groups[key] = ListGroup(members=part[order])
            for npu in part.tolist():
                keys[npu] = key
        slots.append(keys)
    return groups, slots


def _nodes(rng: np.random.Generator, stage: int, stages: int, slots: int) -> list[Node]:
    """What all NPUs of a stage run; the same random numbers serve all stages."""
    if stages > 1:
        return _pipeline(rng, stage, stages)
    nodes = []
    for number in range(int(rng.integers(1, 7))):
        count = int(rng.integers(0, min(number, 2) + 1))
        deps = tuple(sorted(rng.choice(number, size=count, replace=False).tolist()))
        kind = rng.choice(["collective", "collective", "compute", "memory"])
        if kind == "collective":
            nodes.append(
                Node(
                    kind=NodeKind.COLLECTIVE,
                    size=int(rng.choice([1, 1000, 4096, 65_536, 100_003])),
                    comm=int(rng.choice([int(k) for k in KINDS])),
                    group=int(rng.integers(slots)),
                    involved=int(rng.choice([-1, -1, 1])),
                    deps=deps,
                )
            )
        elif kind == "compute":
            duration = int(rng.choice([1, 10, 500, 5000]))
            nodes.append(Node(kind=NodeKind.COMPUTE, duration=duration, deps=deps))
        else:
            nodes.append(Node(kind=NodeKind.MEM_LOAD, size=1000, deps=deps))
    return nodes


def _pipeline(rng: np.random.Generator, stage: int, stages: int) -> list[Node]:
    size, busy = int(rng.choice([1000, 100_000])), int(rng.choice([10, 3000]))
    nodes: list[Node] = []
    for batch in range(2):
        before = len(nodes)
        if stage > 0:
            nodes.append(Node(kind=NodeKind.RECV, size=1000, peer=-1, tag=7 + batch))
        deps = (before,) if stage > 0 else ()
        nodes.append(Node(kind=NodeKind.COMPUTE, duration=busy + stage, deps=deps))
        comm = int(CollectiveKind.ALL_REDUCE)
        last = len(nodes) - 1
        nodes.append(Node(kind=NodeKind.COLLECTIVE, size=size, comm=comm, deps=(last,)))
        if stage < stages - 1:
            nodes.append(
                Node(kind=NodeKind.SEND, size=1000, peer=1, tag=7 + batch, deps=(last + 1,))
            )
    return nodes


def _disturb(rng: np.random.Generator, programs: list[Program]) -> np.ndarray | None:
    """Makes some NPUs odd; their start times, or None."""
    npus = len(programs)
    if rng.random() < 0.2:
        odd = int(rng.integers(npus))
        longer = programs[odd].duration_ns + 5
        programs[odd] = replace(programs[odd], duration_ns=longer)
    if rng.random() < 0.1:
        for npu in range(0, npus, 2):
            duration_ns = programs[npu].duration_ns * 2
            programs[npu] = replace(programs[npu], duration_ns=duration_ns)
    if rng.random() < 0.2:
        start_ns = np.zeros(npus, np.int64)
        start_ns[:: int(rng.choice([2, 4, npus]))] = int(rng.choice([10, 20, 700]))
        return start_ns
    return None


def _options(rng: np.random.Generator, shape: tuple[int, ...]) -> SystemOptions:
    def name(size: int) -> str:
        names = ["ring", "ring", "direct", "direct2"]
        if size & (size - 1) == 0:
            names += ["halvingDoubling", "halvingDoubling"]
        return str(rng.choice(names))

    algorithms = tuple(name(size) for size in shape)
    bus = SharedBus(latency_ns=5, overhead_ns=3, gap_ns=4, gap_ns_per_byte=0.01)
    return SystemOptions(
        scheduling=str(rng.choice(["lifo", "fifo", "explicit"])),
        local_bw_aware=bool(rng.random() < 0.6),
        chunks=int(rng.integers(1, 5)),
        active_chunks_per_dimension=int(rng.choice([1, 1, 2, 3])),
        queues_per_dimension=int(rng.choice([1, 1, 1, 2, 3])),
        endpoint_delay_ns=int(rng.choice([0, 10, 10, 10])),
        local_mem_bytes_per_ns=float(rng.choice([0.0, 1600.0, 1.0])),
        algorithms={int(kind): algorithms_of(algorithms) for kind in KINDS},
        inter_dimension=str(
            rng.choice(["ascending", "ascending", "round_robin", "offline_greedy"])
        ),
        compute_slots=int(rng.choice([1, 1, 2])),
        communication_streams=int(rng.choice([1, 1, 2, 3])),
        rendezvous=bool(rng.random() < 0.03),
        shared_bus=bus if rng.random() < 0.15 else None,
    )

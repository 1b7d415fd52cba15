"""Small engine runs for tests: one collective, or a few messages, on a given network."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from simcore.engines.events.input import EngineInput, GridGroup, Ints, ListGroup, SystemOptions
from simcore.engines.events.programs import Program
from simcore.formats.astra.collective_names import algorithms_of
from simcore.network import NetworkDimension
from simcore.terms import CollectiveKind, NodeKind

GB_PER_S = 1.0  # bytes per ns


def dimension(
    topology: str, npus: int, *, bytes_per_ns: float = 50 * GB_PER_S, latency_ns: float = 500.0
) -> NetworkDimension:
    return NetworkDimension(
        topology=topology, npus=npus, bytes_per_ns=bytes_per_ns, latency_ns=latency_ns
    )


def program(nodes: Sequence[Mapping[str, Any]]) -> Program:
    """Nodes as mappings of the columns that differ from the defaults."""

    def column(name: str, default: int) -> Ints:
        return np.array([node.get(name, default) for node in nodes], np.int64)

    waits = [list(node.get("dep", [])) for node in nodes]
    return Program(
        node_id=np.arange(len(nodes), dtype=np.uint64),
        kind=column("kind", NodeKind.COMPUTE).astype(np.int8),
        on_cpu=column("on_cpu", 0).astype(np.bool_),
        skipped=column("skipped", 0).astype(np.bool_),
        duration_ns=column("duration_ns", 1),
        comm_kind=column("comm_kind", -1).astype(np.int8),
        size_bytes=column("size_bytes", 0),
        priority=column("priority", 0),
        group=column("group", 0),
        involved_dims=column("involved_dims", -1),
        peer=column("peer", -1),
        tag=column("tag", 0),
        dep_start=np.cumsum([0] + [len(row) for row in waits]),
        dep=np.array([d for row in waits for d in row], np.int64),
    )


def send(peer: int, size_bytes: int = 1000, tag: int = 0) -> dict[str, int]:
    return {"kind": NodeKind.SEND, "peer": peer, "size_bytes": size_bytes, "tag": tag}


def receive(peer: int, size_bytes: int = 1000, tag: int = 0) -> dict[str, int]:
    return {"kind": NodeKind.RECV, "peer": peer, "size_bytes": size_bytes, "tag": tag}


def collective(kind: CollectiveKind, size_bytes: int, group: int = 0) -> dict[str, int]:
    return {
        "kind": NodeKind.COLLECTIVE,
        "comm_kind": kind,
        "size_bytes": size_bytes,
        "group": group,
    }


def options(algorithm: str | Sequence[str], *, chunks: int = 1) -> SystemOptions:
    names = (algorithm,) if isinstance(algorithm, str) else tuple(algorithm)
    return SystemOptions(
        chunks=chunks,
        local_mem_bytes_per_ns=1600.0,
        algorithms={int(kind): algorithms_of(names) for kind in CollectiveKind},
    )


def run_of(
    dimensions: Sequence[NetworkDimension],
    programs: Sequence[Program],
    system: SystemOptions,
    *,
    backend: str = "congestion_unaware",
    groups: Mapping[int, ListGroup | GridGroup] | None = None,
    start_ns: Ints | None = None,
) -> EngineInput:
    """One program for all NPUs, or one for each."""
    npus = int(np.prod([d.npus for d in dimensions]))
    index = np.zeros(npus, np.int64) if len(programs) == 1 else np.arange(npus)
    return EngineInput(
        backend=backend,
        dimensions=tuple(dimensions),
        options=system,
        programs=tuple(programs),
        program_of_npu=index,
        groups=groups or {},
        start_ns=start_ns,
    )

"""Engine inputs straight from the golden case files of ASTRA-sim."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simcore.engines.events.input import (
    CustomCollectives,
    EngineInput,
    ListGroup,
    RemoteMemory,
    SharedBus,
    SystemOptions,
)
from simcore.engines.events.programs import LASTS, Program
from simcore.formats.astra.collective_names import algorithms_of
from simcore.network import NetworkDimension
from simcore.terms import CollectiveKind

ROOT = Path(__file__).resolve().parents[2].parent / "shared" / "golden" / "astra"
TYPES = {
    "INVALID_NODE": 0,
    "METADATA_NODE": 1,
    "MEM_LOAD_NODE": 2,
    "MEM_STORE_NODE": 3,
    "COMP_NODE": 4,
    "COMM_SEND": 5,
    "COMM_RECV": 6,
    "COMM_COLL": 7,
    "COMM_SEND_NODE": 5,
    "COMM_RECV_NODE": 6,
    "COMM_COLL_NODE": 7,
    "COMP": 4,
    "MEM_LOAD": 2,
    "MEM_STORE": 3,
    "INVALID": 0,
    "METADATA": 1,
}
KEYS = {
    CollectiveKind.ALL_REDUCE: "all-reduce",
    CollectiveKind.ALL_GATHER: "all-gather",
    CollectiveKind.REDUCE_SCATTER: "reduce-scatter",
    CollectiveKind.ALL_TO_ALL: "all-to-all",
}
TOPOLOGIES = {"Ring": "ring", "FullyConnected": "fully_connected", "Switch": "switch"}


def load_case(case_id: str) -> dict[str, Any]:
    case: dict[str, Any] = json.loads((ROOT / "cases" / f"{case_id}.json").read_text())
    return case


def program_of(nodes: Sequence[Mapping[str, Any]], system: Mapping[str, Any]) -> Program:
    nodes = sorted(nodes, key=lambda node: int(node["id"]))
    position = {int(node["id"]): i for i, node in enumerate(nodes)}

    def attribute(name: str, default: Any) -> list[Any]:
        return [node.get("attrs", {}).get(name, [None, default])[1] for node in nodes]

    dependencies = [
        sorted({position[int(d)] for key in ("data_deps", "ctrl_deps") for d in node.get(key, [])})
        for node in nodes
    ]
    kind = np.array([TYPES[node["type"]] for node in nodes], np.int8)
    on_cpu = np.array(attribute("is_cpu_op", False), np.bool_)
    duration = [max(int(node.get("duration_micros", 0)) * 1000, 1) for node in nodes]
    skipped = kind == 0
    if system.get("roofline-enabled", 0):
        bandwidth, peak = system["local-mem-bw"] * 1e9, system["peak-perf"] * 1e12
        for i, (ops, moved) in enumerate(
            zip(attribute("num_ops", 0), attribute("tensor_size", 0), strict=True)
        ):
            if kind[i] == 4 and not on_cpu[i]:
                skipped[i] = moved == 0
                if moved:
                    duration[i] = int(ops / min(bandwidth * (ops / moved), peak) * 1e9)
    comm = np.array(attribute("comm_type", -1), np.int8)
    comm[comm == CollectiveKind.BROADCAST] = LASTS  # ASTRA-sim does not simulate it
    size = np.array(attribute("comm_size", 0), np.int64)
    memory = (kind == 2) | (kind == 3)
    size[memory] = np.array(attribute("tensor_size", 0), np.int64)[memory]
    if system.get("replay-only", 0):
        comm[(kind != 4) & (kind != 6)] = LASTS
        kind[(kind != 4) & (kind != 6)] = 7
        skipped[:] = False
    involved = [
        sum(1 << d for d, flag in enumerate(_flags(value)) if flag)
        for value in attribute("involved_dim", [True] * 4)
    ]
    src, dst = attribute("comm_src", -1), attribute("comm_dst", -1)
    peer = [
        int(d) if k == 5 else int(s) if k == 6 else -1
        for k, s, d in zip(kind, src, dst, strict=True)
    ]
    if system.get("replay-only", 0):
        peer = [-1] * len(peer)
    group = [int(g) if g else 0 for g in attribute("pg_name", "")]
    return Program(
        node_id=np.array([int(node["id"]) for node in nodes], np.uint64),
        kind=kind,
        on_cpu=on_cpu,
        skipped=skipped,
        duration_ns=np.array(duration, np.int64),
        comm_kind=comm,
        size_bytes=size,
        priority=np.array(attribute("comm_priority", 0), np.int64),
        group=np.array(group, np.int64),
        involved_dims=np.array(involved, np.int64),
        peer=np.array(peer, np.int64),
        tag=np.array(attribute("comm_tag", 0), np.int64),
        dep_start=np.cumsum([0] + [len(d) for d in dependencies]),
        dep=np.array([d for row in dependencies for d in row], np.int64),
        name=tuple(str(node.get("name", "")) for node in nodes),
    )


def _flags(value: Any) -> list[bool]:
    return list(value["values"]) if isinstance(value, Mapping) else list(value)


def options_of(case: Mapping[str, Any]) -> SystemOptions:
    system, cli = case["system"], case["cli"]
    scale = float(cli.get("injection-scale", 1))
    delay = int(system["endpoint-delay"] * scale) if "endpoint-delay" in system else 10
    bus = None
    if system.get("model-shared-bus", 0) == 1:
        bus = SharedBus(
            latency_ns=system.get("L", 0),
            overhead_ns=system.get("o", 0),
            gap_ns=system.get("g", 0),
            gap_ns_per_byte=system.get("G", 0.0),
            local_reduction_delay_ns=system.get("local-reduction-delay", 1),
        )
    algorithms = {
        int(kind): algorithms_of(system[f"{key}-implementation"])
        for kind, key in KEYS.items()
        if f"{key}-implementation" in system
    }
    return SystemOptions(
        scheduling=system["scheduling-policy"].lower(),
        local_bw_aware=system["collective-optimization"] == "localBWAware",
        chunks=system.get("preferred-dataset-splits", 0),
        active_chunks_per_dimension=system.get("active-chunks-per-dimension", 1),
        queues_per_dimension=int(cli.get("num-queues-per-dim", 1)),
        endpoint_delay_ns=delay,
        local_mem_bytes_per_ns=float(system.get("local-mem-bw", 0)),
        algorithms=algorithms,
        reference_quirks=True,
        rendezvous=str(cli.get("rendezvous-protocol", "false")).lower() in ("true", "1"),
        shared_bus=bus,
    )


def custom_of(case: Mapping[str, Any]) -> CustomCollectives:
    system = case["system"]
    algorithms = case["workload"].get("custom_algorithms", {})
    files = {
        prefix: tuple(
            program_of(nodes, {}) for _, nodes in sorted(by_npu.items(), key=lambda x: int(x[0]))
        )
        for prefix, by_npu in algorithms.items()
        if prefix != "per_node_map"
    }
    by_kind = {
        int(kind): files[system[f"{key}-implementation-custom"][0]]
        for kind, key in KEYS.items()
        if f"{key}-implementation-custom" in system
    }
    per_node = algorithms.get("per_node_map", {})
    by_node = {int(node): files[prefix] for node, prefix in per_node.items()}
    return CustomCollectives(by_kind=by_kind, by_node=by_node)


def remote_memory_of(case: Mapping[str, Any]) -> RemoteMemory:
    memory = case["memory"]
    kind = {
        "NO_MEMORY_EXPANSION": "none",
        "PER_NPU_MEMORY_EXPANSION": "per_npu",
        "PER_NODE_MEMORY_EXPANSION": "per_node",
        "MEMORY_POOL": "pool",
    }[memory["memory-type"]]
    return RemoteMemory(
        kind=kind,
        latency_ns=int(memory.get("remote-mem-latency", 0)),
        bytes_per_ns=int(memory.get("remote-mem-bw", 0)),
        npus_per_node=int(memory.get("num-npus-per-node", 1)),
    )


def inputs_of(case: Mapping[str, Any], backend: str) -> EngineInput:
    """The engine's input for a case whose workload stands in the case file."""
    network, workload, system = case["network"], case["workload"], case["system"]
    npus = int(np.prod(network["npus_count"]))
    programs: tuple[Program, ...]
    if "all_npus" in workload:
        programs = (program_of(workload["all_npus"], system),)
        program_of_npu = np.zeros(npus, np.int64)
    else:
        rows = workload["per_npu"]
        by_npu = rows if isinstance(rows, list) else [rows[str(r)] for r in range(npus)]
        programs = tuple(program_of(nodes, system) for nodes in by_npu)
        program_of_npu = np.arange(npus)
    groups = {
        int(key): ListGroup(members=np.array(members, np.int64))
        for key, members in (case["comm_group"] or {}).items()
    }
    dimensions = tuple(
        NetworkDimension(
            topology=TOPOLOGIES[topology],
            npus=count,
            bytes_per_ns=bandwidth * 1073741824 / 1e9,
            latency_ns=latency,
        )
        for topology, count, bandwidth, latency in zip(
            network["topology"],
            network["npus_count"],
            network["bandwidth"],
            network["latency"],
            strict=True,
        )
    )
    return EngineInput(
        backend=backend,
        dimensions=dimensions,
        options=options_of(case),
        programs=programs,
        program_of_npu=program_of_npu,
        groups=groups,
        remote_memory=remote_memory_of(case),
        custom=custom_of(case),
    )

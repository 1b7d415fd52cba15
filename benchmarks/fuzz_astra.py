"""Sound inputs of ASTRA-sim and Chakra for the fuzzer, and how each is used."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

from fuzz_damage import EXTREMES, damaged_bytes

from simcore import SimcoreError
from simcore.formats.chakra import Metadata, Node, attribute, write_trace
from simcore.terms import CollectiveKind, NodeKind

NPUS = 4
NETWORK = b"""topology: [ Ring, Switch ]  # innermost first
npus_count: [ 2, 2 ]
bandwidth: [ 50.0, 25.0 ]
latency: [ 500.0, 700.0 ]
"""
MEMORY = {
    "memory-type": "PER_NODE_MEMORY_EXPANSION",
    "remote-mem-latency": 100,
    "remote-mem-bw": 10,
    "num-nodes": 2,
    "num-npus-per-node": 2,
}
GROUPS = {"1": [0, 2], "2": [3, 1]}
ENTRY = {
    "id": "m",
    "backend": "congestion_unaware",
    "workload": "w",
    "system": "system.json",
    "network": "network.yml",
    "remote_memory": "memory.json",
    "comm_group": "groups.json",
    "options": {"num-queues-per-dim": 2},
}


def system(**more: object) -> dict[str, object]:
    """A system file."""
    kinds = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
    return {
        "scheduling-policy": "LIFO",
        "endpoint-delay": 10,
        "active-chunks-per-dimension": 2,
        "preferred-dataset-splits": 4,
        "collective-optimization": "localBWAware",
        "local-mem-bw": 1600,
        "peak-perf": 100,
        "roofline-enabled": 1,
        "model-shared-bus": 0,
        "L": 1,
        "o": 1,
        "g": 1,
        "G": 0.01,
        "trace-enabled": 1,
        "replay-only": 0,
        "track-local-mem": 0,
        **{f"{kind}-implementation": ["ring", "direct"] for kind in kinds},
        **more,
    }


def nodes_of(npu: int) -> list[Node]:
    """Every kind of node; sends go round the machine."""
    after, before = (npu + 1) % NPUS, (npu - 1) % NPUS
    size, cpu = attribute("comm_size", 4096), attribute("is_cpu_op", False)
    tag = attribute("comm_tag", 7)
    kinds = [CollectiveKind.ALL_REDUCE, CollectiveKind.ALL_GATHER, CollectiveKind.ALL_TO_ALL]
    work = (cpu, attribute("num_ops", 10**6), attribute("tensor_size", 4096))
    nodes = [
        _node(0, "compute", NodeKind.COMPUTE, work, duration_micros=3),
        _node(1, "load", NodeKind.MEM_LOAD, (cpu, attribute("tensor_size", 65536))),
        _node(2, "send", NodeKind.SEND, (cpu, size, attribute("comm_dst", after), tag), (0,)),
        _node(3, "receive", NodeKind.RECV, (cpu, size, attribute("comm_src", before), tag)),
    ]
    for number, kind in enumerate(kinds):
        group = () if number else (attribute("pg_name", str(1 + npu % 2)),)
        what = (attribute("comm_type", int(kind)), attribute("involved_dim", (True, True)))
        found = _node(4 + number, "collective", NodeKind.COLLECTIVE, (cpu, size, *what, *group))
        nodes.append(replace(found, ctrl_deps=(3 + number,)))
    return nodes


def _node(
    number: int,
    name: str,
    kind: NodeKind,
    attributes: tuple[object, ...],
    data_deps: tuple[int, ...] = (),
    duration_micros: int = 0,
) -> Node:
    return Node(
        id=number,
        name=name,
        type=int(kind),
        data_deps=data_deps,
        duration_micros=duration_micros,
        attributes=attributes,  # type: ignore[arg-type]
    )


def ring_nodes(npu: int) -> list[Node]:
    """An algorithm of its own for an all-reduce: one step round the machine."""
    cpu, size, tag = (
        attribute("is_cpu_op", False),
        attribute("comm_size", 1024),
        attribute("comm_tag", 1),
    )
    after, before = attribute("comm_dst", (npu + 1) % NPUS), attribute("comm_src", (npu - 1) % NPUS)
    return [
        _node(0, "send", NodeKind.SEND, (cpu, size, after, tag)),
        _node(1, "receive", NodeKind.RECV, (cpu, size, before, tag)),
        _node(2, "add", NodeKind.COMPUTE, (cpu, attribute("num_ops", 256)), (1,)),
    ]


def prepare(folder: Path) -> None:
    """Write the files of a sound run."""
    for npu in range(NPUS):
        write_trace(folder / f"w.{npu}.et", Metadata(version="0.0.4"), nodes_of(npu))
        write_trace(folder / f"own.{npu}.et", Metadata(version="0.0.4"), ring_nodes(npu))
    (folder / "network.yml").write_bytes(NETWORK)
    tables = {"system.json": system(), "memory.json": MEMORY, "groups.json": GROUPS}
    for name, table in tables.items():
        (folder / name).write_text(json.dumps(table))
    (folder / "own.json").write_text(
        json.dumps(system(**{"all-gather-implementation-custom": ["own"]}))
    )
    (folder / "map.json").write_text(
        json.dumps(system(**{"per-node-custom-implementation": "map.yml"}))
    )


def use_in(name: str, **entry: object) -> Callable[[bytes, Path], None]:
    """Uses content as the file *name* of a run, whose manifest entry says *entry* as well."""

    def use(content: bytes, folder: Path) -> None:
        (folder / name).write_bytes(content)
        backends = ("congestion_unaware", "congestion_aware_multidim")
        backend = backends[len(content) % 2]
        run([{**ENTRY, "backend": backend, **entry}], folder)

    return use


def use_manifest(content: bytes, folder: Path) -> None:
    from simcore.formats.astra import read_manifest

    (folder / "manifest.json").write_bytes(content)
    run(read_manifest(folder / "manifest.json"), folder)


def run(entries: list[dict[str, object]], folder: Path) -> None:
    """Simulate; what is said of an entry that cannot be is raised."""
    from simcore.formats.astra import run_batch

    results = run_batch(entries, folder, lambda *_: None)
    json.dumps(results)
    for result in [one for named in results.values() for one in named.values()]:
        message = str(result["message"])
        if "fault in the simulator" in message or (result["status"] == "error" and not message):
            raise RuntimeError(message)
        if result["status"] == "error":
            raise SimcoreError(message)


def use_summary(content: bytes, folder: Path) -> None:
    from simcore.formats.chakra.summary import summarize

    (folder / "one.et").write_bytes(content)
    summarize(folder / "one.et")


def trace_bytes(nodes: list[Node], folder: Path) -> bytes:
    path = folder / "made.et"
    write_trace(path, Metadata(version="0.0.4"), nodes)
    return path.read_bytes()


def damaged_trace(nodes: list[Node], folder: Path, rng: Random) -> bytes:
    """A trace whose messages are sound, but hold extreme values or dependencies; or broken ones."""
    if rng.random() < 0.5:
        return damaged_bytes(trace_bytes(nodes, folder), rng)
    nodes = list(nodes)
    place = rng.randrange(len(nodes))
    node = nodes[place]
    numbers = [n for n in EXTREMES if isinstance(n, int) and not isinstance(n, bool)]
    number = rng.choice(numbers)
    way = rng.randrange(6)
    if way == 0:
        node = replace(node, data_deps=(*node.data_deps, number % (1 << 64)))
    elif way == 1:
        node = replace(node, type=rng.randrange(9))
    elif way == 2:
        node = replace(node, id=number % (1 << 64))
    elif way == 3:
        node = replace(node, duration_micros=number % (1 << 64))
    elif way == 4:
        kept = [a for a in node.attributes if rng.random() < 0.7]
        node = replace(node, attributes=tuple(kept))
    else:
        chosen = rng.randrange(len(node.attributes))
        value = (number + (1 << 63)) % (1 << 64) - (1 << 63)
        new = replace(node.attributes[chosen], kind="int64", value=value)
        rest = (node.attributes[:chosen], node.attributes[chosen + 1 :])
        node = replace(node, attributes=(*rest[0], new, *rest[1]))
    nodes[place] = node
    return trace_bytes(nodes, folder)


def legacy_bytes() -> bytes:
    """A trace of schema 0.0.1 with a compute node and two collectives."""
    messages = [
        [(1, 1), (3, 3), (7, 5), (12, 10**6), (6, 4096)],
        [(1, 2), (3, 6), (4, 1), (13, 1), (18, 4096), (14, 1), (14, 1)],
        [(1, 3), (3, 6), (4, 2), (13, 3), (18, 8192), (14, 1), (14, 1)],
    ]
    out = b""
    for message in messages:
        content = b"".join(_varint(number << 3) + _varint(value) for number, value in message)
        out += _varint(len(content)) + content
    return out


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes((value,))

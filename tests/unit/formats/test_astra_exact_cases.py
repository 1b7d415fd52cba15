"""Runs from files whose cycles were printed by ASTRA-sim 518bd51 itself."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from guide import part

from simcore.formats.astra import AstraFiles, AstraResult, simulate_files
from simcore.formats.chakra import Metadata, Node, attribute, write_trace
from simcore.network import BACKENDS
from simcore.terms import CollectiveKind, NodeKind

NPUS = 4


def write_traces(prefix: Path, nodes_of_npu: Sequence[Sequence[Node]]) -> None:
    prefix.parent.mkdir(parents=True, exist_ok=True)
    for npu, nodes in enumerate(nodes_of_npu):
        write_trace(prefix.parent / f"{prefix.name}.{npu}.et", Metadata(version="0.0.4"), nodes)


def run_switch(
    folder: Path, system: Mapping[str, object], size_bytes: int, backend: str
) -> AstraResult:
    """One all-reduce among four NPUs on a switch of 100 GB/s and 500 ns."""
    (folder / "system.json").write_text(
        json.dumps(
            {
                "scheduling-policy": "LIFO",
                "collective-optimization": "baseline",
                "preferred-dataset-splits": 1,
                "all-reduce-implementation": ["ring"],
            }
            | dict(system)
        )
    )
    network = "topology: [Switch]\nnpus_count: [4]\nbandwidth: [100.0]\nlatency: [500.0]\n"
    (folder / "network.yml").write_text(network)
    (folder / "memory.json").write_text(json.dumps({"memory-type": "NO_MEMORY_EXPANSION"}))
    node = Node(
        id=1,
        name="sum",
        type=int(NodeKind.COLLECTIVE),
        attributes=(
            attribute("comm_type", int(CollectiveKind.ALL_REDUCE)),
            attribute("comm_size", size_bytes),
        ),
    )
    write_traces(folder / "w", [[node]] * NPUS)
    files = AstraFiles(
        workload=folder / "w",
        system=folder / "system.json",
        network=folder / "network.yml",
        remote_memory=folder / "memory.json",
        comm_group=None,
        folder=folder,
    )
    return simulate_files(files, backend, {})


def finish_cycles(result: AstraResult) -> list[int]:
    return [int(finish) for finish in result.output.finish_ns]


def test_gap_per_byte_of_the_shared_bus_is_a_32_bit_float(tmp_path: Path) -> None:
    bus = {"model-shared-bus": 1, "L": 50, "o": 3, "g": 20, "G": 0.02, "local-reduction-delay": 5}
    system = bus | {"local-mem-bw": 1600}
    result = run_switch(tmp_path, system, 198_236_004, "congestion_unaware")
    assert finish_cycles(result) == [24_594_135] * NPUS


def test_a_network_from_outside_carries_what_the_files_describe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {**dict(BACKENDS.items()), "fifo": part("fifo").Fifo}
    monkeypatch.setattr(BACKENDS, "_entries", known)
    outside, inside = (
        finish_cycles(run_switch(tmp_path, {"preferred-dataset-splits": 4}, 1_000_000, backend))
        for backend in ("fifo", "congestion_aware")
    )
    assert outside == inside


def _message(number: int, kind: NodeKind, peer: int, size_bytes: int, after: list[int]) -> Node:
    end = "comm_dst" if kind is NodeKind.SEND else "comm_src"
    return Node(
        id=number,
        name=f"message {number}",
        type=int(kind),
        data_deps=tuple(after),
        attributes=(
            attribute("comm_size", size_bytes),
            attribute(end, peer),
            attribute("comm_tag", number),
        ),
    )


def _algorithm(ids: Sequence[int], after: Mapping[int, list[int]]) -> list[list[Node]]:
    """NPU 0 sends a message of another size for each id, to each of the others in turn."""
    members: list[list[Node]] = [[] for _ in range(NPUS)]
    for place, number in enumerate(ids):
        peer, size = 1 + place % 3, 100_000 * (place + 1)
        members[0].append(_message(number, NodeKind.SEND, peer, size, after.get(number, [])))
        members[peer].append(_message(number, NodeKind.RECV, 0, size, []))
    return members


CASES: dict[str, tuple[list[list[Node]], list[int]]] = {
    "13 free nodes": (_algorithm(range(13), {}), [97850, 97850, 72705, 84811]),
    "14 free nodes": (_algorithm(range(14), {}), [109956, 86675, 97850, 109956]),
    "40 free nodes with a stride": (
        _algorithm(range(5, 5 + 29 * 40, 29), {}),
        [781426, 746969, 763732, 781426],
    ),
    "freed together later": (
        _algorithm(range(40), {n: [0] for n in range(1, 20)} | {n: [19] for n in range(20, 40)}),
        [803846, 803846, 728411, 765663],
    ),
    "named before they stand in the file": (
        _algorithm([*range(19, -1, -1)], {n: [n - 1, n - 2] for n in range(10, 15)}),
        [250924, 238750, 224712, 250924],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_free_nodes_of_a_custom_collective_start_in_the_order_of_a_hash_set(
    tmp_path: Path, case: str
) -> None:
    members, printed = CASES[case]
    write_traces(tmp_path / "custom" / "algorithm", members)
    custom = {"all-reduce-implementation-custom": ["custom/algorithm"]}
    result = run_switch(tmp_path, custom, 1_000_000, "congestion_aware")
    assert finish_cycles(result) == printed

"""Runs ``python -m simcore astra`` where no two NPUs do the same: nothing can be simulated as one.

    python benchmarks/astra_irregular.py [--case NAME ...] [--list]

Each case is a whole fresh process, after one that compiles the kernels. CPU seconds are user +
system time, the lowest of three where it takes less than 2 s. Two kinds of cases:

* ``*_stragglers``: every NPU computes for another time before a 1 GiB all-reduce of all;
* ``nodes_NxK``: N different traces of K nodes each, 99 % of them compute nodes of differing times
  in one chain; the others are all-reduces of 8 neighbours, the last one that of the replicas.
  Also told: peak memory per node, less that of the interpreter.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.astra import CASES as ALIKE
from benchmarks.astra import GIB, Case, all_reduce_node, llm_2d, run, write_settings
from simcore.formats.chakra import Metadata, Node, attribute
from simcore.formats.chakra.encode import encode_metadata, encode_node
from simcore.formats.chakra.wire import encode_varint
from simcore.terms import NodeKind

TP = 8
_SHORTEST_US, _LONGEST_US = 128, 16384  # so that each takes two bytes
_FIRST_GROUP = 1000  # so that the ids of all groups have four digits
_TP_GROUP, _DP_GROUP = 7777, 8888  # in the template; names and sizes hold no such digits
_EMPTY_PROCESS_MB = 28.0


@dataclass(frozen=True, slots=True)
class Irregular:
    """A case: the machine, and how many nodes each trace has."""

    machine: Case
    nodes: int


CASES = {
    "ring_256_stragglers": Irregular(ALIKE["ring_256"], 2),
    "torus_16x8x8_stragglers": Irregular(ALIKE["torus_16x8x8"], 2),
    "switch_32x32_stragglers": Irregular(ALIKE["switch_32x32"], 2),
    "switch_64x64_stragglers": Irregular(ALIKE["switch_64x64"], 2),
    "nodes_256x10000": Irregular(llm_2d(32, TP, 1, None), 10_000),
    "nodes_1024x1000": Irregular(llm_2d(128, TP, 1, None), 1_000),
    "nodes_1024x10000": Irregular(llm_2d(128, TP, 1, None), 10_000),
}


def compute_node(number: int, parents: tuple[int, ...]) -> Node:
    values = (
        attribute("is_cpu_op", False),
        attribute("num_ops", 1 << 30),
        attribute("tensor_size", 1 << 24),
    )
    return Node(
        id=number,
        name="compute",
        type=int(NodeKind.COMPUTE),
        duration_micros=_SHORTEST_US,
        data_deps=parents,
        attributes=values,
    )


def chain(nodes: int) -> Iterator[Node]:
    """Compute nodes; every 100th node is an all-reduce, the last one that of the replicas."""
    for number in range(nodes):
        parents = (number - 1,) if number else ()
        if number % 100 != 99:
            yield compute_node(number, parents)
        else:
            group = _DP_GROUP if number == nodes - 1 else _TP_GROUP
            yield all_reduce_node(number, 1 << 20, group=group, parents=parents)


def straggler() -> Iterator[Node]:
    yield compute_node(0, ())
    yield all_reduce_node(1, GIB, group=0, parents=(0,))


@dataclass(frozen=True, slots=True)
class Template:
    """A trace as bytes, and where the durations of its compute nodes and its groups' ids lie."""

    content: NDArray[np.uint8]
    durations_at: NDArray[np.int64]
    groups_at: dict[int, NDArray[np.int64]]

    def filled(self, micros: NDArray[np.int64], groups: dict[int, int]) -> bytes:
        """The trace with these durations, and other ids for the groups."""
        content = self.content.copy()
        content[self.durations_at] = micros % 128 + 128
        content[self.durations_at + 1] = micros // 128
        for group, number in groups.items():
            digits = np.frombuffer(str(number).encode(), np.uint8)
            content[self.groups_at[group][:, None] + np.arange(digits.size)] = digits
        return content.tobytes()


def template(nodes: Iterator[Node]) -> Template:
    """Encodes *nodes* once; the traces of all NPUs differ in a few bytes."""
    duration = bytes([7 << 3, 128, _SHORTEST_US >> 7])
    metadata = encode_metadata(Metadata(version="0.0.4"))
    content = bytearray(encode_varint(len(metadata)) + metadata)
    durations_at: list[int] = []
    groups_at: dict[int, list[int]] = {_TP_GROUP: [], _DP_GROUP: []}
    for node in nodes:
        encoded = encode_node(node, {})
        content += encode_varint(len(encoded))
        if node.duration_micros:
            durations_at.append(len(content) + encoded.index(duration) + 1)
        for group, places in groups_at.items():
            place = encoded.find(str(group).encode())
            if place >= 0:
                places.append(len(content) + place)
        content += encoded
    return Template(
        content=np.frombuffer(bytes(content), np.uint8),
        durations_at=np.array(durations_at, np.int64),
        groups_at={group: np.array(places, np.int64) for group, places in groups_at.items()},
    )


def write_traces(case: Irregular, prefix: Path) -> dict[int, list[int]]:
    """The trace of every NPU; the groups that they name."""
    npus = prod(case.machine.npus)
    random = np.random.default_rng(npus + case.nodes)
    stragglers = case.nodes == 2
    pattern = template(straggler() if stragglers else chain(case.nodes))
    groups: dict[int, list[int]] = {}
    for npu in range(npus):
        mine = {}
        if not stragglers:
            mine[_TP_GROUP] = _FIRST_GROUP + npu // TP
            mine[_DP_GROUP] = _FIRST_GROUP + npus // TP + npu % TP
        for number in mine.values():
            groups.setdefault(number, []).append(npu)
        micros = random.integers(_SHORTEST_US, _LONGEST_US, pattern.durations_at.size)
        if stragglers:
            micros = np.array([_SHORTEST_US + npu])
        path = prefix.with_name(f"{prefix.name}.{npu}.et")
        path.write_bytes(pattern.filled(micros, mine))
    return groups


def measured(case: Irregular, folder: Path) -> dict[str, object]:
    prefix = folder / "w"
    groups = write_traces(case, prefix)
    files = write_settings(case.machine, prefix, groups)
    figures = run(case.machine, prefix, files, grouped=bool(groups))
    if groups:
        peak_mb = figures["peak_mb"]
        assert isinstance(peak_mb, float)
        nodes = prod(case.machine.npus) * case.nodes
        figures["bytes_per_node"] = round((peak_mb - _EMPTY_PROCESS_MB) * 2**20 / nodes, 1)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--case", action="append", choices=CASES, help="all, if none is named")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    args = parser.parse_args()
    if args.list:
        print("\n".join(CASES))
        return
    rows = []
    for name in args.case or CASES:
        with tempfile.TemporaryDirectory() as folder:
            rows.append({"case": name, **measured(CASES[name], Path(folder))})
        print(json.dumps(rows[-1]), flush=True)
    print(json.dumps({"benchmark": "astra_irregular", "cases": rows}))


if __name__ == "__main__":
    main()

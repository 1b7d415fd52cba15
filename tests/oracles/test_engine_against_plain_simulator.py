"""Random combinations of options that no reference run has, against a second, plain simulator."""

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest
from engine_runs import program
from plain_astra import PlainRun

from simcore.engines.events.input import EngineInput, ListGroup, RemoteMemory, SystemOptions
from simcore.engines.events.programs import LASTS
from simcore.engines.events.run import run_unfolded
from simcore.formats.astra.collective_names import algorithms_of
from simcore.network import NetworkDimension
from simcore.terms import CollectiveKind, NodeKind

KINDS = [
    CollectiveKind.ALL_REDUCE,
    CollectiveKind.ALL_GATHER,
    CollectiveKind.REDUCE_SCATTER,
    CollectiveKind.ALL_TO_ALL,
]
RUNS_PER_TEST = 40


def algorithms(rng: Random, kind: CollectiveKind, npus: list[int]) -> tuple[str, ...]:
    def one(members: int) -> str:
        names = ["ring", "direct", f"direct{rng.randint(1, 3)}"]
        if members & (members - 1) == 0 and kind is not CollectiveKind.ALL_TO_ALL:
            names.append("halvingDoubling")
        return rng.choice(names)

    if rng.random() < 0.15:
        return (rng.choice(["oneRing", "oneDirect", "oneDirect2"]),)
    listed = npus if rng.random() < 0.85 else npus[: rng.randint(1, len(npus))]
    return tuple(one(members) for members in listed)


class Machine:
    """One random machine, its groups and what its NPUs run."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.npus = rng.choice([[4], [3], [5], [8], [2, 3], [4, 2], [3, 3], [2, 2, 2], [2, 4]])
        self.total = int(np.prod(self.npus))
        self.groups: dict[int, list[int]] = {}
        self.partitions = [self.partition() for _ in range(2)]
        self.nodes: list[list[dict[str, Any]]] = [[] for _ in range(self.total)]
        for number in range(rng.randint(2, 7)):
            self.add(number)

    def partition(self) -> list[int]:
        """Keys of groups that cover the machine, their members in any order."""
        members = self.rng.sample(range(self.total), self.total)
        size = self.rng.randint(2, self.total)
        keys = []
        while len(members) > 1:
            key = len(self.groups) + 1
            self.groups[key], members = members[:size], members[size:]
            keys.append(key)
        return [key for key in keys if len(self.groups[key]) > 1]

    def put(self, npu: int, **values: Any) -> None:
        before = range(len(self.nodes[npu]))
        most = 2 if self.rng.random() < 0.7 else 0
        dep = sorted(self.rng.sample(before, min(len(before), self.rng.randint(0, most))))
        self.nodes[npu].append(values | {"dep": dep})

    def add(self, number: int) -> None:
        """One operation on all NPUs, or on two of them."""
        rng, what = self.rng, self.rng.random()
        if what < 0.5:
            self.add_collective()
        elif what < 0.65:
            a, b = rng.sample(range(self.total), 2)
            common = {"tag": number, "size_bytes": rng.choice([1, 4096, 70_001])}
            self.put(a, kind=NodeKind.SEND, peer=b, **common)
            self.put(b, kind=NodeKind.RECV, peer=a, **common)
        elif what < 0.8:
            size = rng.choice([1, 5_000, 64_000])
            for npu in range(self.total):
                self.put(npu, kind=NodeKind.MEM_LOAD, size_bytes=size, on_cpu=int(what < 0.7))
        else:
            for npu in range(self.total):
                last = rng.randint(1, 3000)
                self.put(npu, duration_ns=last, on_cpu=int(what > 0.93), skipped=int(what > 0.98))

    def add_collective(self) -> None:
        rng = self.rng
        kind = rng.choice([*KINDS, LASTS])
        flags = (1 << len(self.npus)) - 1
        values = {
            "kind": NodeKind.COLLECTIVE,
            "comm_kind": kind,
            "size_bytes": rng.choice([1, 100, 4096, 10_001, 300_000]) * self.total,
            "priority": rng.randint(0, 3),
            "involved_dims": rng.choice([flags, flags, rng.randint(1, flags)]),
            "duration_ns": 700,
        }
        keys = [0] * self.total
        if rng.random() < 0.5:
            for key in rng.choice(self.partitions):
                for npu in self.groups[key]:
                    keys[npu] = key
            values["involved_dims"] = flags
        alone = [npu for npu in range(self.total) if not keys[npu]] if any(keys) else []
        for npu in range(self.total):
            if npu not in alone:
                self.put(npu, group=keys[npu], **values)


def random_run(rng: Random) -> EngineInput:
    machine = Machine(rng)
    used = {kind: algorithms(rng, kind, machine.npus) for kind in KINDS}
    sizes = [len(members) for members in machine.groups.values()]
    for kind, names in used.items():  # the only algorithm is that of the groups as well
        if names == ("halvingDoubling",) and any(size & (size - 1) for size in sizes):
            used[kind] = ("direct",)
    for nodes in machine.nodes:
        if not nodes:
            nodes.append({"dep": []})
        for node in nodes:  # a dimension without an algorithm takes no part
            if "comm_kind" in node and node["comm_kind"] in used and not node["group"]:
                covered = (1 << len(used[node["comm_kind"]])) - 1
                node["involved_dims"] &= covered
                node["involved_dims"] |= 0 if node["involved_dims"] else 1
    options = SystemOptions(
        scheduling=rng.choice(["lifo", "fifo", "explicit"]),
        local_bw_aware=rng.random() < 0.5,
        chunks=rng.randint(1, 5),
        active_chunks_per_dimension=rng.randint(1, 4),
        queues_per_dimension=rng.randint(1, 4),
        endpoint_delay_ns=rng.choice([1, 10, 33]),
        local_mem_bytes_per_ns=rng.choice([0.0, 1.7, 50.0]),
        algorithms={int(kind): algorithms_of(names) for kind, names in used.items()},
        compute_slots=rng.randint(1, 2),
        communication_streams=rng.choice([1, 1, 2, 3]),
        rendezvous=rng.random() < 0.3,
    )
    aware = rng.random() < 0.5
    backend = "congestion_aware" if len(machine.npus) == 1 else "congestion_aware_multidim"
    memory = rng.choice(["per_npu", "per_node", "pool"])
    return EngineInput(
        backend=backend if aware else "congestion_unaware",
        dimensions=tuple(
            NetworkDimension(
                topology=rng.choice(["ring", "fully_connected", "switch"]),
                npus=npus,
                bytes_per_ns=rng.choice([0.7, 10.0, 53.6870912]),
                latency_ns=rng.choice([0.4, 25.0, 500.0]),
            )
            for npus in machine.npus
        ),
        options=options,
        programs=tuple(program(nodes) for nodes in machine.nodes),
        program_of_npu=np.arange(machine.total),
        groups={
            key: ListGroup(members=np.array(members)) for key, members in machine.groups.items()
        },
        remote_memory=RemoteMemory(kind=memory, latency_ns=90, bytes_per_ns=3, npus_per_node=2),
    )


@pytest.mark.parametrize("seed", range(8))
def test_every_node_starts_and_ends_when_the_plain_simulator_says(seed: int) -> None:
    rng = Random(seed)
    seen: Counter[str] = Counter()
    for number in range(RUNS_PER_TEST):
        inputs = random_run(rng)
        plain = PlainRun(inputs)
        found = run_unfolded(inputs)
        for npu, expected in enumerate(plain.npus):
            at = f"seed {seed} run {number} NPU {npu} {inputs.options} {inputs.dimensions}"
            assert found.node_start_ns[npu].tolist() == expected.start, at
            assert found.node_end_ns[npu].tolist() == expected.end, at
            assert found.finish_ns[npu] == expected.finish, at
        seen["finished" if (found.finish_ns >= 0).all() else "stuck"] += 1
    assert seen["finished"] > RUNS_PER_TEST // 2, "most of the runs must say something"

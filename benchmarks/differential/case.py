"""A random case: its files, and what the judge needs to know of it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from simcore.formats.astra import AstraFiles
from simcore.formats.chakra import Metadata, Node, attribute, write_trace
from simcore.terms import CollectiveKind, NodeKind

BACKENDS = ("congestion_unaware", "congestion_aware")
COLLECTIVES = (
    CollectiveKind.ALL_REDUCE,
    CollectiveKind.ALL_GATHER,
    CollectiveKind.REDUCE_SCATTER,
    CollectiveKind.ALL_TO_ALL,
)


class Traces:
    """The traces of all NPUs while they are being written."""

    def __init__(self, rng: Random, npus: int) -> None:
        self.rng, self.npus = rng, npus
        self.nodes: list[list[Node]] = [[] for _ in range(npus)]
        self.groups: dict[int, list[int]] = {}
        self.shuffled = rng.random() < 0.2
        self._first, self._step = rng.choice((0, 1, 7, 1 << 40)), rng.choice((1, 1, 1, 3, 26, 29))

    def add(
        self,
        npu: int,
        kind: NodeKind,
        after: Iterable[int] = (),
        micros: int = 0,
        **attributes: object,
    ) -> int:
        """Append a node that waits for the nodes *after*; returns its id."""
        number = self._first + self._step * len(self.nodes[npu])
        data, control = [], []
        for parent in after:
            (data if self.rng.random() < 0.6 else control).append(parent)
        self.nodes[npu].append(
            Node(
                id=number,
                name=f"n{number}",
                type=int(kind),
                duration_micros=micros,
                data_deps=tuple(data),
                ctrl_deps=tuple(control),
                attributes=tuple(attribute(key, value) for key, value in attributes.items()),
            )
        )
        return number

    def compute(self, npu: int, after: Iterable[int] = (), micros: int | None = None) -> int:
        """Append a compute node, with what the roofline model needs."""
        rng = self.rng
        if micros is None:
            micros = rng.choice((0, 1, 2, 5, 17, 100, 1000))
        work = {"num_ops": rng.randrange(10**5, 10**8), "tensor_size": rng.randrange(1, 10**6)}
        return self.add(npu, NodeKind.COMPUTE, after, micros, is_cpu_op=False, **work)

    def collective(
        self,
        npu: int,
        what: CollectiveKind,
        size: int,
        after: Iterable[int] = (),
        **attributes: object,
    ) -> int:
        """Append a collective."""
        attributes |= {"comm_type": int(what), "comm_size": size, "is_cpu_op": False}
        return self.add(npu, NodeKind.COLLECTIVE, after, 3, **attributes)

    def send(self, npu: int, peer: int, size: int, tag: int, after: Iterable[int] = ()) -> int:
        """Append a send to *peer*."""
        ends = {"comm_src": npu, "comm_dst": peer, "comm_tag": tag, "comm_size": size}
        return self.add(npu, NodeKind.SEND, after, 2, **ends)

    def receive(self, npu: int, peer: int, size: int, tag: int, after: Iterable[int] = ()) -> int:
        """Append a receive from *peer*."""
        ends = {"comm_src": peer, "comm_dst": npu, "comm_tag": tag, "comm_size": size}
        return self.add(npu, NodeKind.RECV, after, 2, **ends)


@dataclass(slots=True, kw_only=True)
class Case:
    """All inputs of one run of either program.

    Attributes:
        kind: What its workload is made of.
        dimensions: Per dimension topology, NPUs, GB/s and ns.
        system: The system file.
        memory: The remote memory file.
        options: Command-line options, without dashes.
        traces: What the NPUs run.
        algorithms: Traces of custom collectives by prefix.
    """

    kind: str
    dimensions: list[tuple[str, int, float, float]]
    system: dict[str, object]
    memory: dict[str, object]
    options: dict[str, str]
    traces: Traces
    algorithms: dict[str, list[list[Node]]] = field(default_factory=dict)

    @property
    def backends(self) -> tuple[str, ...]:
        """Backends of the reference that take the network."""
        return BACKENDS if len(self.dimensions) == 1 else BACKENDS[:1]

    def write(self, folder: Path) -> AstraFiles:
        """Write all files under *folder*."""
        folder.mkdir(parents=True)
        columns = zip(*self.dimensions, strict=True)
        names = ("topology", "npus_count", "bandwidth", "latency")
        lines = [
            f"{name}: [ {', '.join(map(str, column))} ]"
            for name, column in zip(names, columns, strict=True)
        ]
        (folder / "network.yml").write_text("\n".join(lines) + "\n")
        (folder / "system.json").write_text(json.dumps(self.system))
        (folder / "memory.json").write_text(json.dumps(self.memory))
        if self.traces.groups:
            (folder / "groups.json").write_text(
                json.dumps({str(key): members for key, members in self.traces.groups.items()})
            )
        self._write_traces(folder / "w", self.traces.nodes)
        for prefix, nodes in self.algorithms.items():
            self._write_traces(folder / prefix, nodes)
        return AstraFiles(
            workload=folder / "w",
            system=folder / "system.json",
            network=folder / "network.yml",
            remote_memory=folder / "memory.json",
            comm_group=folder / "groups.json" if self.traces.groups else None,
            folder=folder,
        )

    def _write_traces(self, prefix: Path, nodes_of_npu: list[list[Node]]) -> None:
        prefix.parent.mkdir(parents=True, exist_ok=True)
        for npu, nodes in enumerate(nodes_of_npu):
            if self.traces.shuffled:
                nodes = self.traces.rng.sample(nodes, len(nodes))
            path = prefix.parent / f"{prefix.name}.{npu}.et"
            write_trace(path, Metadata(version="0.0.4"), nodes)

"""Writes generated training iterations as Chakra traces."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simcore.errors import ConfigError
from simcore.formats.chakra.encode import encode_metadata, encode_node
from simcore.formats.chakra.messages import Attribute, Metadata, Node, attribute
from simcore.formats.chakra.wire import framed
from simcore.terms import NodeKind
from simcore.workload.graph import Axis, StageGraph, TrainingGraph

SCHEMA = "simcore"
MOST_TAG = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Place of the NPUs and nodes of an iteration among others.

    Attributes:
        machine_npus: NPUs of the machine, if there are others than those of the iteration.
        first_npu, first_group, first_node: Ids of the first of each.
        after: Ids of nodes that the iteration begins after, on each of its NPUs.
    """

    machine_npus: int = 0
    first_npu: int = 0
    first_group: int = 1
    first_node: int = 0
    after: tuple[int, ...] = ()


ALONE = Place()
"""The iteration has the machine to itself."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CommunicatorGroups:
    """The groups of an iteration, numbered from 1; everyone together has no number.

    Attributes:
        members: NPU ids of each group by its id.
        group_of: (axis, NPU) -> group id; absent where it is everyone.
    """

    members: dict[int, tuple[int, ...]]
    group_of: dict[tuple[Axis, int], int]


def communicator_groups(graph: TrainingGraph, place: Place = ALONE) -> CommunicatorGroups:
    """The groups that collectives of *graph* run in; NPUs in ``group_of`` are the iteration's."""
    everyone = place.machine_npus or graph.plan.npus
    numbers: dict[tuple[int, ...], int] = {}
    group_of: dict[tuple[Axis, int], int] = {}
    for axis, layout in graph.groups.items():
        if layout.size == everyone:
            continue
        of_base: dict[int, int] = {}
        for npu in _participants(graph, axis):
            base = npu - (npu // layout.stride % layout.size) * layout.stride
            if base not in of_base:
                first = place.first_npu + base
                together = tuple(first + i * layout.stride for i in range(layout.size))
                of_base[base] = numbers.setdefault(together, place.first_group + len(numbers))
            group_of[axis, npu] = of_base[base]
    members = {number: together for together, number in numbers.items()}
    return CommunicatorGroups(members=members, group_of=group_of)


def _participants(graph: TrainingGraph, axis: Axis) -> Iterator[int]:
    plan = graph.plan
    items = [i for i, operation in enumerate(graph.collectives) if operation.axis is axis]
    for number, stage in enumerate(graph.stages):
        collective = stage.kind == NodeKind.COLLECTIVE
        if np.isin(stage.item[collective], items).any():
            yield from (plan.npu(number, member) for member in range(plan.npus_per_stage))


def write_iteration(
    graph: TrainingGraph, operator_ns: NDArray[np.int64], prefix: Path, npus: Sequence[int]
) -> list[Path]:
    """Writes ``<prefix>.<r>.et`` of each NPU r in *npus*.

    Compute nodes carry operations, bytes and their time, rounded to whole microseconds (the
    format's unit); sends and collectives carry bytes.

    Args:
        graph: The iteration.
        operator_ns: (O,) int64, time of each operator in ns.
        prefix: Path without rank and suffix.
        npus: Which NPUs.

    Returns:
        The files.

    Raises:
        ConfigError: A tag is beyond what the format's readers take (31 bits), or data lies in tiers
            of memory.
    """
    if graph.transfers:
        rule = "must be npu alone: the format's readers know one memory outside, without ports"
        raise ConfigError("plan.offload", rule, got=", ".join(graph.plan.offload.tiers))
    check_tags(max(int(stage.tag.max(initial=0)) for stage in graph.stages))
    groups = communicator_groups(graph)
    of_stage: dict[int, list[int]] = {}
    for npu in npus:
        of_stage.setdefault(graph.plan.stage_and_member(npu)[0], []).append(npu)
    files = {}
    for stage_number, members in of_stage.items():
        writer = StageWriter(graph, stage_number, operator_ns)
        for npu in members:
            files[npu] = write_nodes(prefix, npu, writer.content(npu, groups))
    return [files[npu] for npu in npus]


def check_tags(largest: int) -> None:
    """Check that the format's readers take tags up to the *largest*.

    Raises:
        ConfigError: They do not.
    """
    if largest > MOST_TAG:
        raise ConfigError("tag", f"must be at most {MOST_TAG}", got=largest)


def write_nodes(prefix: Path, npu: int, nodes: bytes) -> Path:
    """Writes the trace of an NPU with these encoded *nodes*."""
    head = framed(encode_metadata(Metadata(attributes=(attribute("schema", SCHEMA),))))
    path = Path(f"{prefix}.{npu}.et")
    path.write_bytes(head + nodes)
    return path


class StageWriter:
    """The traces of one stage's NPUs; what they share is encoded once."""

    def __init__(
        self,
        graph: TrainingGraph,
        number: int,
        operator_ns: NDArray[np.int64],
        place: Place = ALONE,
    ) -> None:
        self.graph, self.stage, self.operator_ns = graph, graph.stages[number], operator_ns
        self.place, self.known = place, dict[Attribute, bytes]()
        self.names = _names(graph, self.stage)
        starts, deps = self.stage.dep_start.tolist(), (self.stage.dep + place.first_node).tolist()
        self.deps = [tuple(deps[a:b]) or place.after for a, b in pairwise(starts)]
        compute = np.flatnonzero(self.stage.kind == NodeKind.COMPUTE).tolist()
        self.others = np.flatnonzero(self.stage.kind != NodeKind.COMPUTE).tolist()
        self.shared = [b""] * self.stage.nodes
        for position in compute:
            self.shared[position] = self._encoded(self._compute(position))

    def content(self, npu: int, groups: CommunicatorGroups) -> bytes:
        """The nodes of the trace of one of the iteration's NPUs."""
        parts = self.shared.copy()
        for position in self.others:
            parts[position] = self._encoded(self._communication(position, npu, groups))
        return b"".join(parts)

    def _encoded(self, node: Node) -> bytes:
        return framed(encode_node(node, self.known))

    def _compute(self, position: int) -> Node:
        item = int(self.stage.item[position])
        operator = self.graph.operators[item]
        return Node(
            id=self.place.first_node + position,
            name=self.names[position],
            type=NodeKind.COMPUTE,
            data_deps=self.deps[position],
            duration_micros=round(int(self.operator_ns[item]) / 1000),
            attributes=(
                attribute("is_cpu_op", False),
                attribute("num_ops", round(operator.flop)),
                attribute("tensor_size", round(operator.bytes)),
            ),
        )

    def _communication(self, position: int, npu: int, groups: CommunicatorGroups) -> Node:
        kind = NodeKind(int(self.stage.kind[position]))
        size = int(self.stage.size_bytes[position])
        found = [attribute("is_cpu_op", False), attribute("comm_size", size)]
        if kind is NodeKind.COLLECTIVE:
            operation = self.graph.collectives[int(self.stage.item[position])]
            found.append(attribute("comm_type", int(operation.kind)))
            group = groups.group_of.get((operation.axis, npu))
            if group is not None:
                found.append(attribute("pg_name", str(group)))
        else:
            _, member = self.graph.plan.stage_and_member(npu)
            peer = self.graph.plan.npu(int(self.stage.peer_stage[position]), member)
            ends = (npu, peer) if kind is NodeKind.SEND else (peer, npu)
            found.append(attribute("comm_src", self.place.first_npu + ends[0]))
            found.append(attribute("comm_dst", self.place.first_npu + ends[1]))
            found.append(attribute("comm_tag", int(self.stage.tag[position])))
        return Node(
            id=self.place.first_node + position,
            name=self.names[position],
            type=kind,
            data_deps=self.deps[position],
            attributes=tuple(found),
        )


def _names(graph: TrainingGraph, stage: StageGraph) -> list[str]:
    names = []
    for position, kind in enumerate(stage.kind.tolist()):
        item = int(stage.item[position])
        if kind == NodeKind.COMPUTE:
            name = f"{graph.operators[item].phase}.{graph.operators[item].name}"
        elif kind == NodeKind.COLLECTIVE:
            operation = graph.collectives[item]
            name = f"{operation.phase}.{operation.axis}.{operation.name}"
        else:
            name = "send" if kind == NodeKind.SEND else "receive"
        layer, microbatch = int(stage.layer[position]), int(stage.microbatch[position])
        name += f".layer{layer}" if layer >= 0 else ""
        names.append(name + (f".microbatch{microbatch}" if microbatch >= 0 else ""))
    return names

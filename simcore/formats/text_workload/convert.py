"""Converts a text workload to one Chakra trace per NPU."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from simcore.errors import ConfigError
from simcore.formats.chakra.encode import NodeTemplate, encode_metadata, node_template
from simcore.formats.chakra.messages import Attribute, Metadata, Node, attribute
from simcore.formats.chakra.wire import framed
from simcore.formats.text_workload.expand import EXPANSIONS, Expansion, Vertex
from simcore.formats.text_workload.groups import EVERYONE, groups_of
from simcore.formats.text_workload.layers import TextWorkload
from simcore.terms import NodeKind

SCHEMA = "1.0.2-chakra.1.0.0"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Conversion:
    """Traces for every NPU: the same graph, ids going on from NPU to NPU.

    Attributes:
        npus: NPUs.
        metadata: First message of each trace.
        vertices: The graph.
        groups: Members of each communicator group by its id; empty if everyone takes part in all.
        group_of: (kind of group, NPU) -> id of its group; absent where it is everyone.
    """

    npus: int
    metadata: Metadata
    vertices: tuple[Vertex, ...]
    groups: dict[int, tuple[int, ...]]
    group_of: dict[tuple[str, int], int]

    def nodes(self, npu: int) -> Iterator[Node]:
        """The nodes of one NPU's trace."""
        shift = npu * len(self.vertices)
        for index, vertex in enumerate(self.vertices):
            yield _node(vertex, index, shift, self.group_of.get((vertex.group, npu)))


def _node(vertex: Vertex, index: int, shift: int, group: int | None) -> Node:
    return Node(
        id=index + shift,
        name=vertex.name,
        type=NodeKind.COMPUTE if vertex.collective is None else NodeKind.COLLECTIVE,
        data_deps=tuple(parent + shift for parent in vertex.waits_for),
        duration_micros=vertex.micros,
        attributes=_attributes(vertex, group),
    )


def _attributes(vertex: Vertex, group: int | None) -> tuple[Attribute, ...]:
    if vertex.collective is None:
        return ()
    found = (
        attribute("comm_type", int(vertex.collective)),
        attribute("comm_size", vertex.size_bytes),
    )
    return found if group is None else (*found, attribute("pg_name", str(group)))


def convert_text(
    workload: TextWorkload, *, npus: int, passes: int = 1, microseconds_per_unit: float = 1.0
) -> Conversion:
    """Converts *workload*.

    Args:
        workload: The text workload.
        npus: NPUs, at least 1.
        passes: Training iterations.
        microseconds_per_unit: What a time of 1 in the file means. Chakra's converter takes the
            numbers for microseconds (1); ASTRA-sim 1.0 took them for cycles of 1 ns (0.001).

    Raises:
        ConfigError: The keyword is unknown, or the layers do not fit it.
    """
    for name, value in (("npus", npus), ("passes", passes)):
        if value < 1:
            raise ConfigError(name, "must be 1 or more", got=value)
    if workload.keyword not in EXPANSIONS:
        raise EXPANSIONS.unknown(workload.keyword, at=f"{workload.path} line 1")
    graph = Expansion(workload, passes)
    EXPANSIONS[workload.keyword](graph)
    vertices = tuple(_scaled(vertex, microseconds_per_unit) for vertex in graph.vertices)
    groups, group_of = _groups(workload, npus, {vertex.group for vertex in vertices})
    metadata = Metadata(
        attributes=(attribute("schema", SCHEMA), attribute("input_file", workload.text))
    )
    return Conversion(
        npus=npus, metadata=metadata, vertices=vertices, groups=groups, group_of=group_of
    )


def _scaled(vertex: Vertex, factor: float) -> Vertex:
    if factor == 1.0 or vertex.collective is not None:
        return vertex
    return Vertex(
        name=vertex.name, waits_for=vertex.waits_for, micros=round(vertex.micros * factor)
    )


def _groups(
    workload: TextWorkload, npus: int, kinds: set[str]
) -> tuple[dict[int, tuple[int, ...]], dict[tuple[str, int], int]]:
    groups: dict[int, tuple[int, ...]] = {}
    group_of: dict[tuple[str, int], int] = {}
    if kinds <= {EVERYONE}:
        return groups, group_of
    for kind, all_members in groups_of(workload, npus).members().items():
        for members in all_members if kind in kinds else ():
            if len(members) == npus:
                continue
            groups[len(groups) + 1] = members
            group_of |= {(kind, npu): len(groups) for npu in members}
    return groups, group_of


def write_conversion(conversion: Conversion, prefix: Path) -> list[Path]:
    """Writes ``<prefix>.<npu>.et`` of each NPU, and ``<prefix>.comm_group.json`` if needed.

    Returns:
        The files written.
    """
    files = []
    templates: dict[tuple[str, int | None], list[tuple[int, NodeTemplate]]] = {}
    kinds = sorted({vertex.group for vertex in conversion.vertices})
    head = framed(encode_metadata(conversion.metadata))
    for npu in range(conversion.npus):
        shift = npu * len(conversion.vertices)
        content = [b""] * len(conversion.vertices)
        for kind in kinds:
            key = (kind, conversion.group_of.get((kind, npu)))
            if key not in templates:
                templates[key] = _templates(conversion.vertices, *key)
            for index, template in templates[key]:
                content[index] = framed(template.encode(shift))
        path = Path(f"{prefix}.{npu}.et")
        path.write_bytes(head + b"".join(content))
        files.append(path)
    if conversion.groups:
        path = Path(f"{prefix}.comm_group.json")
        named = {str(key): list(members) for key, members in conversion.groups.items()}
        path.write_text(json.dumps(named), encoding="utf-8")
        files.append(path)
    return files


def _templates(
    vertices: tuple[Vertex, ...], kind: str, group: int | None
) -> list[tuple[int, NodeTemplate]]:
    """The encoded vertices that run over one kind of group, in one of its groups."""
    return [
        (index, node_template(_node(vertex, index, 0, group), 0))
        for index, vertex in enumerate(vertices)
        if vertex.group == kind
    ]

"""Turns traces into the programs of NPUs: durations, sizes, peers, groups."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.engines.events.programs import (
    LASTS,
    Bodies,
    Transfers,
    accounts,
    fixed_nodes,
    node_codes,
)
from simcore.formats.astra.groups_file import Groups
from simcore.formats.astra.system_file import AstraSystem
from simcore.formats.astra.traces.node_table import Machine, NodeTable
from simcore.formats.astra.traces.roofline import RooflineTimes, Utilization
from simcore.formats.chakra.graph import DependencyGraph, build_graph, refuse_endless
from simcore.formats.chakra.trace import Flags, Ints, Trace
from simcore.terms import CollectiveKind, NodeKind

__all__ = ["BuiltPrograms", "Machine", "build_programs"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BuiltPrograms:
    """The programs of the F files of a trace, and what the statistics need to know of them.

    Attributes:
        bodies: Their nodes.
        transfers: What they communicate.
        compute_ns: (F,) int64, how long the nodes that ever run and count as computing without
            the CPU take, added up.
        utilization: Per file, roofline figures; None where the compute model is off.
        own_ids: Per file, NPU ids that it claims to belong to.
        notes: Remarks for the user.
    """

    bodies: Bodies
    transfers: Transfers
    compute_ns: Ints
    utilization: tuple[Utilization | None, ...]
    own_ids: tuple[tuple[int, ...], ...]
    notes: tuple[str, ...]


def build_programs(
    trace: Trace, machine: Machine, keys: Mapping[int, int], groups: Groups
) -> BuiltPrograms:
    """Builds and checks the programs of one trace or several.

    Args:
        trace: The files.
        machine: What runs them.
        keys: Group id in the files -> key of the engine, where they differ.
        groups: Known groups by id in the files.

    Raises:
        ConfigError: A node lacks an attribute that its type needs, or holds an illegal one; the
            dependencies are broken; says which node.
    """
    graph = build_graph(trace)
    stuck = refuse_endless(trace, graph)
    nodes = NodeTable(trace, graph, machine)
    roofline = nodes.roofline()
    replay = machine.system.replay_only
    rows = _replayed(nodes) if replay else _communicated(nodes, keys, groups, machine.system)
    duration = nodes.recorded_ns
    if roofline is not None:
        duration = np.where(roofline.used, roofline.duration_ns, duration)
    duration[nodes.kind == NodeKind.METADATA] = 0
    counted = _counted(nodes, replay=replay)
    compute_ns = np.where(counted & ~stuck, duration, 0)
    return BuiltPrograms(
        bodies=_bodies(nodes, graph, rows, duration, _skipped(nodes, roofline, replay=replay)),
        transfers=Transfers(first=np.searchsorted(rows["at"], graph.first), **_local(rows, graph)),
        compute_ns=np.add.reduceat(compute_ns, graph.first[:-1]),
        utilization=_utilization(nodes, graph, roofline, np.where(stuck, 0, duration)),
        own_ids=_own_ids(nodes, graph) if not replay else ((),) * (graph.first.size - 1),
        notes=_cycle_notes(trace, graph, stuck),
    )


Columns = dict[str, NDArray[Any]]


def _kinds(kinds: Ints, system: AstraSystem) -> NDArray[np.int8]:
    """Kinds of collectives; a broadcast that no algorithm is named for lasts its duration."""
    broadcast = CollectiveKind.BROADCAST
    if broadcast in system.options.algorithms or broadcast in system.custom_prefixes:
        return kinds.astype(np.int8)
    return np.where(kinds == broadcast, LASTS, kinds).astype(np.int8)


def _communicated(
    nodes: NodeTable, keys: Mapping[int, int], groups: Groups, system: AstraSystem
) -> Columns:
    """Communication of the nodes, whose positions count across all files."""
    return {
        "at": nodes.at,
        "kind": nodes.at_kind,
        "comm_kind": _kinds(nodes.collective_kinds(), system),
        "size_bytes": nodes.sizes(),
        "priority": nodes.column("comm_priority"),
        "group": nodes.groups(keys, groups),
        "involved_dims": nodes.involved(),
        "peer": nodes.peers(),
        "tag": nodes.column("comm_tag"),
    }


def _replayed(nodes: NodeTable) -> Columns:
    """Every node but computing and receives is a collective that lasts its time."""
    at = np.flatnonzero(~np.isin(nodes.kind, (NodeKind.COMPUTE, NodeKind.METADATA)))
    receives = nodes.kind[at] == NodeKind.RECV
    nothing = np.zeros(at.size, np.int64)
    return {
        "at": at,
        "kind": np.where(receives, NodeKind.RECV, NodeKind.COLLECTIVE).astype(np.int8),
        "comm_kind": np.where(receives, -1, LASTS).astype(np.int8),
        **dict.fromkeys(("size_bytes", "priority", "group", "involved_dims", "tag"), nothing),
        "peer": nothing - 1,
    }


def _local(rows: Columns, graph: DependencyGraph) -> Columns:
    """Rows with positions that count from each file's first."""
    file = np.searchsorted(graph.first, rows["at"], side="right") - 1
    return rows | {"at": (rows["at"] - graph.first[file]).astype(np.int32)}


def _skipped(nodes: NodeTable, roofline: RooflineTimes | None, *, replay: bool) -> Flags:
    if replay:
        return np.zeros(nodes.kind.size, np.bool_)
    skipped: Flags = nodes.kind == NodeKind.INVALID
    return skipped if roofline is None else skipped | roofline.used & nodes.empty()


def _counted(nodes: NodeTable, *, replay: bool) -> Flags:
    """(T,) bool, whose time counts as computing on the accelerator."""
    counted = ~nodes.on_cpu
    return counted if replay else counted & (nodes.kind == NodeKind.COMPUTE)


def _bodies(
    nodes: NodeTable, graph: DependencyGraph, rows: Columns, duration: Ints, skipped: Flags
) -> Bodies:
    metadata = nodes.kind == NodeKind.METADATA
    kind = nodes.kind.copy()
    kind[rows["at"]] = rows["kind"]
    # A CPU node of 0 ns, so that its children start: ASTRA-sim ends the program here.
    kind[metadata] = NodeKind.COMPUTE
    fixed = np.zeros(kind.size, np.bool_)
    fixed[rows["at"]] = fixed_nodes(rows["kind"], rows["comm_kind"], rows["peer"])
    code = node_codes(
        kind,
        on_cpu=nodes.on_cpu | metadata,
        skipped=skipped,
        fixed=fixed,
        account=accounts(nodes.kind, nodes.on_cpu),
    )
    return Bodies(
        first=graph.first,
        node_id=graph.ids,
        kind=kind,
        code=code,
        duration_ns=duration,
        dep_start=graph.dep_start,
        dep=graph.dep,
    )


def _utilization(
    nodes: NodeTable, graph: DependencyGraph, roofline: RooflineTimes | None, duration: Ints
) -> tuple[Utilization | None, ...]:
    """Per file; the weight of a compute node is how long it runs."""
    files = graph.first.size - 1
    if roofline is None:
        return (None,) * files
    weight = np.where(nodes.kind == NodeKind.COMPUTE, duration, 0)
    parts = [slice(*graph.first[file : file + 2].tolist()) for file in range(files)]
    return tuple(roofline.utilization(part, weight[part]) for part in parts)


def _own_ids(nodes: NodeTable, graph: DependencyGraph) -> tuple[tuple[int, ...], ...]:
    at, own = nodes.own_ids()
    found: list[set[int]] = [set() for _ in range(graph.first.size - 1)]
    files = np.searchsorted(graph.first, at, side="right") - 1
    for file, number in zip(files.tolist(), own.tolist(), strict=True):
        found[file].add(number)
    return tuple(tuple(sorted(numbers)) for numbers in found)


def _cycle_notes(trace: Trace, graph: DependencyGraph, stuck: Flags) -> tuple[str, ...]:
    if not stuck.any():
        return ()
    notes = []
    for file, part in enumerate(np.split(stuck, graph.first[1:-1])):
        if part.any():
            ids = graph.ids[graph.first[file] : graph.first[file + 1]][part]
            first = [int(i) for i in ids[:4]]
            rule = f"{int(part.sum())} nodes in or behind a cycle never run: {first}"
            notes.append(f"{trace.path_of(file)}: {rule}.")
    return tuple(notes)

"""Content of a trace in figures."""

from dataclasses import dataclass
from hashlib import blake2b, file_digest
from pathlib import Path

import numpy as np

from simcore.errors import ConfigError
from simcore.files.input_file import open_input
from simcore.formats.chakra.graph import build_graph
from simcore.formats.chakra.read import read_trace
from simcore.formats.chakra.trace import Flags, Trace
from simcore.terms import NodeKind

_COLLECTIVES = (
    "all_reduce",
    "reduce",
    "all_gather",
    "gather",
    "scatter",
    "broadcast",
    "all_to_all",
    "reduce_scatter",
    "reduce_scatter_block",
    "barrier",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Communication of one kind, or in one group: how many nodes, and their comm_size added up."""

    nodes: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSummary:
    """Figures of one trace.

    Attributes:
        path: The file.
        schema: Schema text of its metadata, or its version.
        nodes: Nodes in all.
        kinds: Nodes of each type.
        communication: Per collective kind, and for sends and receives.
        groups: Collectives per communicator group (0: everyone).
        dependencies: Distinct dependencies.
        operations: num_ops added up.
        memory_bytes: tensor_size of compute nodes added up.
        duration_us: Recorded durations added up.
        critical_path_us: Longest chain of recorded durations.
        critical_path_nodes: Nodes of the longest chain, counted.
        never_free: Nodes in or behind a cycle.
    """

    path: str
    schema: str
    nodes: int
    kinds: dict[str, int]
    communication: dict[str, Traffic]
    groups: dict[int, Traffic]
    dependencies: int
    operations: int
    memory_bytes: int
    duration_us: int
    critical_path_us: int
    critical_path_nodes: int
    never_free: int


def summarize(path: Path) -> TraceSummary:
    """Reads and summarises one trace.

    Raises:
        ConfigError: The trace is broken.
    """
    trace = read_trace(path)
    graph = build_graph(trace)
    compute = trace.types == NodeKind.COMPUTE
    micros = np.minimum(trace.duration_micros, 2**62).astype(np.int64)
    ends = graph.longest_paths(micros[graph.rows])
    depths = graph.longest_paths(np.ones(len(trace), np.int64))
    return TraceSummary(
        path=str(path),
        schema=_schema(trace),
        nodes=len(trace),
        kinds=_kinds(trace),
        communication=_communication(trace),
        groups=_groups(trace),
        dependencies=int(graph.dep.size),
        operations=_total(trace, "num_ops", compute),
        memory_bytes=_total(trace, "tensor_size", compute),
        duration_us=sum(micros.tolist()),
        critical_path_us=int(ends.max(initial=0)),
        critical_path_nodes=int(depths.max(initial=0)),
        never_free=int((depths < 0).sum()),
    )


def _total(trace: Trace, name: str, rows: Flags) -> int:
    return int(sum(trace.attribute(name)[rows & ~trace.unusable(name)].tolist()))


def _schema(trace: Trace) -> str:
    for attribute in trace.metadata.attributes:
        if attribute.name == "schema":
            return str(attribute.value)
    return trace.metadata.version


def _kinds(trace: Trace) -> dict[str, int]:
    names = {int(kind): kind.name.lower() for kind in NodeKind}
    values, counts = np.unique(trace.types, return_counts=True)
    return {
        names.get(value, f"type {value}"): count
        for value, count in zip(values.tolist(), counts.tolist(), strict=True)
    }


def _communication(trace: Trace) -> dict[str, Traffic]:
    found = {}
    collective = trace.types == NodeKind.COLLECTIVE
    kinds = trace.attribute("comm_type")
    for value in np.unique(kinds[collective]).tolist():
        known = 0 <= value < len(_COLLECTIVES)
        name = _COLLECTIVES[value] if known else f"comm_type {value}"
        found[name] = _traffic(trace, collective & (kinds == value))
    for kind, name in ((NodeKind.SEND, "send"), (NodeKind.RECV, "receive")):
        rows = trace.types == kind
        if rows.any():
            found[name] = _traffic(trace, rows)
    return found


def _groups(trace: Trace) -> dict[int, Traffic]:
    collective = trace.types == NodeKind.COLLECTIVE
    group = trace.attribute("pg_name")
    return {
        value: _traffic(trace, collective & (group == value))
        for value in np.unique(group[collective]).tolist()
    }


def _traffic(trace: Trace, rows: Flags) -> Traffic:
    return Traffic(nodes=int(rows.sum()), size_bytes=_total(trace, "comm_size", rows))


def find_traces(path: Path) -> list[Path]:
    """The file *path*, or all traces ``<path>.<r>.et`` for r from 0 on.

    Raises:
        ConfigError: Neither exists.
    """
    if path.is_file():
        return [path]
    found: list[Path] = []
    while (file := Path(f"{path}.{len(found)}.et")).is_file():
        found.append(file)
    if not found:
        rule = f"must be a trace, or the prefix of traces such as {path.name}.0.et"
        raise ConfigError(str(path), rule, got="no such file")
    return found


def summarize_all(path: Path) -> list[tuple[TraceSummary, list[int]]]:
    """Summaries of the distinct traces at *path*, each with the ranks that have these bytes.

    Raises:
        ConfigError: There is no trace, or one is broken.
    """
    ranks: dict[bytes, list[int]] = {}
    first: dict[bytes, Path] = {}
    for rank, file in enumerate(find_traces(path)):
        with open_input(file) as stream:
            digest = file_digest(stream, blake2b).digest()
        ranks.setdefault(digest, []).append(rank)
        first.setdefault(digest, file)
    return [(summarize(first[digest]), members) for digest, members in ranks.items()]

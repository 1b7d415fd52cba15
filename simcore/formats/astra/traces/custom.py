"""Loads collectives that users define as Chakra traces of sends, receives and compute nodes."""

from dataclasses import fields, replace
from pathlib import Path

import numpy as np

from simcore.engines.events.input import CustomCollectives
from simcore.engines.events.programs import Program, Programs, starts
from simcore.errors import ConfigError, short
from simcore.formats.astra.groups_file import Groups
from simcore.formats.astra.system_file import AstraSystem
from simcore.formats.astra.traces.load import trace_path
from simcore.formats.astra.traces.node_table import Machine
from simcore.formats.astra.traces.program import build_programs
from simcore.formats.chakra.read import read_trace
from simcore.formats.chakra.trace import Trace
from simcore.terms import NodeKind

_ALLOWED = (NodeKind.SEND, NodeKind.RECV, NodeKind.COMPUTE)
_COLUMNS = tuple(
    field.name for field in fields(Program) if field.name not in ("dep_start", "dep", "name")
)


def load_custom(system: AstraSystem, machine: Machine, folder: Path) -> CustomCollectives:
    """The algorithms that the system file names; paths start at *folder*.

    Raises:
        ConfigError: A file is missing or broken, or holds other nodes.
    """
    if not system.custom_prefixes and system.custom_by_node is None:
        return CustomCollectives()
    plain = Machine(
        npus=machine.npus,
        dimensions=machine.dimensions,
        has_remote_memory=False,
        system=AstraSystem(options=system.options),
    )
    loaded: dict[str, tuple[Program, ...]] = {}

    def load(prefix: str) -> tuple[Program, ...]:
        if prefix not in loaded:
            loaded[prefix] = _load_prefix(folder / prefix, plain)
        return loaded[prefix]

    by_node = _node_map(system.custom_by_node, folder)
    return CustomCollectives(
        by_kind={int(kind): load(prefix) for kind, prefix in system.custom_prefixes.items()},
        by_node={node: load(prefix) for node, prefix in by_node.items()},
    )


def check_custom(custom: CustomCollectives, programs: Programs, groups: Groups, npus: int) -> None:
    """Checks that each position of a group that runs an algorithm has its file.

    Raises:
        ConfigError: A file is missing.
    """
    transfers = programs.transfers
    for kind, algorithm in custom.by_kind.items():
        for group in np.unique(transfers.group[transfers.comm_kind == kind]):
            _check_count(algorithm, int(group), groups, npus)
    if custom.by_node:
        ids = programs.transfer_ids()
        for node, algorithm in custom.by_node.items():
            for group in np.unique(transfers.group[ids == node]):
                _check_count(algorithm, int(group), groups, npus)


def _check_count(algorithm: tuple[Program, ...], group: int, groups: Groups, npus: int) -> None:
    members = len(groups[group]) if group else npus
    if len(algorithm) < members:
        rule = f"a custom collective among {members} NPUs needs as many algorithm files"
        raise ConfigError(f"group {group}", rule, got=len(algorithm))


def _load_prefix(prefix: Path, machine: Machine) -> tuple[Program, ...]:
    programs: list[Program] = []
    while len(programs) < machine.npus and trace_path(prefix, len(programs)).is_file():
        path = trace_path(prefix, len(programs))
        trace = read_trace(path)
        other = ~np.isin(trace.types, _ALLOWED)
        if other.any():
            row = int(np.argmax(other))
            rule = "an algorithm may hold only sends, receives and compute nodes"
            raise ConfigError(trace.place(row), rule, got=int(trace.types[row]))
        built = build_programs(trace, machine, {}, {})
        table = Programs(
            bodies=built.bodies, body_of=np.zeros(1, np.int64), transfers=built.transfers
        )
        programs.append(_in_file_order(trace, table[0]))
    if not programs:
        path = trace_path(prefix, 0)
        raise ConfigError(str(path), "the algorithm trace must exist", got="no such file")
    return tuple(programs)


def _in_file_order(trace: Trace, program: Program) -> Program:
    """The program by file row, with dependencies as the file lists them: both decide the order."""
    rows = np.arange(len(trace))
    position = np.searchsorted(program.node_id, trace.ids)
    waiting = np.concatenate(
        (np.repeat(rows, np.diff(trace.data_start)), np.repeat(rows, np.diff(trace.ctrl_start)))
    )
    listed = np.concatenate((trace.data_deps, trace.ctrl_deps))
    row_of_position = np.argsort(position)
    parent = row_of_position[np.searchsorted(program.node_id, listed)]
    _, first = np.unique(waiting * rows.size + parent, return_index=True)
    first = first[np.lexsort((first, waiting[first]))]
    counts = np.bincount(waiting[first], minlength=rows.size)
    columns = {name: getattr(program, name)[position] for name in _COLUMNS}
    return replace(program, **columns, dep_start=starts(counts), dep=parent[first])


def _node_map(name: str | None, folder: Path) -> dict[int, str]:
    if name is None:
        return {}
    from simcore.files.yaml_file import read_yaml

    path = folder / name
    data = read_yaml(path)
    rule = "must map node ids, from 0 to 2^64 - 1, to path prefixes"
    if not isinstance(data, dict):
        raise ConfigError(str(path), rule, got=data)
    for key, prefix in data.items():
        if type(key) is not int or not 0 <= key < 1 << 64 or not isinstance(prefix, str):
            raise ConfigError(f"{path} {short(str(key))}", rule, got=prefix)
    return dict(data)


def runs_natively(custom: CustomCollectives, programs: Programs) -> bool:
    """True if a collective of *programs* is cut into chunks and run by a built-in algorithm."""
    kinds = programs.transfers.comm_kind
    native = (kinds >= 0) & ~np.isin(kinds, list(custom.by_kind))
    if custom.by_node:
        native &= ~np.isin(programs.transfer_ids(), np.array(list(custom.by_node), np.uint64))
    return bool(native.any())

"""Loads the traces of all NPUs; files with equal bytes are read once and share a program."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import source_hash
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from simcore.errors import ConfigError
from simcore.formats.astra.groups_file import Groups, process_groups
from simcore.formats.astra.program import Machine, TraceProgram, build_program, regrouped
from simcore.formats.chakra.read import read_trace
from simcore.formats.chakra.trace import GROUP, OFFSET, Ints, Trace
from simcore.input_file import MissingFileError, open_descriptor
from simcore.terms import NodeKind

if TYPE_CHECKING:
    from simcore.formats.chakra.messages import Node

Contents = tuple[bytes, ...]
_BLOCK_BYTES = 65536
_NOTHING = source_hash(b"")


def trace_path(prefix: Path, npu: int) -> Path:
    """The trace of one NPU: ``<prefix>.<npu>.et``."""
    return prefix.with_name(f"{prefix.name}.{npu}.et")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoadedTraces:
    """Programs of all NPUs.

    Attributes:
        programs: Distinct programs.
        program_of_npu: (N,) int64, index into ``programs``.
        nodes: Per program, its nodes with all attributes in ascending order of id; empty where
            nothing needs them.
        groups: Communicator groups by the engine's keys.
    """

    programs: tuple[TraceProgram, ...]
    program_of_npu: Ints
    nodes: "tuple[tuple[Node, ...], ...]"
    groups: Groups


@dataclass(slots=True)
class GroupKeys:
    """Gives every group of every file a key of its own.

    The process groups of two PyTorch traces may share an id and still have other members.
    """

    members: Groups
    _sets: dict[int, frozenset[int]] = field(default_factory=dict)

    def member_set(self, key: int) -> frozenset[int]:
        """The members of one group, for look-ups."""
        if key not in self._sets:
            self._sets[key] = frozenset(self.members[key])
        return self._sets[key]

    def adopt(self, found: Groups) -> dict[int, int]:
        """Adds the groups *found* in one trace; their ids -> keys."""
        keys = {}
        for number, members in found.items():
            if self.members.get(number, members) == members:
                self.members[number] = members
                keys[number] = number
                continue
            same = [key for key, value in self.members.items() if value == members]
            key = same[0] if same else max(self.members) + 1
            self.members[key] = members
            keys[number] = key
        return keys


def load_traces(
    prefix: Path, machine: Machine, groups: Groups, *, with_nodes: bool
) -> LoadedTraces:
    """Loads ``<prefix>.<r>.et`` of every NPU r.

    Args:
        prefix: Path of the traces without rank and suffix.
        machine: What runs them.
        groups: Groups of the communicator group file.
        with_nodes: Whether all attributes are needed (memory tracking).

    Raises:
        ConfigError: A file is missing or broken, or does not fit the NPU that reads it.
    """
    all_groups = GroupKeys(dict(groups))
    programs = _Programs(machine)
    nodes: list[tuple[Node, ...]] = []
    known: dict[Contents, int] = {}
    index = np.empty(machine.npus, np.int64)
    for npu in range(machine.npus):
        contents = _contents(f"{prefix}.{npu}.et", npu, machine.npus)
        if contents not in known:
            known[contents] = len(programs.built)
            trace = read_trace(trace_path(prefix, npu))
            full = _full_nodes(trace, needed=with_nodes)
            keys = _trace_groups(trace, full, all_groups, machine.npus)
            own = {number: all_groups.members[key] for number, key in keys.items()}
            visible = groups | own if own else groups
            programs.add(trace, keys, visible)
            nodes.append(full if with_nodes else ())
        index[npu] = known[contents]
        _check_owner(programs.built[known[contents]], npu, prefix, all_groups)
    return LoadedTraces(
        programs=tuple(programs.built),
        program_of_npu=index,
        nodes=tuple(nodes),
        groups=all_groups.members,
    )


class _Programs:
    """Builds programs; traces that differ only in the groups of their collectives share the rest.

    Attributes:
        built: The programs so far.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._alike: dict[tuple[bytes, ...], TraceProgram] = {}
        self.built: list[TraceProgram] = []

    def add(self, trace: Trace, keys: Mapping[int, int], groups: Groups) -> None:
        """Build one more; the arguments are those of ``build_program``."""
        marks = _marks_without_groups(trace)
        like = self._alike.get(marks)
        if like is None:
            program = self._alike[marks] = build_program(trace, self._machine, keys, groups)
        else:
            program = regrouped(like, trace, keys, groups)
        self.built.append(program)


def _marks_without_groups(trace: Trace) -> tuple[bytes, ...]:
    """Equal for traces of equal nodes, whatever their names and groups (other than none)."""
    parts = [column for c, column in enumerate(trace.table.T) if c not in (GROUP, OFFSET)]
    parts += [trace.table[:, GROUP] != 0, trace.data_start, trace.data_deps]
    parts += [trace.ctrl_start, trace.ctrl_deps]
    return tuple(source_hash(np.ascontiguousarray(part).data) for part in parts)


def _contents(path: str, npu: int, npus: int) -> Contents:
    """What tells apart files of other bytes: 64 bits of each block, as Python does for sources."""
    try:
        descriptor, _ = open_descriptor(path)
    except MissingFileError:
        rule = f"each of the {npus} NPUs needs its trace, and NPU {npu} has none"
        raise ConfigError(path, rule, got="no such file") from None
    with open(descriptor, "rb", buffering=0) as stream:
        return tuple(iter(lambda: source_hash(stream.read(_BLOCK_BYTES)), _NOTHING))


def _full_nodes(trace: Trace, *, needed: bool) -> "tuple[Node, ...]":
    if not needed and not (trace.types == NodeKind.METADATA).any():
        return ()
    from simcore.formats.chakra.stream import read_nodes

    return tuple(sorted(read_nodes(trace.path)[1], key=lambda node: node.id))


def _trace_groups(
    trace: Trace, nodes: "tuple[Node, ...]", keys: GroupKeys, npus: int
) -> dict[int, int]:
    found: Groups = {}
    for node in nodes:
        if node.type == NodeKind.METADATA:
            at = f"{trace.path} node {node.id}"
            found |= process_groups(node, npus=npus, at=at)
    return keys.adopt(found)


def _check_owner(program: TraceProgram, npu: int, prefix: Path, groups: GroupKeys) -> None:
    for own in program.own_ids:
        if own != npu:
            rule = f"a send must come from, and a receive go to, the NPU of its file, {npu}"
            raise ConfigError(str(trace_path(prefix, npu)), rule, got=own)
    for key in program.groups:
        if npu not in groups.member_set(key):
            rule = f"NPU {npu} must be a member of the group {key} of its collectives"
            path = trace_path(prefix, npu)
            raise ConfigError(str(path), rule, got=list(groups.members[key]))

"""Loads the traces of all NPUs; files with equal bytes are read once and share a program."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, overload

import numpy as np

from simcore.engines.events.joined import ProgramCollector
from simcore.engines.events.programs import Names, Programs
from simcore.errors import ConfigError
from simcore.files.input_file import MissingFileError, open_descriptor
from simcore.formats.astra.groups_file import Groups, process_groups
from simcore.formats.astra.log.statistics import ProgramTotals
from simcore.formats.astra.traces.node_table import Machine
from simcore.formats.astra.traces.program import build_programs
from simcore.formats.chakra.read_many import TraceReader
from simcore.formats.chakra.stream import name_of
from simcore.formats.chakra.trace import Ints, Trace
from simcore.terms import NodeKind

if TYPE_CHECKING:
    from simcore.formats.chakra.messages import Node


def trace_path(prefix: Path, npu: int) -> Path:
    """The trace of one NPU: ``<prefix>.<npu>.et``."""
    return Path(f"{prefix}.{npu}.et")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoadedTraces:
    """Programs of all NPUs.

    Attributes:
        programs: Distinct programs.
        program_of_npu: (N,) int64, index into ``programs``.
        totals: Per program, what the statistics need to know.
        nodes: Per program, its nodes with all attributes in ascending order of id; empty where
            nothing needs them.
        groups: Communicator groups by the engine's keys.
        notes: Remarks for the user.
    """

    programs: Programs
    program_of_npu: Ints
    totals: tuple[ProgramTotals, ...]
    nodes: "tuple[tuple[Node, ...], ...]"
    groups: Groups
    notes: tuple[str, ...]


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
    paths = [f"{prefix}.{npu}.et" for npu in range(machine.npus)]
    reader = TraceReader(paths, lambda npu: _opened(paths[npu], npu, machine.npus))
    loader = _Loader(machine, groups, with_nodes=with_nodes)
    for traces in reader.traces():
        loader.add(traces)
    loaded = loader.loaded(np.array(reader.content_of, np.int64))
    _check_owners(loaded, loader.own_ids, paths, loader.keys)
    return loaded


def _opened(path: str, npu: int, npus: int) -> tuple[int, int]:
    try:
        return open_descriptor(path)
    except MissingFileError:
        rule = f"each of the {npus} NPUs needs its trace, and NPU {npu} has none"
        raise ConfigError(path, rule, got="no such file") from None


class _Loader:
    """Builds the programs of one batch of traces after the other.

    Attributes:
        keys: Groups so far.
        own_ids: Per program, NPU ids that it claims to belong to.
    """

    def __init__(self, machine: Machine, groups: Groups, *, with_nodes: bool) -> None:
        self._machine, self._groups, self._with_nodes = machine, groups, with_nodes
        self._collector = ProgramCollector()
        self._totals: list[ProgramTotals] = []
        self._nodes: list[tuple[Node, ...]] = []
        self._notes: list[str] = []
        self.keys = GroupKeys(dict(groups))
        self.own_ids: list[tuple[int, ...]] = []

    def add(self, traces: Trace) -> None:
        """Build the programs of *traces*; where one breaks a rule, name the first that does."""
        alone = self._with_nodes or bool((traces.types == NodeKind.METADATA).any())
        if not alone:
            try:
                self._build(traces, {}, self._groups)
                return
            except ConfigError:
                if traces.first.size == 2:
                    raise
        for trace in traces.each():
            full = self._full_nodes(trace)
            keys = self.keys.adopt(_trace_groups(trace, full, self._machine.npus))
            own = {number: self.keys.members[key] for number, key in keys.items()}
            self._build(trace, keys, self._groups | own)
            if self._with_nodes:
                self._nodes.append(full)

    def _full_nodes(self, trace: Trace) -> "tuple[Node, ...]":
        """All nodes with all their attributes, or only those that define groups."""
        metadata = trace.types == NodeKind.METADATA
        if not self._with_nodes and not metadata.any():
            return ()
        from simcore.formats.chakra.stream import nodes_at

        rows = slice(None) if self._with_nodes else metadata
        offsets = set(trace.table["offset"][rows].tolist())
        return tuple(sorted(nodes_at(trace.path, offsets), key=lambda node: node.id))

    def _build(self, traces: Trace, keys: dict[int, int], groups: Groups) -> None:
        built = build_programs(traces, self._machine, keys, groups)
        self._collector.add(built.bodies, built.transfers, _names(traces))
        self._totals += [
            ProgramTotals(compute_ns=ns, utilization=figures)
            for ns, figures in zip(built.compute_ns.tolist(), built.utilization, strict=True)
        ]
        self.own_ids += built.own_ids
        self._notes += built.notes

    def loaded(self, program_of_npu: Ints) -> LoadedTraces:
        """All of it."""
        return LoadedTraces(
            programs=self._collector.collected(),
            program_of_npu=program_of_npu,
            totals=tuple(self._totals),
            nodes=tuple(self._nodes),
            groups=self.keys.members,
            notes=tuple(self._notes),
        )


def _names(traces: Trace) -> list[Names]:
    files = range(traces.first.size - 1)
    return [partial(NodeNames, traces.path_of(file)) for file in files]


def _trace_groups(trace: Trace, nodes: "tuple[Node, ...]", npus: int) -> Groups:
    found: Groups = {}
    for node in nodes:
        if node.type == NodeKind.METADATA:
            at = f"{trace.path} node {node.id}"
            found |= process_groups(node, npus=npus, at=at)
    return found


def _check_owners(
    loaded: LoadedTraces, own_ids: list[tuple[int, ...]], paths: list[str], keys: GroupKeys
) -> None:
    """Files must name the NPU that reads them, and it must be a member of their groups."""
    groups: list[list[int]] = [[] for _ in own_ids]
    programs, named, _ = loaded.programs.groups()
    for index, key in zip(programs.tolist(), named.tolist(), strict=True):
        groups[index].append(key)
    for npu, index in enumerate(loaded.program_of_npu.tolist()):
        for own in own_ids[index]:
            if own != npu:
                rule = f"a send must come from, and a receive go to, the NPU of its file, {npu}"
                raise ConfigError(paths[npu], rule, got=own)
        for key in groups[index]:
            if key and npu not in keys.member_set(key):
                rule = f"NPU {npu} must be a member of the group {key} of its collectives"
                raise ConfigError(paths[npu], rule, got=list(keys.members[key]))


class NodeNames(Sequence[str]):
    """Names by position; read from the file when an error asks for one, as few ever do."""

    def __init__(self, path: Path, ids: Sequence[int]) -> None:
        self._path, self._ids = path, ids

    def __len__(self) -> int:
        return len(self._ids)

    @overload
    def __getitem__(self, position: int) -> str: ...
    @overload
    def __getitem__(self, position: slice) -> tuple[str, ...]: ...
    def __getitem__(self, position: int | slice) -> str | tuple[str, ...]:
        if isinstance(position, slice):
            return tuple(self[i] for i in range(*position.indices(len(self))))
        return name_of(self._path, int(self._ids[position]))

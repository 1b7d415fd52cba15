"""The nodes of traces in ascending order of id, and the checks on them.

What every node has is held for every node; what only communication has, for its nodes alone, which
are few.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from simcore.errors import ConfigError
from simcore.formats.astra.groups_file import Groups
from simcore.formats.astra.system_file import AstraSystem
from simcore.formats.astra.traces.roofline import LONGEST_NS, RooflineTimes, roofline_times
from simcore.formats.chakra.graph import DependencyGraph
from simcore.formats.chakra.trace import Flags, Ints, Trace
from simcore.kernels.chakra.columns import CPU_BIT, WRONG_SHIFT
from simcore.terms import CollectiveKind, NodeKind

LONGEST_MICROS = LONGEST_NS // 1000
_CPU_OP_UNUSABLE = 1 | 1 << WRONG_SHIFT
_TRANSFER = np.zeros(8, np.bool_)
_TRANSFER[[NodeKind.MEM_LOAD, NodeKind.MEM_STORE]] = True
_TRANSFER[[NodeKind.SEND, NodeKind.RECV, NodeKind.COLLECTIVE]] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Machine that a program is checked against and timed with.

    Attributes:
        npus: NPUs of the whole machine.
        dimensions: Network dimensions.
        has_remote_memory: Whether memory nodes can run.
        system: The system file.
    """

    npus: int
    dimensions: int
    has_remote_memory: bool
    system: AstraSystem


class NodeTable:
    """Checked nodes of one trace or of several.

    Attributes:
        kind: (T,) int8, ``NodeKind`` values.
        on_cpu: (T,) bool, the attribute is_cpu_op.
        recorded_ns: (T,) int64, duration in the trace, at least 1.
        at: (C,) int64, positions of collectives, sends, receives and memory nodes.
        at_kind: (C,) int8, their kinds.

    Raises:
        ConfigError: A node lacks an attribute that its type needs, or holds an illegal one.
    """

    def __init__(self, trace: Trace, graph: DependencyGraph, machine: Machine) -> None:
        self._trace, self._graph, self._machine = trace, graph, machine
        types, flags = trace.types[graph.rows], trace.table["flags"][graph.rows]
        bad = (types < 0) | (types > NodeKind.COLLECTIVE)
        if bad.any():
            rule = "must have a type from 0 (invalid) to 7 (collective)"
            raise self._error(bad, rule, int(types[bad][0]))
        self.kind = types.astype(np.int8)
        self.on_cpu: Flags = (flags >> CPU_BIT & 1).astype(np.bool_)
        self.recorded_ns = self._recorded_ns()
        self.at: Ints = np.flatnonzero(_TRANSFER[types])
        self.at_kind = self.kind[self.at]
        self._rows: Ints = graph.rows[self.at]
        if not machine.system.replay_only:
            self._check_kinds()
            unusable = (flags & _CPU_OP_UNUSABLE) == _CPU_OP_UNUSABLE
            if unusable.any():
                trace.require("is_cpu_op", graph.rows[unusable], what="a node")
            self._check_attributes()

    def of(self, *kinds: NodeKind) -> Flags:
        """(C,) bool, which of the nodes ``at`` are of one of *kinds*."""
        found = np.zeros(self.at_kind.size, np.bool_)
        for kind in kinds:
            found |= self.at_kind == int(kind)  # of an enum's member, numpy asks a lot first
        return found

    def column(self, name: str) -> Ints:
        """(C,) int64, a number attribute of the nodes ``at``."""
        return self._trace.attribute(name)[self._rows]

    def has(self, name: str) -> Flags:
        """(C,) bool, which of them have the attribute."""
        return self._trace.has(name, self._rows)

    def _error(self, bad: Flags, rule: str, got: object) -> ConfigError:
        """The error about the first of all nodes marked in *bad*."""
        return ConfigError(self._trace.place(int(self._graph.rows[np.argmax(bad)])), rule, got=got)

    def _refuse(self, bad: Flags, rule: str, got: object) -> None:
        """Raise the error about the first of the nodes ``at`` marked in *bad*, if one is."""
        if bad.any():
            first = int(np.argmax(bad))
            told = int(got[first]) if isinstance(got, np.ndarray) else got
            raise ConfigError(self._trace.place(int(self._rows[first])), rule, got=told)

    def _recorded_ns(self) -> Ints:
        micros = self._trace.duration_micros[self._graph.rows]
        bad = micros > LONGEST_MICROS
        if bad.any():
            rule = f"duration_micros must be at most {LONGEST_MICROS}"
            raise self._error(bad, rule, int(micros[bad][0]))
        return np.maximum(micros.view(np.int64) * 1000, 1)

    def _check_kinds(self) -> None:
        memory = self.of(NodeKind.MEM_LOAD, NodeKind.MEM_STORE)
        on_cpu = ~memory & self.on_cpu[self.at]
        self._refuse(on_cpu, "a communication node must not be a CPU operation", True)
        if not self._machine.has_remote_memory:
            rule = "a remote memory node needs a memory-type other than NO_MEMORY_EXPANSION"
            self._refuse(memory, rule, "NO_MEMORY_EXPANSION")

    def _check_attributes(self) -> None:
        require, rows = self._trace.require, self._rows
        memory = self.of(NodeKind.MEM_LOAD, NodeKind.MEM_STORE)
        collective = self.of(NodeKind.COLLECTIVE)
        require("comm_size", rows[~memory], what="a communication node")
        require("tensor_size", rows[memory], what="a memory node")
        require("comm_type", rows[collective], what="a collective")
        for kind, peer, what in (
            (NodeKind.SEND, "comm_dst", "a send"),
            (NodeKind.RECV, "comm_src", "a receive"),
        ):
            require(peer, rows[self.of(kind)], what=what)
            require("comm_tag", rows[self.of(kind)], what=what)
        for name in ("comm_priority", "pg_name", "involved_dim"):
            require(name, rows[collective & self.has(name)], what="a collective")
        size = self.column("comm_size")
        self._refuse(~memory & (size < 0), "comm_size must be 0 bytes or more", size)

    def sizes(self) -> Ints:
        """(C,) int64, bytes."""
        memory = self.of(NodeKind.MEM_LOAD, NodeKind.MEM_STORE)
        return np.where(memory, self.column("tensor_size"), self.column("comm_size"))

    def collective_kinds(self) -> Ints:
        """(C,) int64, ``CollectiveKind`` values of the collectives, else -1."""
        collective, values = self.of(NodeKind.COLLECTIVE), self.column("comm_type")
        known = ", ".join(f"{kind.value} {kind.name}" for kind in CollectiveKind)
        bad = collective & ~np.isin(values, [kind.value for kind in CollectiveKind])
        self._refuse(bad, f"comm_type must be one of {known}", values)
        return np.where(collective, values, -1)

    def involved(self) -> Ints:
        """(C,) int64, bits of the dimensions that a collective runs over; all by default."""
        everything = (1 << self._machine.dimensions) - 1
        listed = self.of(NodeKind.COLLECTIVE) & self.has("involved_dim")
        if not listed.any():
            return np.full(self.at.size, everything)
        flags = self._trace.involved_flags[self._rows]
        for kind, needed in self._logical_dimensions().items():
            short = listed & (flags < needed) & (self.column("pg_name") == 0)
            short &= self.column("comm_type") == kind
            if short.any():
                rule = f"involved_dim needs a flag for each of {needed} dimensions"
                self._refuse(short, rule, f"{int(flags[short][0])} flags")
        return np.where(listed, self.column("involved_dim") & everything, everything)

    def _logical_dimensions(self) -> dict[int, int]:
        """Count of dimensions that each kind's algorithms cover: ``oneX`` is the last of a list."""
        covered = {}
        for kind, chosen in self._machine.system.options.algorithms.items():
            whole = [d for d, one in enumerate(chosen) if one.whole_machine]
            covered[kind] = min([len(chosen), self._machine.dimensions, *(d + 1 for d in whole)])
        return covered

    def peers(self) -> Ints:
        """(C,) int64, destination of a send and source of a receive, else -1."""
        send, receive = self.of(NodeKind.SEND), self.of(NodeKind.RECV)
        peer = np.where(send, self.column("comm_dst"), -1)
        peer = np.where(receive, self.column("comm_src"), peer)
        bad = (send | receive) & ((peer < 0) | (peer >= self._machine.npus))
        self._refuse(bad, f"the other end must be an NPU from 0 to {self._machine.npus - 1}", peer)
        return peer

    def groups(self, keys: Mapping[int, int], groups: Groups) -> Ints:
        """(C,) int64, the engine's key of the group of each collective; 0 for all NPUs.

        Args:
            keys: Group id in the file -> key of the engine, where they differ.
            groups: Known groups by id in the file.

        Raises:
            ConfigError: A collective names an unknown group.
        """
        group = np.where(self.of(NodeKind.COLLECTIVE), self.column("pg_name"), 0)
        named, named_of = np.unique(group, return_inverse=True)
        for place, number in enumerate(named.tolist()):
            if number and number not in groups:
                known = ", ".join(str(key) for key in sorted(groups)[:20]) or "none is defined"
                rule = f"pg_name must be the id of a communicator group ({known})"
                self._refuse(named_of == place, rule, number)
        return np.array([keys.get(number, number) for number in named.tolist()], np.int64)[named_of]

    def own_ids(self) -> tuple[Ints, Ints]:
        """NPU ids that sends name as their source and receives as their destination.

        Returns:
            (O,) int64, positions of such nodes, and (O,) int64, what they name.
        """
        source = self.of(NodeKind.SEND) & self.has("comm_src")
        target = self.of(NodeKind.RECV) & self.has("comm_dst")
        own = np.where(source, self.column("comm_src"), self.column("comm_dst"))
        named = source | target
        return self.at[named], own[named]

    def roofline(self) -> RooflineTimes | None:
        """Times of the compute model, or None where it is off; a replay asks it for nothing."""
        system, rows = self._machine.system, self._graph.rows
        if system.roofline is None:
            return None
        used = (self.kind == NodeKind.COMPUTE) & ~self.on_cpu & (not system.replay_only)
        columns = []
        for name in ("num_ops", "tensor_size"):
            self._trace.require(name, rows[used], what="roofline-enabled: a compute node")
        for name in ("num_ops", "tensor_size"):
            columns.append(self._trace.attribute(name)[rows])
            bad = used & (columns[-1] < 0)
            if bad.any():
                raise self._error(bad, f"{name} must be 0 or more", int(columns[-1][bad][0]))
        times = roofline_times(used, columns[0], columns[1], system.roofline)
        bad = times.duration_ns >= LONGEST_NS
        if bad.any():
            raise self._error(bad, "a compute node must last less than 2^61 ns", "more")
        return times

    def empty(self) -> Flags:
        """(T,) bool, the nodes whose tensor_size is 0."""
        empty: Flags = self._trace.attribute("tensor_size")[self._graph.rows] == 0
        return empty

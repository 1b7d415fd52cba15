"""Turns a trace into the program of an NPU: durations, sizes, peers, and the checks on them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simcore.errors import ConfigError
from simcore.formats.astra.groups_file import Groups
from simcore.formats.astra.node_columns import NodeNames, group_keys
from simcore.formats.astra.system_file import AstraSystem, Roofline
from simcore.formats.chakra.graph import DependencyGraph, build_graph, refuse_endless
from simcore.formats.chakra.trace import Flags, Ints, Trace
from simcore.system.engine_input import Program
from simcore.terms import CollectiveKind, NodeKind

Floats = NDArray[np.float64]

LONGEST_NS = 2**61
LONGEST_MICROS = LONGEST_NS // 1000
_SIZED = (NodeKind.COLLECTIVE, NodeKind.SEND, NodeKind.RECV)
_MEMORY = (NodeKind.MEM_LOAD, NodeKind.MEM_STORE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What a program is checked against and timed with.

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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RooflineTimes:
    """Per position, what the compute model found; 0 where it was not asked (``used`` False)."""

    used: Flags
    duration_ns: Ints
    compute_bound: Flags
    compute_utilization: Floats
    memory_utilization: Floats
    flop_per_byte: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TraceProgram:
    """A program, and what the statistics need to know of its nodes (by position).

    Attributes:
        program: For the engine.
        kind: (T,) int64 ``NodeKind`` values as in the trace.
        replay_ns: (T,) int64, duration of the nodes that count as computing without the CPU.
        roofline: Result of the compute model, or None where it is off.
        own_ids: NPU ids that the file claims to belong to (senders' own, receivers' own).
        rows: (T,) int64, row of each position in the trace.
        notes: Remarks for the user.
    """

    program: Program
    kind: Ints
    replay_ns: Ints
    roofline: RooflineTimes | None
    own_ids: tuple[int, ...]
    rows: Ints
    notes: tuple[str, ...]

    @property
    def groups(self) -> list[int]:
        """Engine keys of the groups that its collectives name."""
        return sorted(set(self.program.group.tolist()) - {0})


def build_program(
    trace: Trace, machine: Machine, keys: Mapping[int, int], groups: Groups
) -> TraceProgram:
    """Builds and checks the program of one trace.

    Args:
        trace: The file.
        machine: What runs it.
        keys: Group id in the file -> key of the engine, where they differ.
        groups: Known groups by id in the file.

    Raises:
        ConfigError: A node lacks an attribute that its type needs, or holds an illegal one; the
            dependencies are broken; says which node.
    """
    graph = build_graph(trace)
    stuck = refuse_endless(trace, graph)
    builder = _Builder(trace, graph, machine)
    roofline = builder.roofline()
    program = builder.program(roofline, keys, groups)
    return TraceProgram(
        program=program,
        kind=builder.kind,
        replay_ns=builder.replayed_ns(roofline),
        roofline=roofline,
        own_ids=builder.own_ids(),
        rows=graph.rows,
        notes=_cycle_notes(trace, graph, stuck),
    )


def regrouped(
    like: TraceProgram, trace: Trace, keys: Mapping[int, int], groups: Groups
) -> TraceProgram:
    """The program of a trace whose nodes equal those of another one but for group and name.

    Args:
        like: Program of the other.
        trace: The file.
        keys: As for ``build_program``.
        groups: Likewise.

    Raises:
        ConfigError: A collective names an unknown group.
    """
    group = like.program.group
    if group.any():
        group = group_keys(trace, like.rows, keys, groups)
    program = replace(like.program, group=group, name=NodeNames(trace, rows=like.rows))
    return replace(like, program=program, notes=())


def _cycle_notes(trace: Trace, graph: DependencyGraph, stuck: Flags) -> tuple[str, ...]:
    if not stuck.any():
        return ()
    first = [int(i) for i in graph.ids[stuck][:4]]
    return (f"{trace.path}: {int(stuck.sum())} nodes in or behind a cycle never run: {first}.",)


def _one_of(values: Ints, choices: Sequence[int]) -> Flags:
    found: Flags = values == choices[0]
    for choice in choices[1:]:
        found = found | (values == choice)
    return found


class _Builder:
    """Columns of one trace in ascending order of node id."""

    def __init__(self, trace: Trace, graph: DependencyGraph, machine: Machine) -> None:
        self.trace, self.graph, self.machine = trace, graph, machine
        rows = graph.rows
        self.kind: Ints = trace.types[rows].copy()
        self.on_cpu: Flags = trace.on_cpu[rows]
        self.size: Ints = trace.attribute("comm_size")[rows].copy()
        self.group: Ints = trace.attribute("pg_name")[rows].copy()
        self.recorded_ns: Ints = self._recorded_ns()
        self._check_kinds()

    def of(self, *kinds: NodeKind) -> Flags:
        """(T,) bool, the nodes of one of *kinds*."""
        return _one_of(self.kind, kinds)

    def column(self, name: str) -> Ints:
        return self.trace.attribute(name)[self.graph.rows]

    def has(self, name: str) -> Flags:
        return self.trace.has(name)[self.graph.rows]

    def error(self, bad: Flags, rule: str, got: object) -> ConfigError:
        """The error about the first node marked in *bad*."""
        return ConfigError(self.place(int(np.argmax(bad))), rule, got=got)

    def place(self, position: int) -> str:
        return self.trace.place(int(self.graph.rows[position]))

    def _rows(self, nodes: Flags) -> Flags:
        rows = np.zeros(nodes.size, np.bool_)
        rows[self.graph.rows[nodes]] = True
        return rows

    def _recorded_ns(self) -> Ints:
        micros = self.trace.duration_micros[self.graph.rows]
        bad = micros > LONGEST_MICROS
        if bad.any():
            rule = f"duration_micros must be at most {LONGEST_MICROS}"
            raise self.error(bad, rule, int(micros[bad][0]))
        ns: Ints = micros.astype(np.int64) * 1000
        ns[ns == 0] = 1
        return ns

    def _check_kinds(self) -> None:
        bad = (self.kind < 0) | (self.kind > NodeKind.COLLECTIVE)
        if bad.any():
            rule = "must have a type from 0 (invalid) to 7 (collective)"
            raise self.error(bad, rule, int(self.kind[bad][0]))
        if self.machine.system.replay_only:
            return
        bad = self.of(*_SIZED) & self.on_cpu
        if bad.any():
            raise self.error(bad, "a communication node must not be a CPU operation", True)
        bad = self.of(*_MEMORY)
        if bad.any() and not self.machine.has_remote_memory:
            rule = "a remote memory node needs a memory-type other than NO_MEMORY_EXPANSION"
            raise self.error(bad, rule, "NO_MEMORY_EXPANSION")
        self._check_attributes()

    def _check_attributes(self) -> None:
        require = self.trace.require
        require("comm_size", self._rows(self.of(*_SIZED)), what="a communication node")
        require("tensor_size", self._rows(self.of(*_MEMORY)), what="a memory node")
        require("comm_type", self._rows(self.of(NodeKind.COLLECTIVE)), what="a collective")
        for kind, peer, what in (
            (NodeKind.SEND, "comm_dst", "a send"),
            (NodeKind.RECV, "comm_src", "a receive"),
        ):
            require(peer, self._rows(self.of(kind)), what=what)
            require("comm_tag", self._rows(self.of(kind)), what=what)
        for name in ("comm_priority", "pg_name", "involved_dim"):
            rows = self._rows(self.of(NodeKind.COLLECTIVE)) & self.trace.has(name)
            require(name, rows, what="a collective")
        require("is_cpu_op", self.trace.has("is_cpu_op"), what="a node")
        bad = self.of(*_SIZED) & (self.size < 0)
        if bad.any():
            raise self.error(bad, "comm_size must be 0 bytes or more", int(self.size[bad][0]))

    def comm_kind(self) -> NDArray[np.int8]:
        """(T,) int8 collective kinds; a replayed node is like a broadcast: it lasts its time."""
        kinds = np.full(self.kind.size, -1, np.int8)
        if self.machine.system.replay_only:
            slotted = ~self.of(NodeKind.COMPUTE, NodeKind.RECV)
            kinds[slotted] = CollectiveKind.BROADCAST
            return kinds
        collective = self.of(NodeKind.COLLECTIVE)
        values = self.column("comm_type")
        bad = collective & ~_one_of(values, tuple(CollectiveKind))
        if bad.any():
            known = ", ".join(f"{kind.value} {kind.name}" for kind in CollectiveKind)
            raise self.error(bad, f"comm_type must be one of {known}", int(values[bad][0]))
        kinds[collective] = values[collective]
        return kinds

    def involved(self) -> Ints:
        """(T,) int64, bits of the dimensions that a collective runs over; all by default."""
        everything = (1 << self.machine.dimensions) - 1
        bits = np.full(self.kind.size, everything, np.int64)
        listed = self.of(NodeKind.COLLECTIVE) & self.has("involved_dim")
        flags = self.trace.involved_flags[self.graph.rows]
        for kind, needed in self._logical_dimensions().items():
            short = listed & (flags < needed) & (self.group == 0)
            short &= self.column("comm_type") == kind
            if short.any():
                rule = f"involved_dim needs a flag for each of {needed} dimensions"
                raise self.error(short, rule, f"{int(flags[short][0])} flags")
        bits[listed] = self.column("involved_dim")[listed] & everything
        return bits

    def _logical_dimensions(self) -> dict[int, int]:
        """How many dimensions the algorithms of each kind cover: ``oneX`` is the last of a list."""
        covered = {}
        for kind, names in self.machine.system.options.algorithms.items():
            whole = [d for d, name in enumerate(names) if name.startswith("one")]
            covered[kind] = min([len(names), self.machine.dimensions, *(d + 1 for d in whole)])
        return covered

    def peers(self) -> Ints:
        """(T,) int64, destination of a send and source of a receive, else -1."""
        peer = np.full(self.kind.size, -1, np.int64)
        if self.machine.system.replay_only:
            return peer
        for kind, name in ((NodeKind.SEND, "comm_dst"), (NodeKind.RECV, "comm_src")):
            nodes = self.of(kind)
            peer[nodes] = self.column(name)[nodes]
        ends = self.of(NodeKind.SEND, NodeKind.RECV)
        bad = ends & ((peer < 0) | (peer >= self.machine.npus))
        if bad.any():
            rule = f"the other end must be an NPU from 0 to {self.machine.npus - 1}"
            raise self.error(bad, rule, int(peer[bad][0]))
        return peer

    def own_ids(self) -> tuple[int, ...]:
        """NPU ids that sends name as their source, and receives as their destination."""
        if self.machine.system.replay_only:
            return ()
        found: set[int] = set()
        for kind, name in ((NodeKind.SEND, "comm_src"), (NodeKind.RECV, "comm_dst")):
            nodes = self.of(kind) & self.has(name)
            found.update(self.column(name)[nodes].tolist())
        return tuple(sorted(found))

    def roofline(self) -> RooflineTimes | None:
        """What the compute model says, or None where it is off; a replay asks it for nothing."""
        system = self.machine.system
        if system.roofline is None:
            return None
        used = self.of(NodeKind.COMPUTE) & ~self.on_cpu & (not system.replay_only)
        for name in ("num_ops", "tensor_size"):
            self.trace.require(name, self._rows(used), what="roofline-enabled: a compute node")
        for name in ("num_ops", "tensor_size"):
            bad = used & (self.column(name) < 0)
            if bad.any():
                raise self.error(bad, f"{name} must be 0 or more", int(self.column(name)[bad][0]))
        times = _roofline_times(
            used, self.column("num_ops"), self.column("tensor_size"), system.roofline
        )
        bad = times.duration_ns >= LONGEST_NS
        if bad.any():
            raise self.error(bad, "a compute node must last less than 2^61 ns", "more")
        return times

    def replayed_ns(self, roofline: RooflineTimes | None) -> Ints:
        """(T,) int64, time that counts as computing on the accelerator, else 0."""
        if self.machine.system.replay_only:
            return np.where(self.on_cpu | self.of(NodeKind.METADATA), 0, self.recorded_ns)
        compute = self.of(NodeKind.COMPUTE) & ~self.on_cpu
        ns = self.recorded_ns if roofline is None else roofline.duration_ns
        return np.where(compute, ns, 0)

    def program(
        self, roofline: RooflineTimes | None, keys: Mapping[int, int], groups: Groups
    ) -> Program:
        """The program for the engine."""
        duration = self.recorded_ns.copy()
        skipped = self.of(NodeKind.INVALID)
        kind = self.kind.astype(np.int8)
        if self.machine.system.replay_only:
            skipped = np.zeros(kind.size, np.bool_)
            kind[~self.of(NodeKind.COMPUTE, NodeKind.RECV)] = NodeKind.COLLECTIVE
        elif roofline is not None:
            duration[roofline.used] = roofline.duration_ns[roofline.used]
            skipped = skipped | (roofline.used & (self.column("tensor_size") == 0))
        self._end_metadata_at_once(kind, duration)
        rows, replays = self.graph.rows, self.machine.system.replay_only
        nothing = np.zeros(rows.size, np.int64)
        size = np.where(self.of(*_MEMORY), self.column("tensor_size"), self.size)
        return Program(
            node_id=self.graph.ids,
            kind=kind,
            on_cpu=self.on_cpu | self.of(NodeKind.METADATA),
            skipped=skipped,
            duration_ns=duration,
            comm_kind=self.comm_kind(),
            size_bytes=nothing if replays else size,
            priority=self.column("comm_priority"),
            group=nothing if replays else group_keys(self.trace, rows, keys, groups),
            involved_dims=nothing if replays else self.involved(),
            peer=self.peers(),
            tag=self.column("comm_tag"),
            dep_start=self.graph.dep_start,
            dep=self.graph.dep,
            name=NodeNames(self.trace, rows=rows),
        )

    def _end_metadata_at_once(self, kind: NDArray[np.int8], duration: Ints) -> None:
        # A CPU node of 0 ns, so that its children start: ASTRA-sim ends the program here.
        metadata = self.of(NodeKind.METADATA)
        kind[metadata] = NodeKind.COMPUTE
        duration[metadata] = 0


def _roofline_times(
    used: Flags, num_ops: Ints, tensor_size: Ints, model: Roofline
) -> RooflineTimes:
    # Each double operation stands in ASTRA-sim's order; the truncated result depends on it.
    peak, bandwidth = model.peak_flop_per_s, model.mem_bytes_per_s
    timed = used & (tensor_size > 0)
    ops = np.where(timed, num_ops, 0).astype(np.float64)
    moved = np.where(timed, tensor_size, 1).astype(np.float64)
    intensity = ops / moved
    perf = np.minimum(bandwidth * intensity, peak)
    works = timed & (ops > 0)
    safe = np.where(works, perf, 1.0)
    # without operations only the memory is busy (ASTRA-sim divides 0 by 0 here)
    seconds = np.where(works, ops / safe, np.where(timed, moved / bandwidth, 0.0))
    return RooflineTimes(
        used=used,
        duration_ns=np.minimum(seconds * 1e9, LONGEST_NS).astype(np.int64),
        compute_bound=works & (perf >= peak),
        compute_utilization=np.where(works, perf / peak, 0.0),
        memory_utilization=np.where(
            works, (perf / np.where(works, intensity, 1.0)) / bandwidth, timed * 1.0
        ),
        flop_per_byte=intensity,
    )

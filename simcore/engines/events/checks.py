"""Refuses inputs that the unfolded engine could only crash on."""

from collections.abc import Iterable, Mapping
from math import prod

import numpy as np

from simcore.engines.events.input import (
    CustomCollectives,
    EngineInput,
    Flags,
    GridGroup,
    Ints,
    ListGroup,
    SharedBus,
)
from simcore.engines.events.phases import POLICIES
from simcore.engines.events.programs import LASTS, Program, Programs
from simcore.errors import ConfigError
from simcore.kernels.events import layout
from simcore.network import BACKENDS, check_network
from simcore.terms import CollectiveKind, NodeKind
from simcore.topologies import TOPOLOGIES, check_npus

_SCHEDULING = ("lifo", "fifo", "explicit")
_MOST_SLOTS = 1024
_MOST_CHUNKS = 100_000
_MOST_ORDERED_CHUNKS = 10_000
_MOST_BYTES = 1 << 62
_LONGEST_LATENCY_NS = 1 << 53
_LONGEST_MEMORY_NS = 1 << 60
_LONGEST_BUS_NS = 1 << 40
_MOST_BUS_NS_PER_BYTE = 1e6
_MEMORY_KINDS = ("none", "per_npu", "per_node", "pool", "ports")


def _those(kinds: Iterable[int]) -> Flags:
    """(256,) bool, True at these kinds: to look up a byte is quicker than to search a list."""
    flags = np.zeros(256, np.bool_)
    flags[np.array(list(kinds), np.int8).view(np.uint8)] = True
    return flags


_IS_END = _those((NodeKind.SEND, NodeKind.RECV))
_IN_MEMORY = _those((NodeKind.MEM_LOAD, NodeKind.MEM_STORE))
_GATHERS = _those(kind for kind in CollectiveKind if kind.gathers)
_IS_KNOWN = _those((*CollectiveKind, LASTS))


def check_inputs(inputs: EngineInput) -> None:
    """Check a run before it starts.

    Raises:
        ConfigError: Names the part of the input that breaks a rule.
    """
    _check_network(inputs)
    _check_options(inputs)
    _check_npus(inputs)
    npus = inputs.program_of_npu.size
    for key, group in inputs.groups.items():
        _check_group(key, group, npus, len(inputs.dimensions))
    _check_programs(inputs)
    _check_membership(inputs)
    _check_custom(inputs.custom, npus)


def _require(holds: bool, at: str, rule: str, got: object) -> None:
    if not holds:
        raise ConfigError(at, rule, got=got)


def _check_network(inputs: EngineInput) -> None:
    for d, dimension in enumerate(inputs.dimensions):
        at = f"dimensions[{d}]"
        if dimension.topology not in TOPOLOGIES:
            raise TOPOLOGIES.unknown(dimension.topology, at=at)
        _require(dimension.npus >= 2, at, "must join at least 2 NPUs", dimension.npus)
        try:
            check_npus(TOPOLOGIES[dimension.topology], dimension.topology, dimension.npus)
        except ConfigError as error:
            raise error.under(at) from None
        rate = dimension.bytes_per_ns
        _require(rate > 0, at, "bandwidth must be above 0 B/ns", rate)
        latency_ns = dimension.latency_ns
        rule = "latency must be from 0 to 2^53 ns"
        _require(0 <= latency_ns <= _LONGEST_LATENCY_NS, at, rule, latency_ns)
    if inputs.network is None and inputs.backend not in BACKENDS:
        raise BACKENDS.unknown(inputs.backend, at="backend")
    check_network(inputs.backend_class, inputs.dimensions)


def _check_options(inputs: EngineInput) -> None:
    options = inputs.options
    rule = f"must be one of {', '.join(_SCHEDULING)}"
    _require(options.scheduling in _SCHEDULING, "scheduling", rule, options.scheduling)
    most = _MOST_CHUNKS if options.inter_dimension == "ascending" else _MOST_ORDERED_CHUNKS
    rule = f"must be at most {most}"
    _require(options.chunks <= most, "chunks", rule, options.chunks)
    active, queues = options.active_chunks_per_dimension, options.queues_per_dimension
    _require(active >= 1, "active_chunks_per_dimension", "must be 1 or more", active)
    _require(1 <= queues < 1 << 16, "queues_per_dimension", "must be 1 or more", queues)
    rule = f"must be one of {', '.join(POLICIES)}"
    order = options.inter_dimension
    _require(order in POLICIES, "inter_dimension", rule, order)
    _check_slots(inputs)
    delay_ns = options.endpoint_delay_ns
    _require(delay_ns >= 0, "endpoint_delay", "must be 0 ns or more", delay_ns)
    kind = inputs.remote_memory.kind
    rule = f"must be one of {', '.join(_MEMORY_KINDS)}"
    _require(kind in _MEMORY_KINDS, "remote_memory.kind", rule, kind)
    per_node = inputs.remote_memory.npus_per_node
    _require(per_node >= 1, "remote_memory.npus_per_node", "must be 1 or more", per_node)
    latency_ns = inputs.remote_memory.latency_ns
    rule = "must be from 0 to 2^60 ns"
    _require(0 <= latency_ns <= _LONGEST_MEMORY_NS, "remote_memory.latency", rule, latency_ns)
    if options.shared_bus is not None:
        _check_bus(options.shared_bus)


def _check_bus(bus: SharedBus) -> None:
    for name in ("latency_ns", "overhead_ns", "gap_ns", "local_reduction_delay_ns"):
        value = getattr(bus, name)
        _require(0 <= value <= _LONGEST_BUS_NS, f"shared_bus.{name}", "must be 0 to 2^40", value)
    gap = bus.gap_ns_per_byte
    rule = f"must be from 0 to {_MOST_BUS_NS_PER_BYTE:.0f} ns per byte"
    _require(0 <= gap <= _MOST_BUS_NS_PER_BYTE, "shared_bus.gap_ns_per_byte", rule, gap)


def _check_slots(inputs: EngineInput) -> None:
    options = inputs.options
    slots, streams = options.compute_slots, options.communication_streams
    rule = f"must be from 1 to {_MOST_SLOTS}"
    _require(1 <= slots <= _MOST_SLOTS, "compute_slots", rule, slots)
    _require(1 <= streams <= _MOST_SLOTS, "communication_streams", rule, streams)
    custom = inputs.custom.by_kind or inputs.custom.by_node
    rule = "custom collectives need 1, as they run one at a time"
    _require(streams == 1 or not custom, "communication_streams", rule, streams)


def _check_npus(inputs: EngineInput) -> None:
    npus = prod(d.npus for d in inputs.dimensions)
    index = inputs.program_of_npu
    rule = f"needs a program for each of {npus} NPUs"
    _require(index.shape == (npus,), "program_of_npu", rule, index.shape)
    fits = bool(((index >= 0) & (index < len(inputs.programs))).all())
    _require(fits, "program_of_npu", "must number the programs", int(index.max()))
    start_ns = inputs.start_ns
    if start_ns is not None:
        _require(start_ns.shape == (npus,), "start_ns", f"needs {npus} times", start_ns.shape)
        _require(bool((start_ns >= 0).all()), "start_ns", "must be 0 or more", int(start_ns.min()))


def _check_group(key: int, group: ListGroup | GridGroup, npus: int, dimensions: int) -> None:
    at = f"groups[{key}]"
    _require(key != 0, at, "the key 0 stands for all NPUs", key)
    if isinstance(group, GridGroup):
        rule = f"extent and stride need {dimensions} entries"
        shapes = (group.extent.shape, group.stride.shape)
        _require(shapes == ((dimensions,), (dimensions,)), at, rule, shapes)
        return
    members = group.members
    _require(members.size > 0, at, "must have members", [])
    inside = bool(((members >= 0) & (members < npus)).all())
    _require(inside, at, f"members must be NPU ids from 0 to {npus - 1}", int(members.max()))
    distinct = len(set(members.tolist()))
    _require(distinct == members.size, at, "members must be distinct", members.tolist())


def _check_programs(inputs: EngineInput) -> None:
    """Check the nodes of all programs; an error names the first that breaks the rule."""
    programs = inputs.table
    _refuse_metadata(programs)
    rows = _TransferErrors(programs)
    bodies, transfers = programs.bodies, programs.transfers
    npus = inputs.program_of_npu.size
    kind, comm_kind = transfers.kind.view(np.uint8), transfers.comm_kind.view(np.uint8)
    ends = _IS_END[kind]
    replayed = (transfers.kind == NodeKind.RECV) & (transfers.peer < 0)
    bad = ends & ~replayed & ((transfers.peer < 0) | (transfers.peer >= npus))
    rows.refuse(bad, f"the peer must be an NPU id below {npus}", transfers.peer)
    collective = transfers.kind == NodeKind.COLLECTIVE
    on_network = ends & ~replayed
    on_network |= collective & (transfers.comm_kind != LASTS)
    on_cpu = np.zeros(on_network.size, np.bool_)
    on_cpu[on_network] = bodies.slot[rows.nodes[on_network]] == layout.SLOT_CPU
    rows.refuse(on_cpu, "communication cannot be CPU work", on_cpu)
    size = transfers.size_bytes
    rows.refuse(size < 0, "must be 0 bytes or more", size)
    gathers = collective & _GATHERS[comm_kind]
    rule = f"what {npus} NPUs gather must be at most 2^62 bytes"
    rows.refuse(gathers & (size > _MOST_BYTES // npus), rule, size)
    rows.refuse(size > _MOST_BYTES, "must be at most 2^62 bytes", size)
    rule = f"the collective must be one of {[int(k) for k in CollectiveKind]}"
    rows.refuse(collective & ~_IS_KNOWN[comm_kind], rule, transfers.comm_kind)
    known = np.array([0, *inputs.groups], np.int64)
    rule = "the group must be defined"
    rows.refuse(collective & ~np.isin(transfers.group, known), rule, transfers.group)
    memory = _IN_MEMORY[kind] & (inputs.remote_memory.kind == "none")
    rows.refuse(memory, "needs a remote memory, but there is none", transfers.kind)


def _refuse_metadata(programs: Programs) -> None:
    """Refuse a METADATA node of a body; the error names the first program that runs it."""
    bodies = programs.bodies
    for row in np.flatnonzero(bodies.kind == NodeKind.METADATA)[:1].tolist():
        body = int(np.searchsorted(bodies.first, row, side="right")) - 1
        index = int(np.argmax(programs.body_of == body))
        at = place(programs[index], row - int(bodies.first[body]), f"programs[{index}]")
        raise ConfigError(at, "cannot be run", got="METADATA")


class _TransferErrors:
    """Errors about what programs communicate.

    Attributes:
        nodes: (C,) int64, the node of each row among those of all bodies.
    """

    def __init__(self, programs: Programs) -> None:
        self._programs = programs
        first = programs.bodies.first[programs.body_of]
        self.nodes: Ints = first[programs.transfers.program] + programs.transfers.at

    def refuse(self, bad: Flags, rule: str, values: np.ndarray) -> None:
        if not bad.any():
            return
        row = int(np.argmax(bad))
        index = int(self._programs.transfers.program[row])
        position = int(self._programs.transfers.at[row])
        at = place(self._programs[index], position, f"programs[{index}]")
        raise ConfigError(at, rule, got=values[row].item())


def place(program: Program, position: int, at: str) -> str:
    """Node as messages call it: its id, and its name where it has one."""
    name = f" ({program.name[position]})" if program.name else ""
    return f"{at} node {int(program.node_id[position])}{name}"


def _check_membership(inputs: EngineInput) -> None:
    """Only members may issue the collectives of a list group."""
    order = np.argsort(inputs.program_of_npu, kind="stable")
    bounds = np.searchsorted(inputs.program_of_npu[order], np.arange(len(inputs.programs) + 1))
    members: dict[int, set[int]] = {}
    programs, keys, _ = inputs.table.groups()
    for index, key in zip(programs.tolist(), keys.tolist(), strict=True):
        group = inputs.groups.get(key)
        if not isinstance(group, ListGroup):
            continue
        if key not in members:
            members[key] = set(group.members.tolist())
        for npu in order[bounds[index] : bounds[index + 1]].tolist():
            if npu not in members[key]:
                rule = f"group {key} does not hold this NPU"
                raise ConfigError(f"programs[{index}]", rule, got=npu)


def _check_custom(custom: CustomCollectives, npus: int) -> None:
    tables: list[Mapping[int, tuple[Program, ...]]] = [custom.by_kind, custom.by_node]
    for table in tables:
        for key, programs in table.items():
            for place_in_group, program in enumerate(programs):
                at = f"custom collective {key}, position {place_in_group}"
                kinds = (NodeKind.COMPUTE, NodeKind.SEND, NodeKind.RECV)
                fits = np.isin(program.kind, kinds)
                for position in np.flatnonzero(~fits)[:1].tolist():
                    rule, got = "must be compute, send or receive", program.kind[position].item()
                    raise ConfigError(place(program, position, at), rule, got=got)
                free = np.diff(program.dep_start) == 0
                _require(bool(free.any()), at, "needs a node without dependencies", "none")

"""Writes the arena in which the unfolded engine runs: network, options, NPUs and tables."""

from math import prod

import numpy as np

from simcore.engines.collectives.scheduled import ScheduledPhase
from simcore.engines.events.input import EngineInput, Representatives, SharedBus
from simcore.engines.events.writer import ArenaWriter, Image, Written
from simcore.kernels.collectives.topology_codes import TABLE
from simcore.kernels.events import layout
from simcore.kernels.events.layout import Floats, Ints
from simcore.kernels.events.structures.set_layout import set_words
from simcore.kernels.native import call
from simcore.network import NetworkDimension
from simcore.terms import NodeKind
from simcore.topologies import TOPOLOGIES, distances

_SCHEDULING = {"lifo": 0, "fifo": 1, "explicit": 2}
_SPARE_WORDS = 4096
_WORDS_PER_NPU = 512  # for what happens; what a run does not touch takes no memory
_UNLIMITED = 1 << 62


def build_arena(
    inputs: EngineInput, simulated: Representatives
) -> tuple[Ints, Floats, list[ScheduledPhase]]:
    """The arena of a run, ready for its first event, the rates that go with it, and schedules.

    Args:
        inputs: The run, which has been checked.
        simulated: The NPUs that are simulated.

    Raises:
        ConfigError: The input breaks a rule.
    """
    image = Image()
    _write_network(image, inputs)
    _write_options(image, inputs)
    writer = ArenaWriter(image, inputs)
    written = writer.write(simulated.programs, simulated.seen)
    _write_npus(image, inputs, simulated, written, writer)
    if simulated.folded:
        writer.write_stand_ins(simulated)
    reserve, burst = _reserve(inputs, simulated, writer)
    image.words[layout.RESERVE_WORDS] = reserve
    image.words[layout.BURST] = burst
    starts = 1 if inputs.start_ns is None else np.unique(inputs.start_ns).size
    _write_tables(image, burst + starts)
    arena = image.finished(2 * reserve + simulated.npus.size * _WORDS_PER_NPU)
    return arena, _rates(inputs), writer.schedules


def _write_network(image: Image, inputs: EngineInput) -> None:
    table = [_dimension(image, d) for d in inputs.dimensions]
    words = image.words
    words[layout.DIMENSION_TABLE] = image.add(table)
    words[layout.DIMENSIONS] = len(table)
    words[layout.NPUS] = prod(d.npus for d in inputs.dimensions)
    words[layout.BACKEND] = inputs.backend_class.kernel_code
    words[layout.NPUS_INSIDE] = inputs.network.npus_inside if inputs.network else 0
    words[layout.HORIZON_NS] = layout.LAST_NS
    words[layout.COUNTS_BYTES] = int(inputs.backend_class.counts_bytes)


def _dimension(image: Image, over: NetworkDimension) -> list[int]:
    """The DIM_WORDS of a dimension."""
    shape = TOPOLOGIES[over.topology]
    if shape.kernel_code != TABLE:
        return [shape.kernel_code, over.npus, 0, 0, 0]
    routes = shape.next_nodes(over.npus)
    hops_at = image.add(distances(shape, over.npus).ravel())
    routes_at = image.add(routes.astype(np.int64).ravel())
    return [TABLE, over.npus, routes.shape[0], hops_at, routes_at]


def _write_options(image: Image, inputs: EngineInput) -> None:
    options, memory, words = inputs.options, inputs.remote_memory, image.words
    queues = options.queues_per_dimension
    words[layout.RENDEZVOUS] = int(options.rendezvous)
    words[layout.EMPTY_GATHERS_WAIT] = int(options.reference_quirks)
    words[layout.CHUNKS] = options.chunks
    words[layout.GATHERED] = int(options.inter_dimension != "ascending")
    words[layout.SCHEDULING] = _SCHEDULING[options.scheduling]
    words[layout.ACTIVE_LIMIT] = -(-options.active_chunks_per_dimension // queues)
    words[layout.QUEUES] = queues
    limits = {
        layout.SLOT_CPU: 1,
        layout.SLOT_COMPUTE: options.compute_slots,
        layout.SLOT_COMM: options.communication_streams,
        layout.SLOT_NONE: _UNLIMITED,
    }
    for slot, limit in limits.items():
        words[layout.SLOT_LIMITS + slot] = limit
    words[layout.RECORD_NODES] = int(inputs.record_nodes)
    words[layout.ENDPOINT_DELAY_NS] = options.endpoint_delay_ns
    words[layout.MEMORY_LATENCY_NS] = memory.latency_ns
    words[layout.MEMORY_BYTES_PER_NS] = memory.bytes_per_ns
    if memory.kind not in ("none", "per_npu"):
        npus = inputs.program_of_npu.size
        each = {"per_node": memory.npus_per_node, "pool": npus, "ports": memory.ports}[memory.kind]
        servers = npus * each if memory.kind == "ports" else -(-npus // each)
        words[layout.NPUS_PER_SERVER] = each
        servers_at = image.add(np.zeros(servers * layout.SERVER_WORDS, np.int64))
        words[layout.MEMORY_SERVERS] = servers_at
    if options.shared_bus is not None:
        words[layout.BUS_LATENCY_NS] = options.shared_bus.latency_ns
        words[layout.BUS_OVERHEAD_NS] = options.shared_bus.overhead_ns
        words[layout.BUS_GAP_NS] = options.shared_bus.gap_ns
        words[layout.BUS_REDUCTION_NS] = options.shared_bus.local_reduction_delay_ns


def _rates(inputs: EngineInput) -> Floats:
    bus = inputs.options.shared_bus or SharedBus()
    rates = [inputs.options.local_mem_bytes_per_ns * 1e9, bus.gap_ns_per_byte]
    for dimension in inputs.dimensions:
        rates += [dimension.bytes_per_ns, dimension.latency_ns]
    return np.array(rates, np.float64)


def _write_npus(
    image: Image,
    inputs: EngineInput,
    simulated: Representatives,
    written: Written,
    writer: ArenaWriter,
) -> None:
    """The NPUs, the segments that each of them owns, and their start events."""
    npus = simulated.npus.size
    dimensions, queues = len(inputs.dimensions), inputs.options.queues_per_dimension
    trees = writer.trees
    own = dimensions * (queues * layout.QUEUE_WORDS + layout.ROUND_WORDS) + len(trees)
    before = layout.NPU_WORDS_BEFORE if simulated.folded else 0
    rows = np.zeros((npus, before + layout.NPU_WORDS + own), np.int64)
    table = rows[:, before:]
    rows[:, rows.shape[1] - len(trees) :] = trees
    lengths = _segment_words(inputs, simulated, written, writer.custom_nodes)
    table_at = image.add(rows) + before
    own_parts = image.reserve(np.stack(list(lengths.values()), axis=1).reshape(-1))
    table[:, list(lengths)] = own_parts.reshape(npus, len(lengths))
    if inputs.options.shared_bus is None:
        table[:, layout.NPU_BUS] = 0
    else:
        image.later.append(lambda arena: _fill_buses(arena, table, table_at))
    table[:, layout.NPU_ID] = simulated.npus
    table[:, layout.NPU_PROGRAM] = written.at[simulated.program_of]
    table[:, layout.NPU_FINISH_NS] = -1
    busy = layout.NPU_ACCOUNTS + layout.ACCOUNT_BUSY_NS
    table[:, busy : layout.NPU_WORDS : layout.ACCOUNT_WORDS] = -1
    if simulated.folded:
        rows[:, before + layout.NPU_ALIKE] = simulated.alike
        image.words[layout.TIE_NS] = -1
        image.words[layout.PLACES] = image.add(table_at + simulated.class_of_npu * rows.shape[1])
    image.words[layout.NPU_TABLE] = table_at
    image.words[layout.NPU_STRIDE] = rows.shape[1]
    times = lengths[layout.NPU_START]
    image.later.append(lambda arena: _fill(arena, table, simulated, times=times))


def _segment_words(
    inputs: EngineInput, simulated: Representatives, written: Written, custom_nodes: int
) -> dict[int, Ints]:
    """Length of each NPU's own segments, by the field that holds where they begin."""
    nodes = simulated.programs.sizes[simulated.program_of]
    times = nodes if inputs.record_nodes else np.zeros_like(nodes)
    custom = layout.CUSTOM_WORDS + custom_nodes + set_words(custom_nodes) if custom_nodes else 0
    bus = 4 * layout.END_WORDS if inputs.options.shared_bus else 0
    return {
        layout.NPU_STATE: nodes,
        layout.NPU_READY: nodes,
        layout.NPU_START: times,
        layout.NPU_END: times,
        layout.NPU_GROUP_COUNTS: written.groups[simulated.program_of],
        layout.NPU_CUSTOM: np.full_like(nodes, custom),
        layout.NPU_BUS: np.full_like(nodes, bus),
    }


def _fill(arena: Ints, table: Ints, simulated: Representatives, *, times: Ints) -> None:
    """Open dependencies of each node, and -1 as the times of nodes never issued or ended."""
    bodies = simulated.programs.bodies
    states = table[:, layout.NPU_STATE].copy()
    of_npu = simulated.programs.body_of[simulated.program_of]
    call("write_states", arena, states, of_npu, bodies.first, bodies.dep_start)
    for column in (layout.NPU_START, layout.NPU_END):
        for first, nodes in zip(table[:, column].tolist(), times.tolist(), strict=True):
            arena[first : first + nodes] = -1


def _fill_buses(arena: Ints, table: Ints, table_at: int) -> None:
    npu_at = table_at + np.arange(table.shape[0]) * (table.strides[0] // table.itemsize)
    for role in range(4):
        end = table[:, layout.NPU_BUS] + role * layout.END_WORDS
        arena[end + layout.END_ROLE] = role
        arena[end + layout.END_NPU] = npu_at


def _reserve(
    inputs: EngineInput, simulated: Representatives, writer: ArenaWriter
) -> tuple[int, int]:
    """Words and distinct times that one event may take at most.

    One event can end a node, which can issue every receive that is free and one collective with all
    of its chunks, of which each queue starts some, each with its packets.
    """
    options = inputs.options
    transfers = simulated.programs.transfers
    received = transfers.program[transfers.kind == NodeKind.RECV]
    receives = int(np.bincount(received, minlength=1).max())
    skipped = bool((simulated.programs.bodies.action == layout.ACTION_SKIP).any())
    skips = int(simulated.programs.sizes.max()) if skipped else 0
    collectives = options.communication_streams
    streams = 2 * max(options.chunks, 1) * collectives
    active = min(options.active_chunks_per_dimension, streams) + options.queues_per_dimension
    started = active * (writer.longest_phase + 1)
    burst = (
        receives
        + streams * (options.inter_dimension != "ascending")
        + 2 * started * collectives
        + writer.custom_nodes
        + 16
    )
    words_per_transfer = 2 * (
        layout.MSG_WORDS
        + layout.EVENT_WORDS
        + layout.MATCH_WORDS
        + layout.HELD_WORDS
        + 2 * layout.FIFO_WORDS
        + 2 * layout.TRANSFER_WORDS
    )
    words = burst * words_per_transfer + skips * layout.EVENT_WORDS
    words += streams * (layout.STREAM_WORDS + writer.most_phases)
    words += collectives * (active * layout.WALK_WORDS + layout.COLLECTIVE_WORDS)
    return int(words) + _SPARE_WORDS, 4 * burst


def _write_tables(image: Image, burst: int) -> None:
    words = image.words
    capacity = 1 << max(burst - 1, 1023).bit_length()
    words[layout.HEAP] = image.add(np.zeros(capacity, np.int64))
    words[layout.HEAP_CAPACITY] = capacity
    words[layout.FIFOS] = image.add(np.zeros(1024, np.int64))
    words[layout.FIFO_CAPACITY] = 1024
    words[layout.MATCHES] = image.add(np.zeros(1024, np.int64))
    words[layout.MATCH_CAPACITY] = 1024

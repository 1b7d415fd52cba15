"""Input and output of the unfolded engine: flat arrays, quantities in bytes and nanoseconds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simcore.collectives import CollectiveAlgorithm, Synthesised
from simcore.engines.collectives.scheduled import Located
from simcore.engines.events.joined import joined
from simcore.engines.events.programs import Program, Programs
from simcore.network import (
    BACKENDS,
    ExternalNetwork,
    NetworkBackend,
    NetworkDimension,
    OnCircuits,
    has_circuits,
)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedBus:
    """LogGP parameters of the local bus model (``model-shared-bus``), in ns and ns/B."""

    latency_ns: int = 0
    overhead_ns: int = 0
    gap_ns: int = 0
    gap_ns_per_byte: float = 0.0
    local_reduction_delay_ns: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenAlgorithm:
    """An algorithm, and whether it runs over the whole machine as one dimension."""

    algorithm: CollectiveAlgorithm
    whole_machine: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemOptions:
    """Ways to cut, order and run collectives; defaults are ASTRA-sim's."""

    scheduling: str = "lifo"  # lifo, fifo, explicit
    local_bw_aware: bool = True
    chunks: int = 1
    active_chunks_per_dimension: int = 1
    queues_per_dimension: int = 1
    endpoint_delay_ns: int = 10
    local_mem_bytes_per_ns: float = 0.0
    algorithms: Mapping[int, tuple[ChosenAlgorithm, ...]] = field(default_factory=dict)
    """Per ``CollectiveKind`` value, the algorithm of each logical dimension."""
    inter_dimension: str = "ascending"
    """Order in which the chunks of a collective pass the dimensions: ascending; round_robin (chunk
    i starts at the i-th dimension, modulo their number); offline_greedy (Themis: where the
    dimensions are least loaded by the chunks before)."""
    compute_slots: int = 1
    """Compute nodes that an NPU runs at once."""
    communication_streams: int = 1
    """Collectives, sends and memory nodes that an NPU runs at once."""
    rendezvous: bool = False
    reference_quirks: bool = False
    """Run what ASTRA-sim runs although it makes no sense: halvingDoubling on other counts than
    powers of two, doubleBinaryTree as an all-to-all, and an all-gather of 0 bytes, which never
    ends."""
    shared_bus: SharedBus | None = None

    @property
    def has_schedules(self) -> bool:
        """True if a collective is synthesised for its network."""
        listed = [one for chosen in self.algorithms.values() for one in chosen]
        return any(isinstance(one.algorithm, Synthesised) for one in listed)

    @property
    def depends_on_sizes(self) -> bool:
        """True if the phases of a collective depend on its size."""
        return self.inter_dimension == "offline_greedy" or self.has_schedules


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ListGroup:
    """A communicator group given as a list: one logical ring in this order (ASTRA-sim "Local")."""

    members: Ints  # (G,) int64, distinct NPU ids


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GridGroup:
    """A group that is a sub-grid of the machine: per dimension, how many NPUs at which stride.

    Member coordinates in dimension d: ``first_d + i * stride[d]`` for i in 0..extent[d]-1. The
    group of NPU r is found from r itself, so one entry describes all parallel groups of an axis.

    Attributes:
        extent: (D,) int64, members along each dimension (1: not involved).
        stride: (D,) int64, distance of neighbouring members in that dimension's coordinate.
    """

    extent: Ints
    stride: Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RemoteMemory:
    """Remote memory model: ``none``, ``per_npu``, ``per_node``, ``pool`` or ``ports``.

    With ``ports`` each NPU has *ports* of its own, and memory nodes say how long they take.
    """

    kind: str = "none"
    latency_ns: int = 0
    bytes_per_ns: int = 0
    npus_per_node: int = 1
    ports: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CustomCollectives:
    """Chakra-defined collectives: the program that each position of a group runs.

    Positions of these programs stand in the order of their file, and dependencies as it lists them
    (data before control): nodes that become free together start in an order that follows from both
    (``issue_order``).

    Attributes:
        by_kind: Per ``CollectiveKind`` value, one program per NPU id (or position in the group).
        by_node: Per node id of the workload, likewise; takes precedence over by_kind.
    """

    by_kind: Mapping[int, tuple[Program, ...]] = field(default_factory=dict)
    by_node: Mapping[int, tuple[Program, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EngineInput:
    """One run of the unfolded engine: every NPU, every message.

    Attributes:
        backend: A name of ``simcore.network.BACKENDS``.
        dimensions: Innermost first; their sizes multiply to N NPUs.
        programs: Distinct programs; whoever reads them finds them as a table.
        program_of_npu: (N,) int64, index into ``programs``.
        groups: Communicator groups by key (never 0); the key 0 is every NPU.
        start_ns: (N,) int64 time at which each NPU starts its program, or None for 0.
        record_nodes: Whether the result holds start and end of every node.
        chunks_before: Chunks of each kind and group that every NPU has been through before; of a
            double binary tree the chunks take turns.
        network: A network made for this run alone, which takes its messages in place of one of
            ``backend``.
        where: (N,) NPU on which each of these runs, in a network outside the kernel; None: that of
            its number.
        on: The same with their network, for collectives that are synthesised; None: likewise.
    """

    backend: str
    dimensions: tuple[NetworkDimension, ...]
    options: SystemOptions
    programs: Sequence[Program]
    program_of_npu: Ints
    groups: Mapping[int, ListGroup | GridGroup] = field(default_factory=dict)
    remote_memory: RemoteMemory = field(default_factory=RemoteMemory)
    custom: CustomCollectives = field(default_factory=CustomCollectives)
    start_ns: Ints | None = None
    record_nodes: bool = True
    chunks_before: int = 0
    network: ExternalNetwork | None = None
    where: Ints | None = None
    on: Located | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "programs", joined(self.programs))

    @property
    def backend_class(self) -> type[NetworkBackend]:
        """The model of the times of messages."""
        if self.network is not None:
            return type(self.network)
        kind = BACKENDS[self.backend]
        return OnCircuits if kind.takes_turns and has_circuits(self.dimensions) else kind

    @property
    def phases_depend_on_sizes(self) -> bool:
        """True if the phases of a collective depend on its size."""
        limited = any(one.in_network is not None for one in self.dimensions)
        return limited or self.options.depends_on_sizes

    @property
    def table(self) -> Programs:
        """The programs."""
        assert isinstance(self.programs, Programs)
        return self.programs


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EngineOutput:
    """Result of a run.

    Attributes:
        finish_ns: (N,) int64, when each NPU finished; -1: it never did.
        node_start_ns: Per NPU, (T,) int64 issue times in program order, -1 where never issued;
            empty when not recorded.
        node_end_ns: Likewise, finish times.
        busy_ns: (N, 5) int64, in how much time at least one node of an account ran: compute,
            communication, CPU work, remote memory, invalid nodes; -1: none ever ran.
        last_end_ns: (N,) int64, when the last node of each NPU ended.
        messages: Messages sent, and received_messages: matched receives.
        sent_bytes, received_bytes: Their sizes added up.
        events: Events that the engine handled.
        empty_messages: Whether a message of 0 bytes was sent.
        waiting: For each unfinished NPU a sentence: node and what it waits for.
        class_of_npu: (N,) int64, NPUs of one class were simulated as one; None: each alone.
        unfolded_because: Why no NPUs were simulated as one though that was tried, or "".
    """

    finish_ns: Ints
    node_start_ns: tuple[Ints, ...]
    node_end_ns: tuple[Ints, ...]
    busy_ns: Ints
    last_end_ns: Ints
    messages: int
    received_messages: int
    sent_bytes: int
    received_bytes: int
    events: int
    empty_messages: bool = False
    waiting: tuple[str, ...] = ()
    class_of_npu: Ints | None = None
    unfolded_because: str = ""

    @property
    def classes(self) -> int:
        """NPUs that were simulated."""
        classes = self.class_of_npu
        return self.finish_ns.size if classes is None else int(classes.max()) + 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Representatives:
    """The NPUs that are simulated; the first NPU of each class stands for all of it.

    Attributes:
        class_of_npu: (N,) int64, class of each NPU of the machine.
        npus: (K,) int64, per class the NPU that stands for it.
        programs: What these run.
        seen: Their sends as the stand-ins of the receivers await them: (C,) int64 tags and (C,)
            int64 senders, in the order of ``programs.transfers``.
        program_of: (K,) int64, index into ``programs``.
        slots: Per program of the input, the keys of its list groups; programs of one class have
            corresponding groups at one place. Empty where nobody stands for others.
    """

    class_of_npu: Ints
    npus: Ints
    programs: Programs
    program_of: Ints
    seen: tuple[Ints, Ints]
    slots: tuple[tuple[int, ...], ...] = ()

    @property
    def folded(self) -> bool:
        """True if an NPU stands for others."""
        return self.npus.size < self.class_of_npu.size

    @property
    def alike(self) -> Ints:
        """(K,) int64, NPUs of each class."""
        return np.bincount(self.class_of_npu, minlength=self.npus.size)


def all_npus(inputs: EngineInput) -> Representatives:
    """Each NPU is simulated and stands for itself."""
    npus = np.arange(inputs.program_of_npu.size)
    nothing = np.zeros(inputs.table.transfers.at.size, np.int64)
    return Representatives(
        class_of_npu=npus,
        npus=npus,
        programs=inputs.table,
        program_of=inputs.program_of_npu,
        seen=(nothing, nothing),
    )

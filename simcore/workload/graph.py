"""The workload graph: one per pipeline stage, in flat arrays.

All NPUs of a stage do the same, so one graph per stage describes every NPU.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.terms import CollectiveKind
from simcore.units import plain_sum
from simcore.workload.base import Workload
from simcore.workload.plan import ParallelPlan


class PassPhase(StrEnum):
    """Part of the iteration that a node belongs to."""

    FORWARD = "forward"
    RECOMPUTE = "recompute"
    BACKWARD = "backward"
    GRADIENTS = "gradients"
    OPTIMIZER = "optimizer"


class Axis(StrEnum):
    """Groups of NPUs that communicate, most of them named after their parallel axis.

    Where ep has dispatch groups, ``ep_node`` joins the NPUs of one and ``ep_rail`` those at the
    same place of all.

    ``dp`` joins the NPUs that hold the same weights, cp included; ``edp`` those that hold the same
    experts; where dp has shards with copies, ``shard`` joins the NPUs of a shard and ``replica``
    those that hold its copies; ``embedding`` the two stages that share a tied token table;
    ``partner`` two replicas that take the mean of their weights; ``tables`` the NPUs over which
    embedding tables are spread.
    """

    TP = "tp"
    CP = "cp"
    DP = "dp"
    SHARD = "shard"
    REPLICA = "replica"
    ETP = "etp"
    EP = "ep"
    EP_NODE = "ep_node"
    EP_RAIL = "ep_rail"
    EDP = "edp"
    PARTNER = "partner"
    PP = "pp"
    EMBEDDING = "embedding"
    TABLES = "tables"


class Kernel(NamedTuple):
    """One kernel as one NPU runs it; there are many, and tuples are made soonest.

    Attributes:
        kind: ``gemm``, ``attention``, ``scan`` (of Mamba), ``elementwise``, ``routing``
            (choosing experts, sorting tokens), ``optimizer``, ``embedding`` or ``host`` (rows in
            the memory of the host).
        flop: A multiply-add is 2.
        bytes: Read and written, each operand once.
        m, n, k: A GEMM multiplies (m, k) by (k, n); attention has m queries, n keys and heads of
            width k; 0 for the other kinds.
        groups: Equal products that one kernel does at once, or sequences of attention; their sum
            is in *flop* and *bytes*.
        format: Number format below 16 bits of the operands of a product, or of the keys and values
            that attention reads, a name of ``FORMATS``; empty: as activations are stored.
        heads, key_heads: Of queries and of keys, of attention.
        beside: It may run at the same time as the other kernels of its operator, on a stream of
            its own; compute models need not.
        held: Weights of which a product in groups meets so many; 0: all.
    """

    name: str
    kind: str
    flop: float
    bytes: float
    m: int = 0
    n: int = 0
    k: int = 0
    groups: int = 1
    format: str = ""
    heads: int = 0
    key_heads: int = 0
    beside: bool = False
    held: int = 0


MATRIX_KERNELS = ("gemm", "attention", "scan")
"""Kinds of kernels whose FLOP are those of matrix products and attention."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """Kernels of a compute node, which run one after another.

    Attributes:
        matrix_flop: FLOP of matrix products and attention.
    """

    name: str
    phase: PassPhase
    kernels: tuple[Kernel, ...]
    matrix_flop: float = field(init=False, repr=False, compare=False)
    # a plan asks for its two dozen operators again and again, and each has some fifty numbers
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        flop = plain_sum([one.flop for one in self.kernels if one.kind in MATRIX_KERNELS])
        object.__setattr__(self, "matrix_flop", flop)
        object.__setattr__(self, "_hash", hash((self.name, self.phase, self.kernels)))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[object, ...]:
        """Parts to make it of in another process, where hashes are others."""
        return partial(Operator, name=self.name, phase=self.phase, kernels=self.kernels), ()

    @property
    def flop(self) -> float:
        return plain_sum(kernel.flop for kernel in self.kernels)

    @property
    def bytes(self) -> float:
        return plain_sum(kernel.bytes for kernel in self.kernels)


class CollectiveOp(NamedTuple):
    """Work of a collective node; a plan has some thirty, which are looked up by what they are.

    Attributes:
        axis: The group of NPUs, a key of ``TrainingGraph.groups``.
        size_bytes: All-gather: the shard of one NPU; otherwise the full buffer (ASTRA-sim's rule).
    """

    name: str
    kind: CollectiveKind
    axis: Axis
    size_bytes: int
    phase: PassPhase


class Way(StrEnum):
    """Direction of a transfer between an NPU and a tier of memory outside it.

    ``update``: nothing moves; what is in the tier is updated there.
    """

    LOAD = "load"
    STORE = "store"
    UPDATE = "update"


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferOp:
    """Work of a node that moves data of one NPU into or out of a tier of memory.

    Attributes:
        tier: Name of the tier, one of ``Platform.tiers``.
        size_bytes: Of one NPU; of an update, all that is read and written in the tier.
        merged: The replicas of the dp group move the same data, or data that is to be added up.
    """

    name: str
    tier: str
    way: Way
    size_bytes: int
    phase: PassPhase
    merged: bool = False

    @property
    def port(self) -> tuple[str, Way]:
        """The port that it passes, one transfer at a time."""
        return self.tier, self.way

    @property
    def category(self) -> str:
        """Name under which its time is booked."""
        return f"{self.tier}_{self.way}"


def ports_of(transfers: Iterable[TransferOp]) -> dict[tuple[str, Way], int]:
    """Numbers of the ports that *transfers* pass, in the order of their names."""
    found = sorted({transfer.port for transfer in transfers})
    return {port: number for number, port in enumerate(found)}


class GroupLayout(NamedTuple):
    """A group of NPUs: ``base + i * stride`` for i in 0..size-1, one group per base."""

    axis: Axis
    stride: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StageGraph:
    """The nodes that each NPU of one stage executes.

    Positions are priorities: of the nodes that are ready, the lowest position goes first. N
    nodes, E dependencies, every dependency points to a lower position.

    Attributes:
        stage: 0 is the first.
        layers: The model's layers that this stage holds, in order.
        kind: (N,) int8, ``NodeKind`` values: COMPUTE, COLLECTIVE, SEND, RECV, MEM_LOAD, MEM_STORE
            (this one also of updates in a tier).
        item: (N,) int32, index into ``TrainingGraph.operators``, ``.collectives`` or
            ``.transfers``; -1: p2p.
        size_bytes: (N,) int64, of all but compute nodes, whose is 0.
        peer_stage: (N,) int32, the other stage of a send or receive, else -1.
        tag: (N,) int64, same for a send and its receive and for no other pair, else -1.
        microbatch: (N,) int32, -1 where a node serves none.
        layer: (N,) int32, -1 where a node serves none.
        unit_start: (U + 1,) int64, where each unit of the pipeline schedule begins; the last one
            is the end of the iteration (gradient reduction and optimizer).
        dep_start: (N + 1,) int64, and dep: (E,) int32: node i waits for the positions
            ``dep[dep_start[i]:dep_start[i + 1]]``, which are distinct.
    """

    stage: int
    layers: tuple[int, ...]
    kind: NDArray[np.int8]
    item: NDArray[np.int32]
    size_bytes: NDArray[np.int64]
    peer_stage: NDArray[np.int32]
    tag: NDArray[np.int64]
    microbatch: NDArray[np.int32]
    layer: NDArray[np.int32]
    unit_start: NDArray[np.int64]
    dep_start: NDArray[np.int64]
    dep: NDArray[np.int32]

    @property
    def nodes(self) -> int:
        return int(self.kind.size)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainingGraph:
    """One training iteration: a graph per stage and the tables that its nodes point into."""

    workload: Workload
    plan: ParallelPlan
    stages: tuple[StageGraph, ...]
    operators: tuple[Operator, ...]
    collectives: tuple[CollectiveOp, ...]
    groups: Mapping[Axis, GroupLayout]
    transfers: tuple[TransferOp, ...] = ()

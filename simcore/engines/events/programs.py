"""Programs of NPUs: one by one, and as the table in which the engine takes those of a machine.

Of programs that differ only in what their communication is about (peers, tags, groups, sizes) the
table holds the nodes once. It takes some 26 bytes per node, and 8 for each dependency.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.events import layout
from simcore.kernels.native import call
from simcore.terms import NodeKind

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Small = NDArray[np.int8]
Codes = NDArray[np.uint8]
Positions = NDArray[np.int32]
Names = Callable[[NDArray[np.uint64]], Sequence[str]]
"""The names of nodes by their ids."""

LASTS = -2
"""In place of a collective's kind: it takes the time of its node."""

_COMMUNICATES = np.zeros(256, np.bool_)
_COMMUNICATES[[NodeKind.MEM_LOAD, NodeKind.MEM_STORE, NodeKind.SEND]] = True
_COMMUNICATES[[NodeKind.RECV, NodeKind.COLLECTIVE]] = True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Program:
    """The nodes that one NPU (or several alike) executes, in ascending order of node id.

    Shapes: T nodes, E dependencies.

    Attributes:
        node_id: (T,) uint64, ids as in the trace.
        kind: (T,) int8, ``NodeKind`` values.
        on_cpu: (T,) bool, takes the CPU slot.
        skipped: (T,) bool, finishes inside the issue walk without an event.
        duration_ns: (T,) int64; how long a compute node (or a replayed one) lasts.
        comm_kind: (T,) int8, ``CollectiveKind`` value of a collective, or ``LASTS``; else -1.
        size_bytes: (T,) int64, of collective, send, receive and memory nodes.
        priority: (T,) int64, used by EXPLICIT scheduling.
        group: (T,) int64, key of the communicator group; 0 means all NPUs.
        involved_dims: (T,) int64, bit d set: the collective runs over dimension d.
        peer: (T,) int64, destination of a send, source of a receive, else -1.
        tag: (T,) int64.
        dep_start: (T + 1,) int64, and dep: (E,) int64: node t waits for the positions
            ``dep[dep_start[t]:dep_start[t + 1]]`` (distinct, data and control together).
        name: Names of the nodes, or empty.

    A collective of kind ``LASTS`` takes ``duration_ns`` and sends nothing, and so does a receive
    whose peer is -1: that is how a replay is written. A memory node whose peer is not -1 takes
    ``size_bytes`` ns of the port of that number, which its priority names too.
    """

    node_id: NDArray[np.uint64]
    kind: Small
    on_cpu: Flags
    skipped: Flags
    duration_ns: Ints
    comm_kind: Small
    size_bytes: Ints
    priority: Ints
    group: Ints
    involved_dims: Ints
    peer: Ints
    tag: Ints
    dep_start: Ints
    dep: Ints
    name: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bodies:
    """The nodes of S bodies, one after another: B nodes with E dependencies.

    Attributes:
        first: (S + 1,) int64, first node of each body.
        node_id: (B,) uint64.
        kind: (B,) int8, ``NodeKind`` values.
        code: (B,) uint8, action, slot and account, see ``node_codes``.
        duration_ns: (B,) int64.
        dep_start: (B + 1,) int64, where each node's dependencies start in *dep*.
        dep: (E,) int32, positions in the body, distinct and ascending.
    """

    first: Ints
    node_id: NDArray[np.uint64]
    kind: Small
    code: Codes
    duration_ns: Ints
    dep_start: Ints
    dep: Positions

    @property
    def action(self) -> Codes:
        """(B,) uint8, what issuing each node does."""
        return self.code & np.uint8(layout.ACTION_MASK)

    @property
    def slot(self) -> Codes:
        """(B,) uint8, the slot that each node takes."""
        return self.code >> np.uint8(layout.SLOT_SHIFT) & np.uint8(layout.SLOT_MASK)

    @property
    def communicates(self) -> Flags:
        """(B,) bool, whether each node has a row among the programs' transfers."""
        return _COMMUNICATES[self.kind.view(np.uint8)]

    def marks(self) -> NDArray[np.uint64]:
        """(S,) uint64, equal for bodies that are equal but for their ids; else hardly ever."""
        marks = np.empty(self.first.size - 1, np.uint64)
        call(
            "mark_bodies", self.first, self.code, self.duration_ns, self.dep_start, self.dep, marks
        )
        return marks

    def list_words(self) -> Ints:
        """(S,) int64, words that the children of nodes with several take, and their numbers."""
        words = np.empty(self.first.size - 1, np.int64)
        scratch = np.empty(int(np.diff(self.first).max(initial=0)), np.int64)
        call("count_lists", self.first, self.dep_start, self.dep, scratch, words)
        return words

    def take(self, bodies: Ints) -> "Bodies":
        """Some of the bodies, in the order of their numbers in *bodies*."""
        nodes = gathered(self.first, bodies)
        counts = np.diff(self.dep_start)[nodes]
        return Bodies(
            first=starts(np.diff(self.first)[bodies]),
            node_id=self.node_id[nodes],
            kind=self.kind[nodes],
            code=self.code[nodes],
            duration_ns=self.duration_ns[nodes],
            dep_start=starts(counts),
            dep=self.dep[gathered(self.dep_start[self.first], bodies)],
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Transfers:
    """Communication of P programs, one program after another: C nodes.

    Attributes:
        first: (P + 1,) int64, first row of each program.
        at: (C,) int32, position of the node in its program.
        kind: (C,) int8, ``NodeKind`` values; then as in ``Program``.
    """

    first: Ints
    at: Positions
    kind: Small
    comm_kind: Small
    size_bytes: Ints
    priority: Ints
    group: Ints
    involved_dims: Ints
    peer: Ints
    tag: Ints

    @property
    def program(self) -> Ints:
        """(C,) int64, the program of each row."""
        return np.repeat(np.arange(self.first.size - 1), np.diff(self.first))

    def take(self, programs: Ints) -> "Transfers":
        """The rows of some of the programs, in the order of their numbers in *programs*."""
        rows = gathered(self.first, programs)
        columns = {name: getattr(self, name)[rows] for name in COLUMNS}
        return Transfers(first=starts(np.diff(self.first)[programs]), **columns)


COLUMNS = (
    "at", "kind", "comm_kind", "size_bytes", "priority", "group", "involved_dims", "peer", "tag",
)  # fmt: skip
_DEFAULTS = {"comm_kind": -1, "peer": -1}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Programs(Sequence[Program]):
    """P programs.

    Attributes:
        bodies: Their nodes.
        body_of: (P,) int64, the body of each.
        transfers: What they communicate.
        names: Per program, how its nodes are called; or empty.
    """

    bodies: Bodies
    body_of: Ints
    transfers: Transfers
    names: Sequence[Names] = ()

    def __len__(self) -> int:
        return self.body_of.size

    @overload
    def __getitem__(self, index: int) -> Program: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Program, ...]: ...
    def __getitem__(self, index: int | slice) -> Program | tuple[Program, ...]:
        """A program by itself; a copy."""
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        body = self.body_of[index]
        bodies, nodes = self.bodies, slice(*self.bodies.first[body : body + 2].tolist())
        edges = bodies.dep_start[nodes.start : nodes.stop + 1]
        code, size = bodies.code[nodes], nodes.stop - nodes.start
        return Program(
            node_id=bodies.node_id[nodes],
            kind=bodies.kind[nodes],
            on_cpu=(code >> layout.SLOT_SHIFT & layout.SLOT_MASK) == layout.SLOT_CPU,
            skipped=(code & layout.ACTION_MASK) == layout.ACTION_SKIP,
            duration_ns=bodies.duration_ns[nodes],
            dep_start=edges - edges[0],
            dep=bodies.dep[edges[0] : edges[-1]].astype(np.int64),
            name=self.names[index](bodies.node_id[nodes]) if self.names else (),
            **self._spread(index % len(self), size),
        )

    def _spread(self, index: int, size: int) -> dict[str, Any]:
        rows = slice(*self.transfers.first[index : index + 2].tolist())
        at, spread = self.transfers.at[rows], {}
        for name in COLUMNS[2:]:
            values = getattr(self.transfers, name)[rows]
            spread[name] = np.full(size, _DEFAULTS.get(name, 0), values.dtype)
            spread[name][at] = values
        return spread

    @property
    def sizes(self) -> Ints:
        """(P,) int64, nodes of each."""
        return np.diff(self.bodies.first)[self.body_of]

    def take(self, programs: Ints) -> "Programs":
        """Some of the programs, in the order of their numbers in *programs*."""
        if programs.size == len(self) and bool((programs == np.arange(len(self))).all()):
            return self
        bodies, body_of = np.unique(self.body_of[programs], return_inverse=True)
        return Programs(
            bodies=self.bodies.take(bodies),
            body_of=body_of,
            transfers=self.transfers.take(programs),
            names=[self.names[index] for index in programs.tolist()] if self.names else (),
        )

    def transfer_ids(self) -> NDArray[np.uint64]:
        """(C,) uint64, ids of the nodes of ``transfers``."""
        first = self.bodies.first[self.body_of]
        ids: NDArray[np.uint64] = self.bodies.node_id[
            first[self.transfers.program] + self.transfers.at
        ]
        return ids

    def groups(self) -> tuple[Ints, Ints, Ints]:
        """The distinct groups of each program.

        Returns:
            (G,) int64 programs, ascending, (G,) int64 group of each, and (C,) int64, which of
            these pairs each row of ``transfers`` has.
        """
        keys, key_of = np.unique(self.transfers.group, return_inverse=True)
        pairs, pair_of = np.unique(self.transfers.program * keys.size + key_of, return_inverse=True)
        return pairs // max(keys.size, 1), keys[pairs % max(keys.size, 1)], pair_of


def starts(counts: Ints) -> Ints:
    """(N + 1,) int64, where each of N parts starts, and the end, from how long they are."""
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)))


def gathered(first: Ints, parts: Ints) -> Ints:
    """Indices of all elements of the *parts*, of which part p begins at ``first[p]``."""
    counts = np.diff(first)[parts]
    whole = starts(counts)
    return np.arange(whole[-1]) + np.repeat(first[parts] - whole[:-1], counts)


def node_codes(
    kind: Small,
    *,
    on_cpu: Flags,
    skipped: Flags,
    fixed: Flags,
    ported: Flags | None = None,
    account: Codes | None = None,
) -> Codes:
    """(T,) uint8, action, slot and account of each node as in the low bits of its head.

    Args:
        kind: (T,) int8, ``NodeKind`` values.
        on_cpu: (T,) bool, as in ``Program``.
        skipped: (T,) bool, likewise.
        fixed: (T,) bool, lasts its duration whatever its kind.
        ported: (T,) bool, passes a port of its NPU; None: none does.
        account: (T,) uint8, which time it counts to where that does not follow from its kind.
    """
    number = kind.view(np.uint8)
    action = _ACTION[number]
    action[fixed] = layout.ACTION_FIXED
    action[skipped] = layout.ACTION_SKIP
    slot = np.where(on_cpu, layout.SLOT_CPU, _SLOT[number])
    if ported is not None:
        action[ported], slot[ported] = layout.ACTION_PORT, layout.SLOT_NONE
    if account is None:
        account = accounts(kind, on_cpu)
    code = action | slot << layout.SLOT_SHIFT | account << layout.ACCOUNT_SHIFT
    return code.astype(np.uint8)


def accounts(kind: Small, on_cpu: Flags) -> Codes:
    """(T,) uint8, which time a node of this kind counts to."""
    cpu = on_cpu & (kind == NodeKind.COMPUTE)
    return np.where(cpu, layout.ACCOUNT_CPU, _ACCOUNT[kind.view(np.uint8)]).astype(np.uint8)


def _table(default: int, values: dict[NodeKind, int]) -> Codes:
    table = np.full(256, default, np.uint8)
    for kind, value in values.items():
        table[kind] = value
    return table


_ACTION = _table(
    layout.ACTION_FIXED,
    {
        NodeKind.SEND: layout.ACTION_SEND,
        NodeKind.RECV: layout.ACTION_RECV,
        NodeKind.COLLECTIVE: layout.ACTION_COLLECTIVE,
        NodeKind.MEM_LOAD: layout.ACTION_MEMORY,
        NodeKind.MEM_STORE: layout.ACTION_MEMORY,
    },
)
_SLOT = _table(
    layout.SLOT_COMM,
    {NodeKind.COMPUTE: layout.SLOT_COMPUTE, NodeKind.RECV: layout.SLOT_NONE},
)
_ACCOUNT = _table(
    layout.ACCOUNT_COMM,
    {
        NodeKind.COMPUTE: layout.ACCOUNT_GPU,
        NodeKind.METADATA: layout.ACCOUNT_NONE,
        NodeKind.INVALID: layout.ACCOUNT_INVALID,
        NodeKind.MEM_LOAD: layout.ACCOUNT_MEMORY,
        NodeKind.MEM_STORE: layout.ACCOUNT_MEMORY,
    },
)


def fixed_nodes(kind: Small, comm_kind: Small, peer: Ints) -> Flags:
    """(T,) bool, communication that lasts its duration and sends nothing, as a replay has it."""
    fixed: Flags = (comm_kind == LASTS) | ((kind == NodeKind.RECV) & (peer < 0))
    return fixed


def ported_nodes(kind: Small, peer: Ints) -> Flags:
    """(T,) bool, accesses to memory that pass a port of their NPU."""
    ported: Flags = ((kind == NodeKind.MEM_LOAD) | (kind == NodeKind.MEM_STORE)) & (peer >= 0)
    return ported


def node_actions(program: Program) -> Ints:
    """(T,) int64, what issuing each node does."""
    fixed = fixed_nodes(program.kind, program.comm_kind, program.peer)
    code = node_codes(
        program.kind,
        on_cpu=program.on_cpu,
        skipped=program.skipped,
        fixed=fixed,
        ported=ported_nodes(program.kind, program.peer),
    )
    return (code & layout.ACTION_MASK).astype(np.int64)


def distinct_rows(columns: Sequence[Ints]) -> tuple[list[tuple[int, ...]], Ints]:
    """The distinct rows in order of appearance, and which of them each row is."""
    if columns[0].size < 256:  # it is quicker to look at each than to sort them
        place_of: dict[tuple[int, ...], int] = {}
        each = zip(*(column.tolist() for column in columns), strict=True)
        numbers = [place_of.setdefault(row, len(place_of)) for row in each]
        return list(place_of), np.array(numbers, np.int64)
    number = np.zeros(columns[0].size, np.int64)
    for column in columns:
        values, value_of = np.unique(column, return_inverse=True)
        _, number = np.unique(number * values.size + value_of, return_inverse=True)
    _, first, number = np.unique(number, return_index=True, return_inverse=True)
    rank = np.empty(first.size, np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    at = np.sort(first)
    rows = [tuple(row) for row in np.stack([column[at] for column in columns], axis=1).tolist()]
    return rows, rank[number]

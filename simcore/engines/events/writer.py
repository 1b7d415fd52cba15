"""Writes programs, groups and plans into the arena of the unfolded engine."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
from numpy.typing import ArrayLike

from simcore.collectives import PeerRule, Synthesised
from simcore.engines.collectives.phases import BARRIER_BYTES, Phase, cut
from simcore.engines.collectives.scheduled import ScheduledPhase, scheduled_phase
from simcore.engines.collectives.switched import switches_wait_ns
from simcore.engines.events.input import EngineInput, GridGroup, ListGroup, Representatives
from simcore.engines.events.issue_order import hashed_orders
from simcore.engines.events.joined import joined
from simcore.engines.events.phases import collective_phases, phase_words, queue_pass
from simcore.engines.events.programs import Bodies, Program, Programs, distinct_rows, fixed_nodes
from simcore.errors import ConfigError
from simcore.kernels.collectives.records import PEERS_CUSTOM, PEERS_TREE
from simcore.kernels.events import layout
from simcore.kernels.events.layout import FIRST_RECORD, NEXT_WORD, Ints
from simcore.kernels.native import call
from simcore.terms import CollectiveKind, NodeKind


@dataclass(slots=True)
class Image:
    """Words of the arena: globals first, then the parts in the order in which they were added.

    Attributes:
        words: The globals.
        parts: Where each part lies, and what is in it.
        later: Write what is too large to exist twice, once the arena is there.
        size: Words so far.
    """

    words: Ints = field(default_factory=lambda: np.zeros(FIRST_RECORD, np.int64))
    parts: list[tuple[int, Ints]] = field(default_factory=list)
    later: list[Callable[[Ints], object]] = field(default_factory=list)
    size: int = FIRST_RECORD

    def add(self, values: ArrayLike) -> int:
        """Append *values* and return where they lie."""
        part = np.ascontiguousarray(values, dtype=np.int64).reshape(-1)
        at = self.size
        self.parts.append((at, part))
        self.size += part.size
        return at

    def reserve(self, words: Ints) -> Ints:
        """Make room for parts of 0 of these lengths; returns where they lie."""
        ends = self.size + np.cumsum(words)
        if ends.size:
            self.size = int(ends[-1])
        return ends - words

    def finished(self, spare_words: int) -> Ints:
        """The arena, with room for *spare_words* more."""
        arena = np.zeros(self.size + spare_words, np.int64)
        arena[:FIRST_RECORD] = self.words
        for at, part in self.parts:
            arena[at : at + part.size] = part
        for write in self.later:
            write(arena)
        arena[NEXT_WORD] = self.size
        return arena


TAG_RANGE = 500_000_000  # ASTRA-sim folds the tags of sends into this range


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Written:
    """Programs in the arena.

    Attributes:
        at: (P,) int64, where each lies.
        groups: (P,) int64, how many groups it uses.
        words: (P, words) int64, their records.
    """

    at: Ints
    groups: Ints
    words: Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Tables:
    """Addresses of the nodes of each body, and heaps of its slot classes among an NPU's heaps."""

    tables: Ints
    heaps: Ints


class ArenaWriter:
    """Writes each program once, and each plan once however many nodes share it.

    Attributes:
        trees: First values of the tree counters that an NPU needs.
        longest_phase: Packets under way at once, at most.
        most_phases: Phases of a chunk, at most.
        custom_nodes: Nodes of a custom program, at most.
        schedules: Phases whose links are those of a schedule, which the network shares out.
    """

    def __init__(self, image: Image, inputs: EngineInput) -> None:
        self._image, self._inputs = image, inputs
        self._npus = prod(d.npus for d in inputs.dimensions)
        self._keys = [0, *inputs.groups]
        self._group_at: dict[int, int] = {}
        self._plan_at: dict[tuple[int, ...], int] = {}
        self._tree_of: dict[tuple[int, ...], int] = {}
        self._tree_uses: dict[int, int] = {}  # times that one chunk passes a tree
        self._custom_at: dict[int, int] = {}
        self._table_at: dict[tuple[int, ...], int] = {}
        self._lists: dict[int, Ints] = {}
        self._lines: dict[tuple[int, int], int] = {}
        self.longest_phase = 1
        self.most_phases = 1
        self.custom_nodes = 0
        self.schedules: list[ScheduledPhase] = []

    @property
    def trees(self) -> list[int]:
        return [self._inputs.chunks_before * uses % 2 for uses in self._tree_uses.values()]

    def write(self, programs: Programs, seen: tuple[Ints, Ints] | None = None) -> Written:
        """Write programs.

        Args:
            programs: The programs.
            seen: Tags and senders of the sends as stand-ins await them, see ``Representatives``.
        """
        bodies = self._bodies(programs.bodies)
        groups = programs.groups()
        rows = self._details(programs, groups)
        if seen is not None:
            rows[:, layout.DETAIL_SEEN_TAG], rows[:, layout.DETAIL_SEEN_SRC] = seen
        at = self._image.add(rows)
        words = np.zeros((len(programs), layout.PROGRAM_WORDS), np.int64)
        words[:, layout.PROGRAM_NODES] = programs.sizes
        words[:, layout.PROGRAM_TABLE] = bodies.tables[programs.body_of]
        words[:, layout.PROGRAM_DETAILS] = at + programs.transfers.first[:-1] * layout.DETAIL_WORDS
        words[:, layout.PROGRAM_HEAPS :] = bodies.heaps[programs.body_of]
        found = self._image.add(words) + np.arange(len(programs)) * layout.PROGRAM_WORDS
        count = np.bincount(groups[0], minlength=len(programs))
        return Written(at=found, groups=count, words=words)

    def _bodies(self, bodies: Bodies) -> "_Tables":
        """Make room for nodes and children; they are written when the arena exists."""
        nodes = np.diff(bodies.first)
        tables = self._image.reserve(nodes * layout.NODE_WORDS)
        children = self._image.reserve(bodies.list_words())
        self._image.later.append(
            lambda arena: call(
                "write_bodies", arena, bodies.first, bodies.code,
                bodies.communicates.view(np.uint8), bodies.duration_ns, bodies.dep_start,
                bodies.dep, tables, children,
            )
        )  # fmt: skip
        return _Tables(tables=tables, heaps=_heaps(bodies))

    def _details(self, programs: Programs, groups: tuple[Ints, Ints, Ints]) -> Ints:
        """(C, words) int64, what the communication of *programs* is about."""
        transfers = programs.transfers
        owner, _, pair_of = groups
        first = np.searchsorted(owner, np.arange(len(programs)))
        rows = np.zeros((transfers.at.size, layout.DETAIL_WORDS), np.int64)
        barrier = transfers.comm_kind == CollectiveKind.BARRIER
        rows[:, layout.DETAIL_BYTES] = np.where(barrier, BARRIER_BYTES, transfers.size_bytes)
        rows[:, layout.DETAIL_PRIORITY] = transfers.priority
        rows[:, layout.DETAIL_PLAN] = self._plans(programs)
        rows[:, layout.DETAIL_PEER] = transfers.peer
        rows[:, layout.DETAIL_TAG] = transfers.tag % TAG_RANGE
        rows[:, layout.DETAIL_GROUP_COUNT] = pair_of - first[transfers.program]
        return rows

    def _plans(self, programs: Programs) -> Ints:
        """(C,) int64, the plan of each collective, and 0 for the rest and where nobody talks."""
        transfers, by_node = programs.transfers, self._inputs.custom.by_node
        plans = np.zeros(transfers.at.size, np.int64)
        fixed = fixed_nodes(transfers.kind, transfers.comm_kind, transfers.peer)
        rows = np.flatnonzero((transfers.kind == NodeKind.COLLECTIVE) & ~fixed)
        if not rows.size:
            return plans
        node = np.full(rows.size, -1, np.int64)
        if by_node:
            ids = programs.transfer_ids()[rows]
            own = np.isin(ids, np.array(list(by_node), np.uint64))
            node[own] = ids[own].astype(np.int64)
        keys = (
            transfers.comm_kind[rows].astype(np.int64),
            transfers.group[rows],
            transfers.involved_dims[rows],
            node,
            transfers.size_bytes[rows] * int(self._inputs.phases_depend_on_sizes),
        )
        distinct, key_of = distinct_rows(keys)
        plans[rows] = np.array([self._plan(key) for key in distinct], np.int64)[key_of]
        return plans

    def _plan(self, key: tuple[int, ...]) -> int:
        if key not in self._plan_at:
            self._plan_at[key] = self._write_plan(*key)
        return self._plan_at[key]

    def _write_plan(
        self, number: int, group_key: int, involved: int, node_id: int, size_bytes: int
    ) -> int:
        kind = CollectiveKind(number)
        custom = self._inputs.custom.by_node.get(node_id)
        if custom is None:
            custom = self._inputs.custom.by_kind.get(int(kind))
        if custom is not None:
            tables = [[self._custom_phase(group_key, custom)]]
        else:
            if self._inputs.options.chunks < 1:
                raise ConfigError("chunks", "must be 1 or more", got=self._inputs.options.chunks)
            orders = collective_phases(self._inputs, kind, group_key, involved, size_bytes)
            tables = [self._phases(kind, group_key, phases, size_bytes) for phases in orders]
        if not tables[0]:
            return 0
        uses = [w[layout.PHASE_TREE] for w in tables[0] if w[layout.PHASE_PEERS] == PEERS_TREE]
        self._tree_uses |= Counter(uses)
        words = np.zeros(layout.PLAN_WORDS, np.int64)
        words[layout.PLAN_PHASES] = len(tables[0])
        words[layout.PLAN_ORDERS] = self._orders(tables)
        words[layout.PLAN_ORDER_COUNT] = len(tables)
        words[layout.PLAN_SMALLEST_CHUNK] = self._smallest_chunk(group_key)
        words[layout.PLAN_GROUP] = self._keys.index(group_key)
        words[layout.PLAN_GATHERS] = int(kind.gathers or kind is CollectiveKind.BARRIER)
        words[layout.PLAN_CUSTOM] = int(custom is not None)
        self.most_phases = max(self.most_phases, len(tables[0]))
        return self._image.add(words)

    def _smallest_chunk(self, group_key: int) -> int:
        group = self._inputs.groups.get(group_key)
        return int(group.extent.prod()) if isinstance(group, GridGroup) else self._npus

    def _phases(
        self, kind: CollectiveKind, group_key: int, phases: Sequence[Phase], size_bytes: int
    ) -> list[list[int]]:
        """Words of the phases of a chunk of a collective of *size_bytes*."""
        least, chunks = self._smallest_chunk(group_key), self._inputs.options.chunks
        found, (_, size) = list[list[int]](), cut(kind, size_bytes, chunks, least)
        for phase in phases:
            words = self._phase(kind, group_key, phase)
            if isinstance(phase.algorithm, Synthesised):
                words[layout.PHASE_TAKES] = self._takes(group_key, phase, size)
            words[layout.PHASE_WAIT] = switches_wait_ns(phase, self._inputs.dimensions, size)
            found.append(words)
            size = size * words[layout.PHASE_RESULT_TIMES] // words[layout.PHASE_RESULT_OVER]
        return found

    def _takes(self, group_key: int, phase: Phase, size_bytes: int) -> int:
        """Time of a scheduled phase; in a network outside the kernel, 1 + its number."""
        group = self._inputs.groups.get(group_key)
        listed = tuple(group.members.tolist()) if isinstance(group, ListGroup) else ()
        if not phase.in_list:
            listed = ()
        levels, on = self._inputs.dimensions, self._inputs.on
        found = scheduled_phase(phase, levels, size_bytes, phase.stride, listed, on)
        if self._inputs.backend_class.kernel_code != layout.OUTSIDE:
            return found.takes_ns()
        self.schedules.append(found)
        return len(self.schedules)

    def _orders(self, tables: Sequence[list[list[int]]]) -> int:
        """Address of the list of phase tables, one per chunk; equal tables are written once."""
        places: dict[str, int] = {}
        for table in tables:
            if repr(table) not in places:
                places[repr(table)] = self._image.add(np.array(table, np.int64))
        return self._image.add([places[repr(table)] for table in tables])

    def _phase(self, kind: CollectiveKind, group_key: int, phase: Phase) -> list[int]:
        members_at = self._list(group_key) if phase.in_list else 0
        grid = isinstance(self._inputs.groups.get(group_key), GridGroup)
        tree_key = (int(kind), phase.dimension, group_key if grid else 0)
        tree = 0
        machine = phase.algorithm.machine(phase.kind, phase.members)
        if machine.peers is PeerRule.TREE:
            tree = self._tree_of.setdefault(tree_key, len(self._tree_of))
        words, table = phase_words(phase, members_at=members_at, tree=tree)
        words[layout.PHASE_PASS] = queue_pass(self._inputs, kind, phase)
        if table:
            words[layout.PHASE_TABLE] = self._table(table)
        if phase.leads:
            pairs = [word for pair in phase.leads for word in pair]
            words[layout.PHASE_LEADS] = self._table((len(phase.leads), *pairs))
        line = (phase.members, phase.stride)
        words[layout.PHASE_LINE] = self._lines.setdefault(line, len(self._lines) + 1)
        self.longest_phase = max(self.longest_phase, words[layout.PHASE_PARALLEL])
        return words

    def _table(self, words: tuple[int, ...]) -> int:
        """Address of a step table; equal ones are written once."""
        if words not in self._table_at:
            self._table_at[words] = self._image.add(np.array(words, np.int64))
        return self._table_at[words]

    def _list(self, group_key: int) -> int:
        """Address of a list group's members: count, in order, sorted, position of sorted."""
        if group_key not in self._group_at:
            group = self._inputs.groups[group_key]
            assert isinstance(group, ListGroup)
            order = np.argsort(group.members)
            members = group.members.astype(np.int64)
            count = np.array([members.size], np.int64)
            seen = np.zeros(layout.SEEN_WORDS * members.size, np.int64)
            table = np.concatenate((count, members, members[order], order, seen))
            self._group_at[group_key] = self._image.add(table)
            self._lists[group_key] = table[table.size - seen.size :]
        return self._group_at[group_key]

    def write_stand_ins(self, simulated: Representatives) -> None:
        """Say for each member of a list in which list its stand-in takes the same part."""
        places: dict[int, dict[int, int]] = {}
        program_of = self._inputs.program_of_npu
        for key, seen in self._lists.items():
            rows = seen.reshape(-1, layout.SEEN_WORDS)
            for row, npu in zip(rows, self._members(key).tolist(), strict=True):
                stand_in = int(simulated.npus[simulated.class_of_npu[npu]])
                slot = simulated.slots[program_of[npu]].index(key)
                other = simulated.slots[program_of[stand_in]][slot]
                if other not in places:
                    members = self._members(other).tolist()
                    places[other] = {member: place for place, member in enumerate(members)}
                row[layout.SEEN_LIST] = self._group_at[other]
                row[layout.SEEN_INDEX] = places[other][stand_in]
                row[layout.SEEN_GROUP] = self._keys.index(other)

    def _members(self, key: int) -> Ints:
        group = self._inputs.groups[key]
        assert isinstance(group, ListGroup)
        return group.members

    def _custom_phase(self, group_key: int, programs: Sequence[Program]) -> list[int]:
        group = self._inputs.groups.get(group_key)
        if isinstance(group, GridGroup):
            raise ConfigError("custom", "needs all NPUs or a list group", got=group_key)
        members = self._npus if group is None else int(group.members.size)
        if len(programs) < members:
            rule = f"a custom collective needs a program for each of {members} members"
            raise ConfigError("custom", rule, got=len(programs))
        for program in programs[:members]:
            nowhere = (program.kind == NodeKind.SEND) & (program.peer < 0)
            bad = program.peer[(program.peer >= members) | nowhere]
            if bad.size:
                rule = f"peers of a custom collective must be positions from 0 to {members - 1}"
                raise ConfigError("custom", rule, got=int(bad[0]))
        words = [0] * layout.PHASE_WORDS
        words[layout.PHASE_PEERS] = PEERS_CUSTOM
        words[layout.PHASE_MEMBERS] = members
        words[layout.PHASE_LIST] = 0 if group is None else self._list(group_key)
        words[layout.PHASE_PASS] = layout.PASS_FIXED
        words[layout.PHASE_CUSTOM] = self._image.add([self._custom(p) for p in programs])
        return words

    def _custom(self, program: Program) -> int:
        if id(program) not in self._custom_at:
            table = joined([program])
            written = self.write(table)
            orders = hashed_orders(program)
            columns = {
                layout.PROGRAM_OPEN: np.diff(program.dep_start),
                layout.PROGRAM_KEYS: program.node_id.view(np.int64),
                layout.PROGRAM_ORDER: orders.nodes,
                layout.PROGRAM_CHILD_START: orders.child_start,
                layout.PROGRAM_CHILDREN: orders.children,
            }
            for word, column in columns.items():
                written.words[0, word] = self._image.add(column)
            self._custom_at[id(program)] = int(written.at[0])
            self.custom_nodes = max(self.custom_nodes, program.kind.size)
        return self._custom_at[id(program)]


def _heaps(bodies: Bodies) -> Ints:
    """(S, slots) int64, where the heap of each slot class begins among an NPU's heaps."""
    body = np.repeat(np.arange(bodies.first.size - 1), np.diff(bodies.first))
    counts = np.bincount(
        body * layout.SLOTS + bodies.slot, minlength=layout.SLOTS * (bodies.first.size - 1)
    ).reshape(-1, layout.SLOTS)
    return np.cumsum(counts, axis=1) - counts

"""Writes programs, groups and plans into the arena of the unfolded engine."""

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from simcore.errors import ConfigError
from simcore.kernels.engine import layout
from simcore.kernels.engine.layout import Ints
from simcore.system.cast import Cast, SeenSends
from simcore.system.engine_input import EngineInput, Flags, GridGroup, ListGroup, Program
from simcore.system.unfolded_arena import Image
from simcore.system.unfolded_plans import Phase, collective_phases, phase_words
from simcore.terms import CollectiveKind, NodeKind

TAG_RANGE = 500_000_000  # ASTRA-sim folds the tags of sends into this range


class ProgramWriter:
    """Writes each program once, and each plan once however many nodes share it.

    Attributes:
        trees: Tree counters that an NPU needs.
        longest_phase: Packets under way at once, at most.
        most_phases: Phases of a chunk, at most.
        custom_nodes: Nodes of a custom program, at most.
    """

    def __init__(self, image: Image, inputs: EngineInput) -> None:
        self._image, self._inputs = image, inputs
        self._npus = prod(d.npus for d in inputs.dimensions)
        self._keys = [0, *inputs.groups]
        self._group_at: dict[int, int] = {}
        self._plan_at: dict[tuple[int, ...], int] = {}
        self._tree_of: dict[tuple[int, ...], int] = {}
        self._custom_at: dict[int, int] = {}
        self._lists: dict[int, Ints] = {}
        self._lines: dict[tuple[int, int], int] = {}
        self.longest_phase = 1
        self.most_phases = 1
        self.custom_nodes = 0

    @property
    def trees(self) -> int:
        return len(self._tree_of)

    def write(self, program: Program, sends: SeenSends | None = None) -> tuple[int, int]:
        """Write a program; returns where it lies and how many groups it uses."""
        action, slot = node_actions(program), _slots(program)
        collective = action == layout.ACTION_COLLECTIVE
        keys = sorted(set(program.group.tolist()))
        count_of = np.searchsorted(keys, program.group)
        plans = self._plans(program, collective)
        alone = collective & (plans == 0)  # nobody to talk to: such a collective ends at once
        action[alone] = layout.ACTION_FIXED
        nodes = np.zeros((program.kind.size, layout.NODE_WORDS), np.int64)
        nodes[:, layout.NODE_ACTION] = action
        nodes[:, layout.NODE_SLOT] = slot
        nodes[:, layout.NODE_DURATION_NS] = np.where(alone, 0, program.duration_ns)
        nodes[:, layout.NODE_BYTES] = program.size_bytes
        nodes[:, layout.NODE_PRIORITY] = program.priority
        nodes[:, layout.NODE_PLAN] = plans
        nodes[:, layout.NODE_PEER] = program.peer
        nodes[:, layout.NODE_TAG] = program.tag % TAG_RANGE
        nodes[:, layout.NODE_GROUP_COUNT] = count_of
        if sends is not None:
            nodes[:, layout.NODE_SEEN_TAG] = sends.tag
            nodes[:, layout.NODE_SEEN_SRC] = sends.source
        self._write_children(nodes, program)
        words = np.zeros(layout.PROGRAM_WORDS, np.int64)
        words[layout.PROGRAM_NODES] = program.kind.size
        words[layout.PROGRAM_TABLE] = self._image.add(nodes)
        heaps = np.searchsorted(np.sort(slot), np.arange(layout.SLOTS))
        words[layout.PROGRAM_HEAPS :] = heaps
        return self._image.add(words), len(keys)

    def _write_children(self, nodes: Ints, program: Program) -> None:
        """Turn "waits for" into "is waited for by"."""
        parents = program.dep
        waiting = np.repeat(np.arange(program.kind.size), np.diff(program.dep_start))
        order = np.argsort(parents, kind="stable")
        at = self._image.add(waiting[order])
        first = np.searchsorted(parents[order], np.arange(program.kind.size + 1))
        nodes[:, layout.NODE_CHILDREN] = at + first[:-1]
        nodes[:, layout.NODE_CHILDREN_END] = at + first[1:]
        nodes[:, layout.NODE_OPEN] = np.diff(program.dep_start)

    def _plans(self, program: Program, collective: Flags) -> Ints:
        """(T,) int64, the plan of each collective node, and 0 for the others."""
        plans = np.zeros(program.kind.size, np.int64)
        sized = self._inputs.options.inter_dimension == "offline_greedy"
        own = np.isin(program.node_id, np.array(list(self._inputs.custom.by_node), np.uint64))
        columns = (
            program.comm_kind,
            program.group,
            program.involved_dims,
            np.where(own, program.node_id.astype(np.int64), -1),
            program.size_bytes if sized else np.zeros_like(program.size_bytes),
        )
        keys = np.stack([column[collective] for column in columns], axis=1).astype(np.int64)
        plans[collective] = [self._plan(tuple(row)) for row in keys.tolist()]
        return plans

    def _plan(self, key: tuple[int, int, int, int, int]) -> int:
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
            tables = [[self._phase(kind, group_key, phase) for phase in o] for o in orders]
        if not tables[0]:
            return 0
        group = self._inputs.groups.get(group_key)
        smallest = self._npus
        if isinstance(group, GridGroup):
            smallest = int(group.extent.prod())
        words = np.zeros(layout.PLAN_WORDS, np.int64)
        words[layout.PLAN_PHASES] = len(tables[0])
        words[layout.PLAN_ORDERS] = self._orders(tables)
        words[layout.PLAN_ORDER_COUNT] = len(tables)
        words[layout.PLAN_SMALLEST_CHUNK] = smallest
        words[layout.PLAN_GROUP] = self._keys.index(group_key)
        words[layout.PLAN_GATHERS] = int(kind is CollectiveKind.ALL_GATHER)
        words[layout.PLAN_CUSTOM] = int(custom is not None)
        self.most_phases = max(self.most_phases, len(tables[0]))
        return self._image.add(words)

    def _orders(self, tables: Sequence[list[list[int]]]) -> int:
        """Where the list of phase tables lies, one per chunk; equal tables are written once."""
        places: dict[str, int] = {}
        for table in tables:
            if repr(table) not in places:
                places[repr(table)] = self._image.add(np.array(table, np.int64))
        return self._image.add([places[repr(table)] for table in tables])

    def _phase(self, kind: CollectiveKind, group_key: int, phase: Phase) -> list[int]:
        members_at = self._list(group_key) if phase.over.in_list else 0
        grid = isinstance(self._inputs.groups.get(group_key), GridGroup)
        tree_key = (int(kind), phase.over.dimension, group_key if grid else 0)
        tree = 0
        if phase.over.algorithm.program(phase.kind, phase.over.members, 0) is None:
            tree = self._tree_of.setdefault(tree_key, len(self._tree_of))
        words = phase_words(phase, members_at=members_at, tree=tree)
        line = (phase.over.members, phase.over.stride)
        words[layout.PHASE_LINE] = self._lines.setdefault(line, len(self._lines) + 1)
        self.longest_phase = max(self.longest_phase, words[layout.PHASE_PARALLEL])
        return words

    def _list(self, group_key: int) -> int:
        """Where the members of a list group lie: count, in order, sorted, position of sorted."""
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

    def write_stand_ins(self, cast: Cast) -> None:
        """Say for each member of a list in which list its stand-in takes the same part."""
        places: dict[int, dict[int, int]] = {}
        program_of = self._inputs.program_of_npu
        for key, seen in self._lists.items():
            rows = seen.reshape(-1, layout.SEEN_WORDS)
            for row, npu in zip(rows, self._members(key).tolist(), strict=True):
                stand_in = int(cast.npus[cast.class_of_npu[npu]])
                slot = cast.slots[program_of[npu]].index(key)
                other = cast.slots[program_of[stand_in]][slot]
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
            bad = program.peer[program.peer >= members]
            if bad.size:
                rule = f"peers of a custom collective must be below {members}"
                raise ConfigError("custom", rule, got=int(bad[0]))
        words = [0] * layout.PHASE_WORDS
        words[layout.PHASE_PEERS] = layout.PEERS_CUSTOM
        words[layout.PHASE_MEMBERS] = members
        words[layout.PHASE_LIST] = 0 if group is None else self._list(group_key)
        words[layout.PHASE_PASS] = layout.PASS_FIXED
        words[layout.PHASE_CUSTOM] = self._image.add([self._custom(p) for p in programs])
        return words

    def _custom(self, program: Program) -> int:
        if id(program) not in self._custom_at:
            self._custom_at[id(program)] = self.write(program)[0]
            self.custom_nodes = max(self.custom_nodes, program.kind.size)
        return self._custom_at[id(program)]


def node_actions(program: Program) -> NDArray[np.int64]:
    """What issuing each node does."""
    kind = program.kind
    action = np.full(kind.size, layout.ACTION_FIXED, np.int64)
    action[kind == NodeKind.SEND] = layout.ACTION_SEND
    action[(kind == NodeKind.RECV) & (program.peer >= 0)] = layout.ACTION_RECV
    action[kind == NodeKind.COLLECTIVE] = layout.ACTION_COLLECTIVE
    action[(kind == NodeKind.MEM_LOAD) | (kind == NodeKind.MEM_STORE)] = layout.ACTION_MEMORY
    action[program.comm_kind == CollectiveKind.BROADCAST] = layout.ACTION_FIXED
    action[program.skipped] = layout.ACTION_SKIP
    return action


def _slots(program: Program) -> NDArray[np.int64]:
    """The slot that each node takes."""
    slot = np.full(program.kind.size, layout.SLOT_COMM, np.int64)
    slot[program.kind == NodeKind.COMPUTE] = layout.SLOT_COMPUTE
    slot[program.kind == NodeKind.RECV] = layout.SLOT_NONE
    slot[program.on_cpu] = layout.SLOT_CPU
    return slot

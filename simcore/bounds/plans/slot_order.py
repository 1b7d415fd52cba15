"""Order in which a stage's communication slot surely serves the nodes of its last backward pass.

An NPU has one slot for communication. Whenever a node ends, it starts the ready nodes whose slots
are free, those of low position first, so that its slot is never idle while a node is ready. The
computes of the pass, c_1 to c_M, wait for each other. Let the *rank* of a node be the number of
them that it waits for, and call *late* the nodes that no compute of the pass waits for: gradients
that are summed beside it.

A node v of rank i is ready after c_i has ended. By the start of c_i, nodes of lower rank are ready
that are still to be served: some late ones, and some that a later compute waits for, *beside* c_i.
If these are out of the slot before c_i ends, however late they were served, then the late node p
of the lowest position is in the slot before v is ready, and v starts after p has ended. That holds
wherever the nodes beside c_i take less time than c_i does, or where there are none.

A node of lower position than p, all of whose dependencies have ended once p is ready, or are
themselves sooner than p, is sooner than p.

What earlier passes have left to send is out of the slot when a node of the pass that waits for one
of its computes starts: all of it was ready, at lower positions.
"""

from bisect import bisect_left, insort
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Protocol

from simcore.terms import NodeKind

_IN_SLOT = (NodeKind.COLLECTIVE, NodeKind.SEND)


class Program(Protocol):
    """Nodes of a stage by position, as ``stage_paths.StageReader`` has them."""

    kind: list[int]

    def deps(self, node: int) -> list[int]:
        """Nodes that a node waits for, all before it."""


@dataclass(frozen=True, slots=True)
class Room:
    """Condition of an order in the slot: *beside* take less time than the *compute* does."""

    beside: tuple[int, ...]
    compute: int


@dataclass(slots=True, eq=False)
class SlotOrder:
    """Nodes of the last pass of a stage, and what they wait for besides what the program says.

    Attributes:
        program: Of the stage.
        nodes: Of its last pass.
        behind: Of the optimizer step.
        leaves: Nodes of the pass that the next stage waits for.
        before: By node, the late node that is sooner in the slot.
        waits: By late node that is before another, the nodes of the pass that are sooner than it.
        rooms: Conditions of all that.
    """

    program: Program
    nodes: range
    behind: range
    leaves: Collection[int]
    before: dict[int, int] = field(default_factory=dict)
    waits: dict[int, list[int]] = field(default_factory=dict)
    rooms: list[Room] = field(default_factory=list)
    _computes: list[int] = field(default_factory=list)
    _rank: dict[int, float] = field(default_factory=dict)
    _needed: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        number = self._rank_nodes()
        if number is None:
            return
        self._computes = list(number)
        self._find_needed(number)
        slot = [node for node in self._rank if self.program.kind[node] in _IN_SLOT]
        served = [node for node in slot if node < self.behind.start and node in self._needed]
        late = [n for n in slot if n not in self._needed and self._rank[n] < inf]
        self._walk(served, self._by_rank(late))

    def _by_rank(self, nodes: Sequence[int]) -> list[int]:
        return sorted(nodes, key=lambda node: (self._rank[node], node))

    def _walk(self, served: Sequence[int], late: list[int]) -> None:
        """Go through the nodes that are *served*, and find the late node that is sooner than each.

        Args:
            served: Nodes that a later compute or the next stage waits for, by position.
            late: The late nodes by rank.
        """
        rank, needed = self._rank, self._needed
        coming, beside, waiting = self._by_rank(served), list[int](), list[int]()
        upcoming, is_clear = coming[::-1], False
        unsure: list[int] = []  # nodes after a late one, one of which may still be in the slot
        late.reverse()
        for node in coming:
            start = rank[node]
            while rank[upcoming[-1]] < start:
                beside.append(upcoming.pop())
            while late and rank[late[-1]] < start:
                insort(waiting, late.pop())
            is_clear |= any(needed[one] <= start and rank[one] >= 1 for one in beside)
            beside = [one for one in beside if needed[one] > start]
            unsure = [one for one in unsure if needed[one] > start]
            if not waiting or unsure or not is_clear:
                continue
            if self._is_sooner(waiting, start, beside):
                unsure.append(node)
                self.before[node] = first = waiting.pop(0)
                self.waits[first] = self._before_late(first, node, served)
                if beside:
                    self.rooms.append(Room(tuple(beside), self._computes[int(start) - 1]))

    def _rank_nodes(self) -> Mapping[int, int] | None:
        """Rank all nodes; gives the number of each compute, or None where these form no chain."""
        kind, rank, number = self.program.kind, self._rank, dict[int, int]()
        for node in (*self.nodes, *self.behind):
            own = max((number.get(d, rank.get(d, 0)) for d in self.program.deps(node)), default=0)
            rank[node] = own
            if kind[node] != NodeKind.COMPUTE:
                continue
            if node >= self.behind.start:
                rank[node] = inf
            elif own < len(number):
                return None
            else:
                number[node] = len(number) + 1
        return number

    def _find_needed(self, number: Mapping[int, int]) -> None:
        """The number of the first compute that waits for each node, if any does."""
        needed = self._needed
        needed |= dict.fromkeys(self.leaves, inf)
        for node in reversed(self.nodes):
            own = number.get(node, needed.get(node, 0.0))
            if not own:
                continue
            for dep in self.program.deps(node):
                needed[dep] = min(needed.get(dep, inf), own)

    def _is_sooner(self, waiting: Sequence[int], start: float, beside: Sequence[int]) -> bool:
        """True if the first of the late nodes is in the slot before the compute *start* ends.

        Args:
            waiting: Late nodes of lower rank that are still to be served.
            start: Number of the compute.
            beside: Other such nodes; all else that is earlier is out of the slot.
        """
        rank, first = self._rank, waiting[0]
        is_first = len(waiting) == 1 or 1 <= rank[first] == min(rank[one] for one in waiting)
        if not is_first or not self._waits_for_computes(first):
            return False
        return all(one < first and self._follows(one, start, beside) for one in beside)

    def _follows(self, node: int, start: float, beside: Collection[int]) -> bool:
        """True if a node beside a compute is served at once after those before it."""
        computing = NodeKind.COMPUTE
        return all(
            dep < self.nodes.start
            or dep in beside
            or self.program.kind[dep] == computing
            or self._needed[dep] <= start
            for dep in self.program.deps(node)
        )

    def _waits_for_computes(self, node: int) -> bool:
        """True if a node is ready once computes alone have ended."""
        return all(self.program.kind[dep] == NodeKind.COMPUTE for dep in self.program.deps(node))

    def _before_late(self, late: int, node: int, served: Sequence[int]) -> list[int]:
        """Nodes *served* that are sooner than *late*, which is before *node*.

        Those that have ended by the time when it is ready are left out, and of nodes that wait for
        each other all but the last ones. None where it may be ready long before the pass.
        """
        ready = self._rank[late]
        if ready == 0:
            return []
        earliest = self._computes[max(int(ready) - 2, 0)]
        sooner: dict[int, None] = {}
        for one in served[bisect_left(served, earliest) : bisect_left(served, min(node, late))]:
            if self._rank[one] <= ready < self._needed[one] and all(
                dep in sooner
                or self.program.kind[dep] == NodeKind.COMPUTE
                or (dep >= self.nodes.start and self._needed[dep] <= ready)
                for dep in self.program.deps(one)
            ):
                sooner[one] = None
        inner = {dep for one in sooner for dep in self.program.deps(one)}
        return [one for one in sooner if one not in inner]

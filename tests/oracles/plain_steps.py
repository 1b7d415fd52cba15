"""The algorithms of the plain simulator: ring, direct and halving-doubling, step by step."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import log2
from typing import TYPE_CHECKING

from plain_network import Call

from simcore.terms import CollectiveKind

if TYPE_CHECKING:
    from plain_astra import Npu

ALL_REDUCE, GATHER = CollectiveKind.ALL_REDUCE, CollectiveKind.ALL_GATHER
SCATTER, ALL_TO_ALL = CollectiveKind.REDUCE_SCATTER, CollectiveKind.ALL_TO_ALL


@dataclass
class Phase:
    """One phase of one stream."""

    kind: CollectiveKind
    name: str
    members: list[int]
    local: bool
    queue: int
    backwards: bool


@dataclass(eq=False)
class Stream:
    tag: object
    size: int
    priority: int
    phases: list[Phase]
    ended: Call
    started: bool = False


class Steps:
    """The state machine of ring, direct and halving-doubling."""

    def __init__(self, npu: Npu, stream: Stream, phase: Phase, over: Call) -> None:
        self.npu, self.tag, self.phase, self.over = npu, stream.tag, phase, over
        n, size = len(phase.members), stream.size
        self.n, self.own = n, phase.members.index(npu.id)
        gathers, reduces_all = phase.kind is GATHER, phase.kind is ALL_REDUCE
        self.bytes = size if gathers else size // n
        self.left = 2 * (n - 1) if reduces_all else n - 1
        self.parallel, self.round = 1, n - 1
        if phase.name.startswith("direct"):
            window = phase.name.removeprefix("direct")
            self.parallel = min(int(window), n - 1) if window else n - 1
            self.round = (n - 1) * self.parallel if phase.local else self.parallel
        elif phase.name == "halvingDoubling":
            steps = log2(n)
            self.left, self.round = int(2 * steps) if reduces_all else int(steps), int(steps - 1)
            self.bytes = size if gathers else size // 2
            self.distance, self.factor = (n // 2, 0.5) if gathers else (1, 2.0)
        elif phase.kind is ALL_TO_ALL:
            self.left = n * (n - 1) // 2
        self.z = self.nz = self.free = self.received = self.inserted = 0
        self.toggle = False
        self.packets: deque[tuple[int, int, int]] = deque()
        for _ in range(self.parallel):
            self.insert()

    def member(self, ahead: int) -> int:
        way = -1 if self.phase.backwards else 1
        return self.phase.members[(self.own + way * ahead) % self.n]

    def insert(self) -> None:
        kind = self.phase.kind
        if not self.z and not self.nz:
            self.z, self.nz, self.toggle = self.parallel, self.round, not self.toggle
        reduced = False
        if self.z:
            self.z -= 1
        else:
            self.nz -= 1
            reduced = kind is SCATTER or (kind is ALL_REDUCE and self.toggle)
        size = self.bytes
        self.packets.append((size, *self.peers()))
        options = self.npu.inputs.options
        rate = options.local_mem_bytes_per_ns * 1e9
        reduction = 3 * int(size / rate * 1e9) if rate else 0

        def passed() -> None:
            if reduced:
                self.npu.later(reduction, self.go_on)
            else:
                self.go_on()

        self.npu.later(10 if self.phase.local else options.endpoint_delay_ns, passed)

    def peers(self) -> tuple[int, int]:
        """To whom the packet goes and from whom its answer comes."""
        self.inserted += 1
        if self.phase.name == "halvingDoubling":
            distance = self.distance
            ahead = 1 if distance == 0 or self.own // distance % 2 == 0 else -1
            peer = self.phase.members[(self.own + ahead * distance) % self.n]
            self.distance = int(distance * self.factor)
            self.bytes = int(self.bytes / self.factor)
            if self.phase.kind is ALL_REDUCE and self.distance == self.n:
                self.factor = 0.5
                self.distance, self.bytes = int(self.distance * 0.5), int(self.bytes / 0.5)
            return peer, peer
        ahead = 1
        if self.phase.name.startswith("direct"):
            ahead = (self.inserted - 1) % (self.n - 1) + 1
        return self.member(ahead), self.member(-ahead)

    def came(self) -> None:
        self.received += 1
        self.insert()

    def go_on(self) -> None:
        self.free += 1
        tries = 1
        direct = self.phase.name.startswith("direct")
        if direct and self.phase.kind is ALL_REDUCE and self.left <= self.n - 1:
            if self.received < self.n - 1:
                return
            tries = self.parallel
        for _ in range(tries):
            if self.packets and self.left and self.free:
                size, to, from_ = self.packets.popleft()
                self.left -= 1
                self.free -= 1
                network = self.npu.network
                network.send(self.tag, self.npu.id, to, size, lambda: None)
                network.receive(self.tag, from_, self.npu.id, size, self.came)
        if not self.left and self.free == self.parallel:
            self.over()

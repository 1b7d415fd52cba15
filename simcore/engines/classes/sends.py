"""Messages between stages that a network outside the executor's kernel carries."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from simcore.engines.classes.state import ClassState
from simcore.engines.events.input import Ints
from simcore.engines.in_step.ways import Pair, StageWays
from simcore.engines.stages.lowering import Lowered
from simcore.kernels.classes import layout as f
from simcore.kernels.classes.schedule import run
from simcore.kernels.heaps import push_event
from simcore.kernels.npu.layout import NEVER
from simcore.network.queued import QueuedLinks
from simcore.terms import NodeKind
from simcore.workload.graph import TrainingGraph


@dataclass(frozen=True, kw_only=True, eq=False)
class Sent:
    """M messages between stages.

    Attributes:
        node: (M,) position of the send of each, ascending.
        source: (M,) stage that sends it.
        target: (M,) stage that receives it.
        size_bytes: (M,) its size.
    """

    node: Ints
    source: Ints
    target: Ints
    size_bytes: Ints

    @classmethod
    def of(cls, graph: TrainingGraph, lowered: Lowered) -> Self:
        """All of an iteration."""
        rows = list[tuple[NDArray[np.int64 | np.int32], ...]]()
        for stage, first in zip(graph.stages, lowered.stage_start.tolist(), strict=False):
            sends = np.flatnonzero(stage.kind == NodeKind.SEND)
            source = np.full(sends.size, stage.stage)
            rows.append((first + sends, source, stage.peer_stage[sends], stage.size_bytes[sends]))
        columns = [np.concatenate(column).astype(np.int64) for column in zip(*rows, strict=True)]
        return cls(**dict(zip(("node", "source", "target", "size_bytes"), columns, strict=True)))

    @cached_property
    def pairs(self) -> list[Pair]:
        """Stages of sender and receiver of each message."""
        return list(zip(self.source.tolist(), self.target.tolist(), strict=True))


class Sends(ABC):
    """Sends of an iteration, on links that are idle whenever the iteration begins.

    Args:
        sent: The messages.
        ways: Links of each pair of stages.
    """

    def __init__(self, sent: Sent, ways: StageWays) -> None:
        self.sent, self.ways = sent, ways

    def begin(self, state: ClassState) -> None:
        """Let the kernel hand out sends, from the start on."""
        self._make_network(len(state.node))
        most = (state.counter.size - f.COUNTERS) // 3
        state.counter[f.OUTBOX] = f.COUNTERS + 2 * most

    @abstractmethod
    def run(self, state: ClassState) -> int:
        """Go on until something but a message is to be decided; why the kernel was left."""

    @abstractmethod
    def situation(self, now_ns: int, before: Ints) -> Iterator[NDArray[np.generic]]:
        """All that decides how messages under way go on, with times relative to now.

        Args:
            now_ns: Present time.
            before: (M,) what is taken from the position of each message's node.
        """

    def tied(self, arrivals: Ints, own: Ints) -> bool:
        """True if the order of two simultaneous events mattered that is not known.

        NPUs of a stage may then see them in unlike orders, and fall out of step: arrivals at one
        stage that were scheduled at one time, with each other or with an end of the stage's own.

        Args:
            arrivals: As told.
            own: (E, 3) int64: stage, time and time of scheduling of each end within a stage.
        """
        message, time, begun = arrivals.T
        at_both = [
            np.column_stack([stage[message], time, begun])
            for stage in (self.sent.source, self.sent.target)
        ]
        every = _sorted_rows(np.concatenate([*at_both, _distinct(_sorted_rows(own))]))
        return bool((every[1:] == every[:-1]).all(axis=1).any())

    @abstractmethod
    def _make_network(self, nodes: int) -> None:
        """Make all links idle, for an iteration of so many nodes."""

    @abstractmethod
    def arrivals(self) -> Ints:
        """(A, 3) int64: message, time and time of scheduling of each arrival."""


class QueuedSends(Sends):
    """Messages that queue for links."""

    def _make_network(self, nodes: int) -> None:
        self._links = QueuedLinks(self.ways.bytes_per_ns.tolist(), self.ways.latency_ns.tolist())
        self._ways = {pair: way.links.tolist() for pair, way in self.ways.of_pair.items()}
        self._number = {node: number for number, node in enumerate(self.sent.node.tolist())}
        self._sizes = self.sent.size_bytes.tolist()
        self._arrived = list[tuple[int, int, int]]()

    def run(self, state: ClassState) -> int:
        while True:
            why = run(*state.arrays, state.memo)
            if why == f.SENDING:
                self._take(state)
            elif why not in (f.FINISHED, f.AT_HORIZON) or not self._go_on(state):
                return why
            due_ns = self._links.next_event_ns()
            state.counter[f.HORIZON] = NEVER if due_ns is None else due_ns - 1

    def _take(self, state: ClassState) -> None:
        """Send what the kernel has handed out."""
        counter = state.counter
        first, now = int(counter[f.OUTBOX]), int(counter[f.NOW])
        for node in counter[first : first + int(counter[f.SENT])].tolist():
            message = self._number[node]
            way = self._ways[self.sent.pairs[message]]
            self._links.send(now, message, self._sizes[message], way)
        counter[f.SENT] = 0

    def _go_on(self, state: ClassState) -> bool:
        """Let messages pass until some arrive, or the kernel's turn comes; False: none are left."""
        if self._links.next_event_ns() is None:
            return False
        counter, event = state.counter, state.event
        for one in self._links.advance(int(event[0, 0]) if counter[f.EVENTS] else NEVER):
            what = self.sent.pairs[one.message][0] << f.POSITION_BITS
            what |= int(self.sent.node[one.message])
            push_event(event, counter, one.time_ns, one.begun_ns, what)
            self._arrived.append((one.message, one.time_ns, one.begun_ns))
        return True

    def situation(self, now_ns: int, before: Ints) -> Iterator[NDArray[np.generic]]:
        return self._links.situation(now_ns, self.sent.node - before)

    def tied(self, arrivals: Ints, own: Ints) -> bool:
        return self._links.tied or super().tied(arrivals, own)

    def arrivals(self) -> Ints:
        return np.array(self._arrived, np.int64).reshape(-1, 3)


def _sorted_rows(rows: Ints) -> Ints:
    found: Ints = rows[np.lexsort(rows.T)]
    return found


def _distinct(rows: Ints) -> Ints:
    """Rows in order, each once."""
    if len(rows) < 2:
        return rows
    found: Ints = rows[np.concatenate([[True], (rows[1:] != rows[:-1]).any(axis=1)])]
    return found

"""Messages between stages that all NPUs of all stages send at once."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from simcore.engines.collectives.members import engine_options
from simcore.engines.events.fold.run import run_folded
from simcore.engines.events.input import EngineInput, Ints
from simcore.engines.events.programs import Program
from simcore.engines.in_step.loads import LoadedLinks
from simcore.machine import Dimension
from simcore.machine.system import System
from simcore.network.dimensions import engine_dimensions
from simcore.terms import NodeKind

Spans = list[tuple[int, int]]
"""Times of the last and of the first message to arrive, by stage, in ns."""


class MessagesInStep(ABC):
    """Times of messages of one size from each NPU of some stages to its peer at another one."""

    @abstractmethod
    def times_ns(self, source: Ints, target: Ints, stage: Ints, size_bytes: int) -> Spans:
        """Times by stage.

        Args:
            source: (F,) NPU ids of senders.
            target: (F,) of receivers.
            stage: (F,) number of each sender's stage, from 0 on.
            size_bytes: Of each message.
        """


class FairMessages(MessagesInStep):
    """Messages that have max-min fair parts of their links.

    Args:
        links: Of the machine.
    """

    def __init__(self, links: LoadedLinks) -> None:
        self._links = links

    def times_ns(self, source: Ints, target: Ints, stage: Ints, size_bytes: int) -> Spans:
        return [
            load.times_ns(size_bytes) for load in self._links.of_messages(source, target, stage)
        ]


class QueuedMessages(MessagesInStep):
    """Messages that queue for links, on the event engine.

    Args:
        dimensions: Of the machine.
        system: The system layer.
        memory_bytes_per_s: Bandwidth at which received data is reduced.
        backend: Network backend.
    """

    def __init__(
        self,
        dimensions: Sequence[Dimension],
        system: System,
        memory_bytes_per_s: float,
        backend: str,
    ) -> None:
        topologies = [dimension.topology for dimension in dimensions]
        members = [1] * len(topologies)
        self._dimensions, self._backend = engine_dimensions(dimensions), backend
        self._options = engine_options(system, topologies, memory_bytes_per_s, members)
        self._npus = int(np.prod([dimension.npus for dimension in dimensions], dtype=np.int64))

    def times_ns(self, source: Ints, target: Ints, stage: Ints, size_bytes: int) -> Spans:
        to, sender = np.full(self._npus, -1), np.full(self._npus, -1)
        to[source], sender[target] = target, source
        output = run_folded(
            EngineInput(
                backend=self._backend,
                dimensions=self._dimensions,
                options=self._options,
                programs=tuple(
                    _program(*ends, size_bytes)
                    for ends in zip(to.tolist(), sender.tolist(), strict=True)
                ),
                program_of_npu=np.arange(self._npus),
                groups={},
            )
        )
        arrival = np.array([output.node_end_ns[npu][-1] for npu in target.tolist()])
        stages = range(int(stage.max(initial=-1)) + 1)
        own = [arrival[stage == number] for number in stages]
        return [(int(ends.max()), int(ends.min())) if ends.size else (0, 0) for ends in own]


def _program(to: int, sender: int, size_bytes: int) -> Program:
    """One send and, last, one receive, of those that there are."""
    ends = [(int(NodeKind.SEND), to), (int(NodeKind.RECV), sender)]
    kind, peer = np.array([end for end in ends if end[1] >= 0], np.int64).reshape(-1, 2).T
    nodes = len(kind)

    def full(value: int) -> Ints:
        return np.full(nodes, value, np.int64)

    return Program(
        node_id=np.arange(nodes, dtype=np.uint64),
        kind=kind.astype(np.int8),
        on_cpu=np.zeros(nodes, np.bool_),
        skipped=np.zeros(nodes, np.bool_),
        duration_ns=full(0),
        comm_kind=full(-1).astype(np.int8),
        size_bytes=full(size_bytes),
        priority=full(0),
        group=full(0),
        involved_dims=full(-1),
        peer=peer,
        tag=full(0),
        dep_start=np.zeros(nodes + 1, np.int64),
        dep=np.zeros(0, np.int64),
    )

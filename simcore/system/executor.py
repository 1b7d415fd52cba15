"""Executes one iteration with one NPU standing for all NPUs of its pipeline stage."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simcore.errors import SimulationError
from simcore.hardware import Dimension
from simcore.kernels.graph_schedule import RECV, RENDEZVOUS, Ints, State, resolve, run, start
from simcore.system.lowering import Lowered, SharedCollective
from simcore.system.spec import System
from simcore.system.subsystem import Subsystem
from simcore.workload.graph import Axis, TrainingGraph


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Execution:
    """What an execution gave: T nodes, S stages, C categories.

    Attributes:
        start_ns, end_ns: (T,) int64 per node.
        finish_ns: (S,) int64, when each stage's last node ended.
        booked_ns: (S, C + 1) int64, time by category up to the iteration's end; the last column
            is idle time.
        events: Events handled.
    """

    start_ns: Ints
    end_ns: Ints
    finish_ns: Ints
    booked_ns: Ints
    events: int


class Executor:
    """Runs the stages' programs against each other.

    All NPUs of a stage run the same program, their groups lie alike on the machine, and messages
    do not slow each other down; so they stay in step, and one of them stands for all. Collectives
    between stages, whose members start at different times, go to the unfolded engine.
    """

    def __init__(
        self,
        graph: TrainingGraph,
        dimensions: Sequence[Dimension],
        system: System,
        memory_bytes_per_s: float,
    ) -> None:
        self._graph = graph
        self._endpoint_delay_ns = system.endpoint_delay_ns
        self._subsystem = Subsystem(dimensions, system, memory_bytes_per_s)

    def execute(self, lowered: Lowered) -> Execution:
        """Run *lowered* to its end.

        Raises:
            SimulationError: The programs wait for each other for ever; names the nodes.
        """
        programs = lowered.programs
        state = _fresh_state(lowered)
        start(programs, state)
        while (number := run(programs, state)) >= 0:
            self._resolve(lowered, lowered.shared[number], state)
        if (state.end_ns < 0).any():
            raise SimulationError(_deadlock(self._graph, lowered, state))
        finish = np.maximum.reduceat(state.end_ns, lowered.stage_start[:-1])
        booked = state.booked_ns
        booked[:, -1] += finish.max() - state.booked_until_ns
        return Execution(
            start_ns=state.start_ns,
            end_ns=state.end_ns,
            finish_ns=finish,
            booked_ns=booked,
            events=int(state.counter[3]),
        )

    def _resolve(self, lowered: Lowered, collective: SharedCollective, state: State) -> None:
        """Work out when each stage's member of a collective between stages ends."""
        operation = self._graph.collectives[collective.item]
        stride = self._graph.plan.npus_per_stage
        members = np.array(collective.stages, np.int64) * stride
        starts = state.start_ns[list(collective.nodes)]
        first = int(starts.min())
        ends = first + self._subsystem.shared_ends(
            operation.kind, members, operation.size_bytes, starts - first
        )
        delay = self._endpoint_delay_ns
        for node, end in zip(collective.nodes, ends.tolist(), strict=True):
            resolve(state, node, end, end - delay)


def is_shared(graph: TrainingGraph, axis: Axis) -> bool:
    """Whether the groups of *axis* have members at several stages."""
    if graph.plan.pp == 1:
        return False
    return axis in (Axis.PP, Axis.EMBEDDING)


def _fresh_state(lowered: Lowered) -> State:
    nodes, stages = lowered.missing.size, lowered.stage_start.size - 1
    receives = int((lowered.programs.kind == RECV).sum())
    return State(
        missing=lowered.missing.copy(),
        start_ns=np.full(nodes, -1, np.int64),
        end_ns=np.full(nodes, -1, np.int64),
        arrived=np.zeros(nodes, np.bool_),
        slot=np.full((stages, 2), -1, np.int64),
        ready=np.empty((2, nodes), np.int64),
        ready_size=np.zeros((stages, 2), np.int64),
        stage_start=lowered.stage_start,
        posted=np.empty(receives + 1, np.int64),
        posted_size=np.zeros(1, np.int64),
        event=np.empty((2 * stages + receives + 1, 4), np.int64),
        counter=np.array([0, 0, RENDEZVOUS, 0], np.int64),
        shared_started=np.zeros(len(lowered.shared), np.int64),
        booked_ns=np.zeros((stages, len(lowered.categories) + 1), np.int64),
        booked_until_ns=np.zeros(stages, np.int64),
    )


def _deadlock(graph: TrainingGraph, lowered: Lowered, state: State) -> str:
    waiting = []
    for stage, first in zip(graph.stages, lowered.stage_start[:-1].tolist(), strict=True):
        pending = state.end_ns[first : first + stage.nodes] < 0
        if pending.any():
            at = int(np.flatnonzero(pending)[0])
            what = ["invalid", "", "load", "store", "compute", "send", "receive", "collective"]
            waiting.append(
                f"stage {stage.stage} waits at its {what[int(stage.kind[at])]} node {at} "
                f"(micro-batch {int(stage.microbatch[at])}, peer {int(stage.peer_stage[at])})"
            )
    return "the stages wait for each other: " + "; ".join(waiting[:4])

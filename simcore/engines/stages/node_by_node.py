"""Executes one iteration with one NPU standing for all NPUs of its pipeline stage."""

from dataclasses import dataclass

import numpy as np

from simcore.engines.stages.lowering import Lowered, SharedCollective
from simcore.engines.stages.shared_ends import SharedEnds
from simcore.errors import SimulationError
from simcore.kernels.stages import graph_schedule
from simcore.kernels.stages.graph_schedule import Ints
from simcore.machine.system import ExecutionProfile
from simcore.terms import NodeKind
from simcore.workload.graph import TrainingGraph


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Execution:
    """What an execution gave: T nodes, S stages, C categories.

    Attributes:
        start_ns, end_ns: (T,) int64 per node.
        finish_ns: (S,) int64, when each stage's last node ended.
        booked_ns: (S, C + 1) int64, time by category up to the iteration's end; the last column
            is idle time.
        events: Events handled.
        npus: NPUs that were followed, each for all that behave alike.
    """

    start_ns: Ints
    end_ns: Ints
    finish_ns: Ints
    booked_ns: Ints
    events: int
    npus: int


class Executor:
    """Runs the stages' programs against each other.

    All NPUs of a stage run the same program, their groups lie alike on the machine, and messages
    do not slow each other down; so they stay in step, and one of them stands for all. Collectives
    between stages, whose members start at different times, go to the unfolded engine.
    """

    def __init__(
        self, graph: TrainingGraph, profile: ExecutionProfile, shared_ends: SharedEnds
    ) -> None:
        self._graph, self._profile, self._shared_ends = graph, profile, shared_ends

    def execute(self, lowered: Lowered) -> Execution:
        """Run *lowered* to its end.

        Raises:
            SimulationError: The programs wait for each other for ever; names the nodes.
        """
        state = _State(lowered, self._profile)
        graph_schedule.start(*state.arrays)
        while (number := graph_schedule.run(*state.arrays)) != graph_schedule.FINISHED:
            self._resolve(lowered.shared[number], state)
        start_ns = state.node[:, graph_schedule.START].copy()
        end_ns = state.node[:, graph_schedule.END].copy()
        if (end_ns < 0).any():
            raise SimulationError(_deadlock(self._graph, lowered, end_ns))
        finish = np.maximum.reduceat(end_ns, lowered.stage_start[:-1])
        booked = state.stage[:, state.first_booked :].copy()
        booked[:, -1] += finish.max() - state.stage[:, graph_schedule.BOOKED_UNTIL]
        return Execution(
            start_ns=start_ns,
            end_ns=end_ns,
            finish_ns=finish,
            booked_ns=booked,
            events=int(state.counter[graph_schedule.DONE]),
            npus=len(self._graph.stages),
        )

    def _resolve(self, collective: SharedCollective, state: "_State") -> None:
        """Work out when each stage's member of a collective between stages ends."""
        starts = state.node[list(collective.nodes), graph_schedule.START]
        ends = self._shared_ends.ends(collective.item, collective.stages, starts)
        delay = self._shared_ends.lead_ns
        for node, end in zip(collective.nodes, ends.tolist(), strict=True):
            graph_schedule.resolve(state.event, state.counter, node, end, end - delay)


class _State:
    """The kernel's arrays at the start of a run."""

    def __init__(self, lowered: Lowered, profile: ExecutionProfile) -> None:
        nodes, stages = lowered.node.shape[0], lowered.stage_start.size - 1
        receives = int((lowered.node[:, graph_schedule.KIND] == graph_schedule.RECV).sum())
        slots = profile.compute_slots + profile.communication_streams
        self.first_booked = graph_schedule.SLOT + slots
        columns = self.first_booked + len(lowered.categories) + 1
        self.node = lowered.node.copy()
        self.child = lowered.child
        self.stage = np.zeros((stages, columns), np.int64)
        self.stage[:, graph_schedule.POSTED : self.first_booked] = -1
        self.stage[:, graph_schedule.FIRST] = lowered.stage_start[:-1]
        self.ready = np.empty((2, nodes), np.int64)
        self.event = np.empty((slots * stages + receives + 1, 4), np.int64)
        self.counter = np.zeros(graph_schedule.COUNTERS + 2 * len(lowered.shared), np.int64)
        self.counter[graph_schedule.RESOLVABLE] = -1
        self.counter[graph_schedule.COMPUTE_SLOTS] = profile.compute_slots
        self.counter[graph_schedule.STREAMS] = profile.communication_streams
        members = [len(collective.nodes) for collective in lowered.shared]
        self.counter[graph_schedule.COUNTERS :: 2] = members

    @property
    def arrays(self) -> tuple[Ints, ...]:
        """As the kernel takes them."""
        return self.node, self.child, self.stage, self.ready, self.event, self.counter


def _deadlock(graph: TrainingGraph, lowered: Lowered, end_ns: Ints) -> str:
    waiting = []
    for stage, first in zip(graph.stages, lowered.stage_start[:-1].tolist(), strict=True):
        pending = end_ns[first : first + stage.nodes] < 0
        if pending.any():
            at = int(np.flatnonzero(pending)[0])
            what = NodeKind(int(stage.kind[at])).name.lower()
            waiting.append(
                f"stage {stage.stage} waits at its {what} node {at} "
                f"(micro-batch {int(stage.microbatch[at])}, peer {int(stage.peer_stage[at])})"
            )
    return "the stages wait for each other: " + "; ".join(waiting[:4])

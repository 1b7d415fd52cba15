"""Executes an iteration node by node: one NPU for each class of alike ones."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from simcore.engines.classes.period import Period, PeriodWatch, Repeats
from simcore.engines.classes.places import AlikePlaces
from simcore.engines.classes.sends import Sends
from simcore.engines.classes.state import ClassState, keep_ends, settle, started, tell_apart
from simcore.engines.classes.tables import ClassTables
from simcore.engines.collectives.ends import MemberEnds, SharedEnds, is_shared
from simcore.engines.collectives.placement import Placement
from simcore.engines.events.input import Ints
from simcore.engines.stages.lowering import Lowered
from simcore.errors import InfeasibleError, SimulationError
from simcore.kernels.classes import layout as f
from simcore.kernels.classes.collectives import end_members, look_for_collectives, members_of
from simcore.kernels.classes.schedule import run, start
from simcore.kernels.npu.layout import BOOKED_UNTIL, MISSING, NEVER
from simcore.machine.system import ExecutionProfile
from simcore.network import NetworkAccount
from simcore.terms import NodeKind
from simcore.workload.graph import Axis, StageGraph, TrainingGraph

_FIRST_ROOM = 64
"""Nodes that an NPU may have ready at once, unless it turns out to be more."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Execution:
    """Result of an execution: T nodes, S stages, C categories.

    Attributes:
        start_ns, end_ns: (T,) int64 per node, on one NPU of its stage.
        finish_ns: (S,) int64, end of each stage's NPU that ends last.
        booked_ns: (S, C + 1) int64, that NPU's time by category up to the iteration's end; the last
            column is idle time.
        events: Events handled; where an NPU stands for others, nodes that have ended.
        npus: NPUs that were followed, each for all that behave alike.
        last: (S,) int64, member of each stage that ends last, the first of those that do.
        period: What one period of the steady state adds; None where none was looked for or found.
        is_whole: False if it was left before its end, as no answer could come of it.
    """

    start_ns: Ints
    end_ns: Ints
    finish_ns: Ints
    booked_ns: Ints
    events: int
    npus: int
    last: Ints | None = None
    period: Period | None = None
    is_whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EndsOfCollectives:
    """Ends of the members of a collective that begin at different times.

    Attributes:
        within: Of members at one stage.
        between: Of members at several stages.
        placements: Of the groups within a stage.
    """

    within: MemberEnds
    between: SharedEnds
    placements: Mapping[Axis, Placement]


class Executor:
    """Runs the stages' programs against each other.

    Args:
        graph: The iteration.
        lowered: Its nodes with their times.
        tables: The same as the kernels read it.
        places: Tells which NPUs are alike.
        ends: Tells when collectives end.
    """

    def __init__(
        self,
        graph: TrainingGraph,
        lowered: Lowered,
        tables: ClassTables,
        places: AlikePlaces,
        ends: EndsOfCollectives,
    ) -> None:
        self._graph, self._lowered, self._tables = graph, lowered, tables
        self._places, self._ends = places, ends

    def run(
        self,
        profile: ExecutionProfile,
        repeats: Repeats | None = None,
        sends: Sends | None = None,
        told: Ints | None = None,
    ) -> Execution:
        """Run to the end.

        Args:
            profile: What an NPU does at once.
            repeats: Where the programs repeat themselves; None: no steady state is looked for.
            sends: Carries messages; None: they take the time that their nodes have.
            told: (S,) int64, member of each stage whose nodes are told; None: the first.

        Raises:
            InfeasibleError: NPUs that fall out of step wait for each other for ever.
            SimulationError: They are too many, or the stages wait for each other for ever.
        """
        room = max(_FIRST_ROOM, self._free_at_once())
        while True:
            watch = PeriodWatch(self._graph, self._lowered.stage_start, repeats, sends)
            state = self._started(profile, room, watch.marks, told)
            if self._run(state, watch, sends):
                break
            room *= 4
        if not watch.is_settled and (state.waits != f.ENDED).any():
            raise self._deadlock(state)
        classes = state.classes.count
        finish = state.npu[:, BOOKED_UNTIL].reshape(-1, classes)
        last = finish.argmax(axis=1) + np.arange(len(self._graph.stages)) * classes
        booked = state.booked[last]
        booked[:, -1] += finish.max() - state.npu[last, BOOKED_UNTIL]
        return Execution(
            start_ns=state.node[:-1, f.STARTED],
            end_ns=state.node[:-1, f.HAS_ENDED],
            finish_ns=finish.max(axis=1),
            booked_ns=booked,
            events=int(state.counter[f.ENDED_NODES]),
            npus=state.npu.shape[0],
            last=state.classes.firsts[last % classes],
            period=watch.found(last),
            is_whole=not watch.is_settled,
        )

    def _free_at_once(self) -> int:
        """Nodes of a stage that wait for nothing, at most."""
        free = self._tables.node[:-1, MISSING] == 0
        return int(np.bincount(self._tables.node[:-1, f.STAGE][free]).max(initial=0))

    def _started(
        self, profile: ExecutionProfile, room: int, marks: Ints, told: Ints | None
    ) -> ClassState:
        first, members = self._lowered.stage_start, self._graph.plan.npus_per_stage
        categories = len(self._lowered.categories)
        state = started(self._tables, first, categories, profile, members, room)
        state.marks, state.told = marks, state.told if told is None else told
        settle(state, self._tables, np.empty((0, 4), np.int64))
        state.counter[f.LEAD], state.counter[f.HORIZON] = self._ends.between.lead_ns, NEVER
        return state

    def _run(self, state: ClassState, watch: PeriodWatch, sends: Sends | None) -> bool:
        """Run from the start to the end, or until the watch has settled; False: room ran out."""
        known: list[Axis] = []
        if sends is not None:
            sends.begin(state)
        start(*state.arrays)
        while True:
            why = run(*state.arrays, state.memo) if sends is None else sends.run(state)
            if why == f.NO_ROOM:
                return False
            if why == f.FINISHED:
                return True
            elif why == f.AT_MARK:
                watch.look(state)
                if watch.is_settled:
                    return True
            elif why == f.APART:
                number = int(state.counter[f.NEW_AXIS])
                known.append(self._tables.axes[number])
                watch.tell_apart(tell_apart(state, self._tables, self._places.classes(known)))
                look_for_collectives(
                    state.node, state.npu, state.at, state.table, state.event, state.counter, number
                )
            else:
                self._end_collective(state)

    def _end_collective(self, state: ClassState) -> None:
        """Work out when the members of the collective end whose last member has begun."""
        members = members_of(state.node, state.npu, state.at, state.table, state.counter)
        item = int(state.node[members[0, f.AT_NODE], f.ITEM])
        operation, began = self._graph.collectives[item], members[:, f.BEGAN]
        stage, number = np.divmod(members[:, f.MEMBER], state.classes.count)
        if is_shared(self._graph.plan, operation.axis):
            ends = self._ends.between.ends(item, stage.tolist(), began)
        else:
            trees = set(members[:, f.FIRST_TREE].tolist())
            if len(trees) > 1:
                raise SimulationError(f"members of {operation.name} are at different trees")
            place = self._ends.placements[operation.axis]
            own = np.searchsorted(number, state.classes.groups[operation.axis][number[0]])
            ends = self._ends.within.ends(operation, place, began, own, trees.pop())
            keep_ends(state, members, ends)
        end_members(state.node, state.npu, state.at, state.event, state.counter, members, ends)

    def _deadlock(self, state: ClassState) -> Exception:
        """Names the nodes that wait for ever."""
        waiting, among_stages = [], len(self._graph.stages) > 1
        for stage, graph in enumerate(self._graph.stages):
            own = state.columns(stage)
            left = np.flatnonzero((state.waits[:, own] != f.ENDED).any(axis=0))
            if left.size:
                at = graph.nodes - (own.stop - own.start) + int(left[0])
                place = f"stage {stage} " if among_stages else ""
                waiting.append(f"{place}{self._described(graph, at)} (node {at})")
        where = "; ".join(waiting[:4])
        if self._tables.in_step:
            return SimulationError(f"the stages wait for each other: {where}")
        return InfeasibleError(
            "collectives_end",
            "NPUs wait for each other for ever, as members of a group begin its collectives in "
            f"different orders; they wait at: {where}",
        )

    def _described(self, graph: StageGraph, at: int) -> str:
        """A node in words."""
        kind = NodeKind(int(graph.kind[at]))
        if kind is not NodeKind.COLLECTIVE:
            return kind.name.lower()
        operation = self._graph.collectives[int(graph.item[at])]
        return f"{operation.kind.name.lower()} over {operation.axis}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NodeTimes:
    """An iteration node by node.

    Attributes:
        graph: What was executed.
        lowered: Its nodes with their times on this machine.
        execution: When they ran.
    """

    graph: TrainingGraph
    lowered: Lowered
    execution: Execution


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ran:
    """An iteration as an engine carried it out; see ``Iteration``."""

    categories: tuple[str, ...]
    finish_ns: Ints
    booked_ns: Ints
    events: int
    npus: int
    situations: int = 0
    repeated: int = 0
    nodes: NodeTimes | None = None
    account: NetworkAccount = field(default_factory=NetworkAccount)

    @classmethod
    def of_nodes(cls, graph: TrainingGraph, lowered: Lowered, execution: Execution) -> "Ran":
        """An iteration of which every node was executed."""
        return cls(
            categories=lowered.categories,
            finish_ns=execution.finish_ns,
            booked_ns=execution.booked_ns,
            events=execution.events,
            npus=execution.npus,
            nodes=NodeTimes(graph=graph, lowered=lowered, execution=execution),
        )

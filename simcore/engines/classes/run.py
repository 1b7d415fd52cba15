"""Executes an iteration node by node: one NPU for each class of alike ones."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from simcore.engines.classes.histories import Histories
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
from simcore.workload.graph import Axis, CollectiveOp, StageGraph, TrainingGraph

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
        histories = state.histories
        finish = state.npu[:, BOOKED_UNTIL].reshape(-1, histories.count)
        last = finish.argmax(axis=1) + np.arange(len(self._graph.stages)) * histories.count
        booked = state.booked[last]
        booked[:, -1] += finish.max() - state.npu[last, BOOKED_UNTIL]
        return Execution(
            start_ns=state.node[:-1, f.STARTED],
            end_ns=state.node[:-1, f.HAS_ENDED],
            finish_ns=finish.max(axis=1),
            booked_ns=booked,
            events=int(state.counter[f.ENDED_NODES]),
            npus=state.npu.shape[0],
            last=histories.classes.firsts[histories.firsts[last % histories.count]],
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
                known = [*state.histories.classes.groups]
                known.append(self._tables.axes[int(state.counter[f.NEW_AXIS])])
                self._part(state, watch, state.histories.among(self._places.classes(known)))
                self._look_again(state)
            elif why == f.IN_PARTS:
                self._part(state, watch, self._whole_groups(state))
                self._look_again(state)
            else:
                self._end_collective(state, watch)

    def _part(self, state: ClassState, watch: PeriodWatch, finer: Histories) -> None:
        """Go on with *finer* histories."""
        watch.tell_apart(tell_apart(state, self._tables, finer))

    def _look_again(self, state: ClassState) -> None:
        """Find the collectives that all members have begun."""
        look_for_collectives(
            state.node, state.npu, state.at, state.table, state.event, state.counter
        )

    def _whole_groups(self, state: ClassState) -> Histories:
        """Histories apart of which some groups have begun as a whole and others have not."""
        who, node = state.counter[[f.PARTED, f.PARTED_NODE]].tolist()
        axis = self._graph.collectives[int(state.node[node, f.ITEM])].axis
        count = state.histories.count
        first = who - who % count
        begun = [number for number in range(count) if state.holds(first + number, node)]
        return state.histories.parted(axis, begun)

    def _end_collective(self, state: ClassState, watch: PeriodWatch) -> None:
        """Work out when the members of the collective end whose last member has begun."""
        members = members_of(state.node, state.npu, state.at, state.table, state.counter)
        item = int(state.node[members[0, f.AT_NODE], f.ITEM])
        operation = self._graph.collectives[item]
        if is_shared(self._graph.plan, operation.axis):
            stages = members[:, f.MEMBER] // state.histories.count
            ends = self._ends.between.ends(item, stages.tolist(), members[:, f.BEGAN])
            end_members(state.node, state.npu, state.at, state.event, state.counter, members, ends)
            return
        before = state.histories
        found = self._ends_of_classes(before, operation, members)
        if found[found >= 0].min() < state.counter[f.NOW]:
            raise SimulationError(f"members of {operation.name} end before others have begun")
        parts = not before.share(found)
        if parts:
            after = Histories.told_apart(before.classes, before.of_class, found)
            members = _members_parted(before, after, members)
            self._part(state, watch, after)
            state.counter[f.DUE] = 1  # this one; others are looked for
        ends = found[state.histories.firsts[members[:, f.MEMBER] % state.histories.count]]
        if not parts:
            keep_ends(state, members, ends)
        end_members(state.node, state.npu, state.at, state.event, state.counter, members, ends)
        if parts:
            self._look_again(state)

    def _ends_of_classes(
        self, histories: Histories, operation: CollectiveOp, members: Ints
    ) -> Ints:
        """(K,) int64: the end of each class that takes part, -1 of the others.

        Args:
            histories: Those of the NPUs.
            operation: The collective.
            members: Histories that take part, as ``members_of`` gives them.

        Raises:
            SimulationError: Members of one class do not end together.
        """
        trees = set(members[:, f.FIRST_TREE].tolist())
        if len(trees) > 1:
            raise SimulationError(f"members of {operation.name} are at different trees")
        (tree,) = trees
        began = np.full(histories.count, -1, np.int64)
        began[members[:, f.MEMBER] % histories.count] = members[:, f.BEGAN]
        groups, patterns = (
            histories.classes.groups[operation.axis],
            histories.patterns(operation.axis),
        )
        taking = np.flatnonzero(began[patterns.histories[:, 0]] >= 0)
        place, found = (
            self._ends.placements[operation.axis],
            np.full(groups.row_of.size, -1, np.int64),
        )
        for pattern in taking.tolist():
            starts = began[patterns.histories[pattern]]
            ends = self._ends.within.ends(operation, place, starts, tree)
            rows = groups.classes[patterns.of_row == pattern]
            found[rows] = ends
            if (found[rows] != ends).any():
                raise SimulationError("members at alike places do not end together")
        return found

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


def _members_parted(before: Histories, after: Histories, members: Ints) -> Ints:
    """Members of a collective as the histories that theirs have become."""
    parent = before.of_class[after.firsts]
    stage, number = np.divmod(members[:, f.MEMBER], before.count)
    of_history = np.full(before.count, -1, np.int64)
    of_history[number] = np.arange(number.size)
    own = np.flatnonzero(of_history[parent] >= 0)
    found: Ints = members[of_history[parent[own]]]
    found[:, f.MEMBER] = stage[0] * after.count + own
    return found


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

"""Times of the stages of a plan, as sums over its collectives and over paths through its graphs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from simcore.bounds.plans.last_pass import last_pass
from simcore.bounds.plans.stage_content import UnitsRead
from simcore.bounds.plans.stage_paths import (
    Pass,
    Segment,
    StageReader,
    after_entry,
    last_compute,
)
from simcore.kernels.bounds import tables as kernel_tables
from simcore.terms import CollectiveKind, NodeKind
from simcore.units import plain_sum
from simcore.workload import ParallelPlan
from simcore.workload.graph import Axis, CollectiveOp, TrainingGraph
from simcore.workload.schedules import SCHEDULES, Units

Collective = tuple[CollectiveKind, Axis, int]
"""Kind, axis and bytes."""

Key = tuple[str, int]
"""A term of a sum: ``("collective", k)``, ``("exit", g)`` or ``("last", g)``."""

Rooms = frozenset[tuple[tuple[int, ...], int]]
"""Conditions of ways through a last pass: numbers of collectives, and the operator that takes more
time than these in all."""

_BETWEEN_STAGES = (Axis.PP, Axis.EMBEDDING)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StageSums:
    """Times of one kind of stage as sums, by the indices of ``kernels.bounds.tables``."""

    terms: Mapping[int, Counter[Key]]
    constants: Mapping[int, float]


@dataclass(slots=True, eq=False)
class PlanItems:
    """Segments and collectives of a plan, numbered as they are met.

    Attributes:
        graph: Of the plan.
        operator_ns: Times of its operators.
        rooms: Conditions of the ways through the last pass of each stage.
    """

    graph: TrainingGraph
    operator_ns: Sequence[float]
    collectives: dict[Collective, int] = field(default_factory=dict)
    segments: dict[Segment, int] = field(default_factory=dict)
    rooms: list[Rooms] = field(default_factory=list)

    def number(self, item: int) -> int:
        """Number of the collective *item* among the distinct ones; -1 between stages."""
        operation = self.graph.collectives[item]
        if operation.axis in _BETWEEN_STAGES:
            return -1
        return self.collectives.setdefault(identity(operation), len(self.collectives))

    def segment(self, segment: Segment) -> int:
        """Number of a segment."""
        return self.segments.setdefault(segment, len(self.segments))


def identity(operation: CollectiveOp) -> Collective:
    """All that tells one collective from another."""
    return operation.kind, operation.axis, operation.size_bytes


def overlaps(plan: ParallelPlan) -> bool:
    """True if passes of a stage run beside each other."""
    return SCHEDULES[plan.schedule].overlaps


def has_own_first_unit(plan: ParallelPlan) -> bool:
    """True if something runs beside the first forward unit of an iteration alone."""
    return plan.updates.runs_beside or (plan.overlap_weights and plan.zero_stage in (1, 2))


class StageSummer:
    """Writes the sums of one stage."""

    def __init__(self, plan: PlanItems, reader: StageReader, units: Units, read: UnitsRead) -> None:
        self._plan, self._reader, self._read = plan, reader, read
        self._backward, self._last_unit = units.backward, read.last
        self._passes: dict[int, Pass] = {}

    def sums(self) -> StageSums:
        forward, backward = self._read.forward, self._read.backward
        last = self._pass(self._last_unit)
        first = self._pass(forward[0])
        terms = {
            kernel_tables.FORWARD_EXIT: self._path(first.segments, to_exit=True),
            kernel_tables.BACKWARD_EXIT: self._path(last.segments, to_exit=True),
            kernel_tables.BACKWARD_LAST: self._path(last.segments, to_exit=False),
            kernel_tables.SLOT: self._numbered(
                Counter(self._items([*forward, *backward], NodeKind.COLLECTIVE))
            ),
        }
        constants = {
            kernel_tables.SENDS: float(len(self._items([*forward, *backward], NodeKind.SEND)))
        }
        for which, units in (
            (kernel_tables.FORWARDS, forward),
            (kernel_tables.BACKWARDS, backward),
        ):
            if overlaps(self._plan.graph.plan):
                items = [op for unit in units for op in self._reader.operators(unit)]
                constants[which] = float(plain_sum(self._plan.operator_ns[item] for item in items))
            else:
                terms[which] = self._serial(units)
        return StageSums(terms=terms | self._crowded() | self._tail(last), constants=constants)

    def _crowded(self) -> dict[int, Counter[Key]]:
        """Ways through the last pass, past gradients that are sooner in the slot."""
        plan, unit = self._plan.graph.plan, self._last_unit
        if overlaps(plan) or SCHEDULES[plan.schedule].splits_backward:
            return {}
        found = last_pass(self._reader, unit, self._leaves(unit))
        rooms = frozenset(
            [(tuple(map(self._plan.number, room.beside)), room.compute) for room in found.rooms]
        )
        if not found.segments or any(-1 in beside for beside, _ in rooms):
            return {}
        self._plan.rooms.append(rooms)
        numbers = [self._plan.segment(segment) for segment in found.segments]
        before = Counter(("exit", number) for number in numbers[:-1])
        return {
            kernel_tables.FINAL_EXIT: before + Counter([("exit", numbers[-1])]),
            kernel_tables.FINAL_LAST: before + Counter([("last", numbers[-1])]),
        }

    def _items(self, units: Sequence[int], kind: NodeKind) -> list[int]:
        """Operators or collectives of all nodes of a *kind* in some units."""
        return [item for unit in units for item in self._reader.items(self._nodes(unit), kind)]

    def _nodes(self, unit: int) -> range:
        return range(self._reader.unit_start[unit], self._reader.unit_start[unit + 1])

    def _pass(self, unit: int) -> Pass:
        """Its exit is what the message waits for; else what the backward pass of it waits for."""
        if unit not in self._passes:
            self._passes[unit] = self._reader.read(unit, self._leaves(unit))
        return self._passes[unit]

    def _leaves(self, unit: int) -> set[int]:
        leaves = set(self._reader.exits(unit))
        if not leaves and not self._backward[unit] and unit < self._last_unit:
            leaves = set(self._reader.entry(unit + 1)) & set(self._nodes(unit))
        return leaves or {last_compute(self._reader, unit)}

    def _path(self, segments: Sequence[Segment], *, to_exit: bool) -> Counter[Key]:
        total: Counter[Key] = Counter(("exit", self._plan.segment(s)) for s in segments[:-1])
        total["exit" if to_exit else "last", self._plan.segment(segments[-1])] += 1
        return total

    def _serial(self, units: Sequence[int]) -> Counter[Key]:
        """Each unit from its entry to its last compute node."""
        total: Counter[Key] = Counter()
        for unit in units:
            total += self._path(self._pass(unit).segments, to_exit=False)
        return total

    def _collectives(self, nodes: Sequence[int]) -> Counter[Key]:
        """Collectives in *nodes*, but for shared ones."""
        items = [
            self._reader.item[node]
            for node in nodes
            if self._reader.kind[node] == NodeKind.COLLECTIVE
        ]
        return self._numbered(Counter(items))

    def _numbered(self, items: Counter[int]) -> Counter[Key]:
        total: Counter[Key] = Counter()
        for item, count in items.items():
            number = self._plan.number(item)
            if number >= 0:
                total["collective", number] += count
        return total

    def _tail(self, last: Pass) -> dict[int, Counter[Key]]:
        """The end of the iteration: before and after the stages meet in the gradient norm."""
        reader, nodes = self._reader, list(self._nodes(self._last_unit + 1))
        done = last_compute(reader, self._last_unit)
        syncs = [node for node in nodes if self._is_sync(node)][-1:]  # the norm, after any flag
        norm = next(node for node in nodes if reader.kind[node] == NodeKind.COMPUTE)
        ends = [dep for node in syncs for dep in reader.deps(node)] or nodes
        entered = [node for node in nodes if done in reader.deps(node)]
        after = [node for node in nodes if set(syncs) & set(reader.deps(node))]
        return {
            kernel_tables.TO_SYNC: self._between(nodes, entered, ends, done),
            kernel_tables.STEP_TO_SYNC: self._between(nodes, [norm], ends, norm),
            kernel_tables.AFTER_SYNC: self._between(nodes, after, nodes, max(nodes)) if after else
            Counter(),
            kernel_tables.TAIL_SLOT: self._collectives(nodes),
            kernel_tables.DRAIN: self._drain(last, nodes, norm),
        }  # fmt: skip

    def _is_sync(self, node: int) -> bool:
        if self._reader.kind[node] != NodeKind.COLLECTIVE:
            return False
        return self._plan.graph.collectives[self._reader.item[node]].axis is Axis.PP

    def _between(
        self, nodes: Sequence[int], entries: Sequence[int], exits: Sequence[int], last: int
    ) -> Counter[Key]:
        """The longest path among *nodes*, as a segment of its own."""
        number = {node: index for index, node in enumerate(nodes)}
        segment = Segment(
            tuple((self._reader.kind[node], self._reader.item[node]) for node in nodes),
            tuple(
                tuple(number[dep] for dep in self._reader.deps(node) if dep in number)
                for node in nodes
            ),
            tuple(number[node] for node in entries),
            tuple(number[node] for node in exits if node in number),
            number.get(last, 0),
        )
        return Counter({("exit", self._plan.segment(after_entry(segment))): 1})

    def _drain(self, last: Pass, nodes: Sequence[int], norm: int) -> Counter[Key]:
        """From the start of the last pass until its gradients are summed, by the work of one slot.

        All collectives that the gradient norm waits for and that cannot start before some moment
        of the last pass follow each other.
        """
        reader, begin = self._reader, self._reader.unit_start[self._last_unit]
        chosen, awaited = [], set(reader.deps(norm))
        for node in reversed(nodes):
            if node in awaited and node != norm:
                deps = reader.deps(node)
                awaited.update(deps)
                if max(deps, default=-1) >= begin:
                    chosen.append(node)
        scatters = [
            node for node in awaited if begin <= node < nodes[0] and not self._in_path(last, node)
        ]
        ready = [dep for node in chosen for dep in reader.deps(node)[:1] if dep < nodes[0]]
        if scatters:  # some are ready early in the pass
            ready = []
        total: Counter[Key] = Counter()
        later = 0
        if ready:
            holder = max(i for i, start in enumerate(last.starts) if start <= min(ready))
            segments = last.segments
            total += Counter(("exit", self._plan.segment(s)) for s in segments[:holder])
            later = holder
            segment = segments[holder]
            if segment.last in segment.before(segment.exits) and self._is_last(last, holder, ready):
                total["last", self._plan.segment(segment)] += 1
                later += 1
        total += self._collectives([*chosen, *scatters])
        for index, segment in enumerate(last.segments[later:], start=later):
            final = index + 1 == len(last.segments)
            ends = (segment.last,) if final else segment.exits
            total += self._numbered(segment.collectives(segment.before(ends) & segment.after()))
        return total

    def _is_last(self, last: Pass, holder: int, ready: Sequence[int]) -> bool:
        """True if the earliest of *ready* is the last compute node of its segment."""
        at = last.starts[holder]
        stop = last.starts[holder + 1] if holder + 1 < len(last.starts) else max(ready) + 1
        computing = [n for n in range(at, stop) if self._reader.kind[n] == NodeKind.COMPUTE]
        return bool(computing) and computing[-1] == min(ready)

    def _in_path(self, last: Pass, node: int) -> bool:
        """True if a later node of the last pass waits for *node*: counted with its segment."""
        final = last.starts[-1]
        segment = last.segments[-1]
        number = node - final
        if 0 <= number < len(segment.nodes):
            return number in segment.before((segment.last,))
        index = max(i for i, start in enumerate(last.starts) if start <= node)
        segment = last.segments[index]
        return node - last.starts[index] in segment.before(segment.exits)

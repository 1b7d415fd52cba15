"""One block of designs: which of them can be simulated together, and their figures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.bounds.design_columns import Codes
from simcore.checks import RunChecks
from simcore.config import RunTemplate
from simcore.engines.stages.workspace import Workspace
from simcore.errors import ConfigError, InfeasibleError
from simcore.kernels.many import stage_rows, tables
from simcore.kernels.many.row_times import time_rows
from simcore.machine import Dimension
from simcore.machine.system import System
from simcore.many.limits import Countable
from simcore.many.lists import Lists
from simcore.many.machines import Machines, is_plain
from simcore.many.parts import Accelerator, Facts, PartRows, Parts, distinct_pairs
from simcore.many.places import UNTILED
from simcore.many.plans import PlanRow, plan_tables
from simcore.many.remarks import Remarked, Remarks
from simcore.many.together import Together, empty_times
from simcore.memo import Memo
from simcore.network import BACKENDS

_PLANS_KEPT = 16384
"""Plans that are kept, some 25 kB each; more are let go, and worked out again when asked for."""

_PART_LET_GO = 4
"""Part of the plans kept that at least makes room at once: one in so many, the oldest first."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

NOT_READ = "a part of the run is refused, or cannot be read by itself"
ORDER = "collectives whose chunks pass the dimensions in other orders run on every NPU"
SHAPE = "NPUs of a dimension lie at places that differ"
MEETING = "messages of this backend meet"
TIED = "the order of events at one time decides"
INEXACT = "sums of bytes depend on their order"
MOVING = "computes lose time to communication (system.mover), node by node"
MEMBER_BY_MEMBER = "members of a collective end one by one (phase_end: each)"
UNCOUNTED = "times may be beyond what is counted"
IMPOSSIBLE = "a figure is not finite, or below 0"
NODES = "units of this schedule, or nodes without time, are followed one by one"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch:
    """Figures of a block of designs.

    Attributes:
        time_ns: (N,) int64, 0 where a design was not simulated.
        metrics: (N,) float64 by name.
        errors: Of designs that break a rule.
        apart: Reasons for which others are to be simulated one by one.
        remarks: By number of a design that has a result, those on it, and its place among them.
    """

    time_ns: Ints
    metrics: dict[str, Floats] = field(default_factory=dict)
    errors: dict[int, InfeasibleError] = field(default_factory=dict)
    apart: dict[int, str] = field(default_factory=dict)
    remarks: dict[int, tuple[Remarks, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, designs: int) -> "Batch":
        return cls(time_ns=np.zeros(designs, np.int64))

    def take(
        self, rows: Ints, ended: Ints, remarks: Remarks, metrics: Mapping[str, Floats]
    ) -> None:
        """Note results of the designs *rows*, those that have *ended* among them."""
        own = rows[ended]
        self.time_ns[own] = remarks.outcomes.end_ns[ended]
        for name, values in metrics.items():
            column = self.metrics.setdefault(name, np.full(self.time_ns.size, np.nan))
            column[own] = values[ended]
        pairs = zip(own.tolist(), ended.tolist(), strict=True)
        self.remarks.update({row: (remarks, at) for row, at in pairs})

    def set_apart(self, rows: Ints, why: str) -> None:
        """The designs *rows* are simulated one by one."""
        self.apart.update(dict.fromkeys(rows.tolist(), why))


class Tables:
    """All that designs of one run file have asked for so far.

    Args:
        template, choices: As for ``Parts``.
        memo: What other runs have found, and what these add.
        margin: Part of the memory that designs have to leave; None: memory is not checked.
        share: Part of every link's bandwidth that can be used.
    """

    def __init__(
        self,
        template: RunTemplate,
        choices: Mapping[str, Sequence[Any]],
        memo: Memo,
        margin: float | None,
        share: float = 1.0,
    ) -> None:
        self.memo, self._margin = memo, margin
        self._checks = RunChecks(self.memo)
        self._parts = Parts(template, choices, share)
        self._machines = Machines(self._parts.count)
        self._plans: dict[int, PlanRow] = {}
        self._remarked = Remarked()
        self._lists = Lists()
        self._workspace = memo.of("workspace", None, Workspace)
        self._seen: tuple[int, ...] = ()
        self._countable: Countable | None = None
        self._verdicts: dict[tuple[int, int], str | InfeasibleError] = {}
        self._plain = Facts[Dimension](is_plain, np.bool_)
        self._ordered = Facts[System](lambda s: s.inter_dimension == "ascending", np.bool_)
        self._unmoved = Facts[System](lambda s: not s.mover, np.bool_)
        self._joint = Facts[System](lambda s: s.phase_end == "together", np.bool_)
        self._unaware = Facts[Accelerator](_is_unaware, np.bool_)

    @property
    def are_read(self) -> bool:
        """True if the parts of designs are read one by one."""
        return bool(self._parts.count)

    def blocks(self, codes: Codes, designs: int, size: int) -> Iterator[Ints]:
        """Blocks of at most *size* of the designs, such that those with like programs are together.

        The plans of a block are worked out when it is handed out.
        """
        if not self._parts.count:
            yield from _cut(np.arange(designs), size)
            return
        work = self._parts.rows(codes, slice(0, designs)).work
        numbers, own = np.unique(work, return_inverse=True)
        for first in range(0, numbers.size, _PLANS_KEPT):
            some = numbers[first : first + _PLANS_KEPT]
            self._learn(some[some >= 0].tolist())
            alike = np.array([self._place(number) for number in some.tolist()], np.int64)
            rows = np.flatnonzero((own >= first) & (own < first + some.size))
            yield from _cut(rows[np.lexsort((own[rows], alike[own[rows] - first]))], size)

    def _place(self, number: int) -> int:
        """Place in an order in which plans with like programs are neighbours."""
        plan = self._plans.get(number)
        return 0 if plan is None or plan.code is None else plan.code.place

    def recall(self, codes: Codes, row: int) -> None:
        """Let a run of the design *row* by itself find the programs of its plan."""
        if not self._parts.count:
            return
        number = int(self._parts.rows(codes, slice(row, row + 1)).work[0])
        plan = self._plans.get(number)
        if plan is not None and plan.code is not None:
            plan.code.keep(self.memo)

    def simulate(self, codes: Codes, designs: int) -> Batch:
        """Simulate the *designs* of *codes*, those that can be together."""
        found = Batch.of(designs)
        if not self._parts.count:
            found.set_apart(np.arange(designs), NOT_READ)
            return found
        part = self._parts.rows(codes, slice(0, designs))
        self._learn(np.unique(part.work[part.work >= 0]).tolist())
        rows = self._readable(part, found)
        rows, place = self._tiled(part, rows, found)
        rows, place = self._held(part, rows, place, found)
        if rows.size:
            self._run(part, rows, place, found)
        return found

    def _learn(self, numbers: Sequence[int]) -> None:
        """Work out the plans with these *numbers*, unless they are known."""
        new = [number for number in numbers if number not in self._plans]
        surplus = len(self._plans) + len(new) - _PLANS_KEPT
        if surplus > 0:
            self._let_go(max(surplus, _PLANS_KEPT // _PART_LET_GO), set(numbers))
        for number in new:
            work = self._parts.work.things[number]
            self._plans[number] = PlanRow.of(*work, self._checks, self.memo)

    def _let_go(self, count: int, asked: set[int]) -> None:
        """Let at most *count* plans go that are not *asked* for."""
        kept = iter([number for number in self._plans if number not in asked])
        gone = set(islice(kept, count))
        # in a new table: remarks on earlier designs hold the one with the plans that they need
        self._plans = {n: plan for n, plan in self._plans.items() if n not in gone}
        self._remarked = Remarked()

    def _readable(self, part: PartRows, found: Batch) -> Ints:
        """Designs all of whose parts are known and such that one NPU stands for all of a stage."""
        parts, rows = self._parts, np.arange(part.work.size)
        plain = self._plain.about_and(parts.dimensions.things, last=False)
        ordered = self._ordered.about_and(parts.systems.things, last=False)
        unmoved = self._unmoved.about_and(parts.systems.things, last=False)
        alone = self._unaware.about_and(parts.accelerators.things, last=False)
        named = self._machines.vectors(parts.systems.things).min(axis=(1, 2), initial=0) >= 0
        fine = self._fine(
            rows,
            found,
            (part.are_known & named[part.system], NOT_READ),
            (alone[part.accelerator], MEETING),
            (np.asarray(plain[part.dimensions].all(axis=1)), SHAPE),
            (ordered[part.system], ORDER),
            (unmoved[part.system], MOVING),
        )
        return rows[fine]

    def _tiled(self, part: PartRows, rows: Ints, found: Batch) -> tuple[Ints, Ints]:
        """Designs whose plans keep all rules of structure, and places of their groups."""
        npus = np.array([one.npus for one in self._parts.dimensions.things], np.int64)
        if not rows.size:
            return rows, np.zeros((0, 0), np.int64)
        sizes, work = npus[part.dimensions[rows]], part.work[rows]
        place = self._machines.places.find(self._plans, work, sizes)
        numbers, which = np.unique(work, return_inverse=True)
        plans = [self._plans[number] for number in numbers.tolist()]
        needed = np.array([0 if one.error else one.plan.npus for one in plans], np.int64)
        fits = needed[which] == sizes.prod(axis=1)
        fits &= (place != UNTILED).all(axis=1)
        for at in np.flatnonzero(~fits).tolist():
            plan = self._plans[int(work[at])]
            try:
                self._checks.structure_on(plan.workload, plan.plan, tuple(sizes[at].tolist()))
            except InfeasibleError as error:
                found.errors[int(rows[at])] = error
            else:
                found.apart[int(rows[at])] = plan.apart or NOT_READ
        return rows[fits], place[fits]

    def _held(self, part: PartRows, rows: Ints, place: Ints, found: Batch) -> tuple[Ints, Ints]:
        """Designs whose memory suffices, if that is asked, and whose times can be counted."""
        if not rows.size:
            return rows, place
        pairs, _, which = distinct_pairs(part.work[rows], part.accelerator[rows])
        verdicts = [self._verdict(*pair) for pair in pairs]
        fits = np.array([verdict == "" for verdict in verdicts])[which]
        for at in np.flatnonzero(~fits).tolist():
            row, pair = int(rows[at]), int(which[at])
            verdict = verdicts[pair]
            if verdict == UNCOUNTED:  # on the slowest machine of all; on its own one perhaps
                verdict = self._judged(*pairs[pair], self._own_machine(part, row))
            if isinstance(verdict, InfeasibleError):
                found.errors[row] = verdict
            elif verdict:
                found.apart[row] = verdict
            fits[at] = verdict == ""
        return rows[fits], place[fits]

    def _own_machine(self, part: PartRows, row: int) -> Countable:
        """The machine of one design."""
        dimensions = [self._parts.dimensions.things[d] for d in part.dimensions[row].tolist()]
        system = self._parts.systems.things[part.system[row]]
        return Countable.of(dimensions, [system], len(dimensions))

    def _verdict(self, plan: int, accelerator: int) -> str | InfeasibleError:
        """Rule that a plan breaks on an accelerator; why it is simulated apart; or nothing."""
        things = self._parts.dimensions.things, self._parts.systems.things
        seen = len(things[0]), len(things[1])
        if seen != self._seen:
            flags = self._plain.about(things[0]).tolist()
            plain = [one for one, is_one in zip(things[0], flags, strict=True) if is_one]
            countable, self._seen = Countable.of(plain, things[1], self._parts.count), seen
            if countable != self._countable:
                self._countable = countable
                self._verdicts.clear()
        if (plan, accelerator) not in self._verdicts:
            assert self._countable is not None, "verdicts are asked for once there are machines"
            self._verdicts[plan, accelerator] = self._judged(plan, accelerator, self._countable)
        return self._verdicts[plan, accelerator]

    def _judged(self, plan: int, accelerator: int, countable: Countable) -> str | InfeasibleError:
        """``_verdict`` on a machine that counts what *countable* does."""
        row, (npu, compute, _) = self._plans[plan], self._parts.accelerators.things[accelerator]
        if row.apart:
            return row.apart
        operator_ns = partial(self._operator_ns, plan, accelerator)
        try:
            if not countable.holds(row, npu, compute, operator_ns):
                return UNCOUNTED
        except (InfeasibleError, ConfigError):
            return UNCOUNTED
        try:
            if self._margin is not None:
                self._checks.memory_on(row.workload, npu, row.plan, self._margin)
        except InfeasibleError as error:
            return error
        return ""

    def _operator_ns(self, plan: int, accelerator: int) -> Ints:
        npu, compute, _ = self._parts.accelerators.things[accelerator]
        return self._plans[plan].known.operator_ns_of(npu, compute)

    def _run(self, part: PartRows, rows: Ints, place: Ints, found: Batch) -> None:
        """Simulate the designs *rows*, whose groups lie at *place*."""
        parts, own = self._parts, part.of(rows)
        numbers, plan = np.unique(own.work, return_inverse=True)
        table = plan_tables([self._plans[number] for number in numbers.tolist()])
        machine = self._machines.rows(own, place, plan.ravel(), parts)
        times = empty_times(table, machine)
        time_rows(table, machine, self._machines.phases(table, machine), times)
        together = Together(
            plans=self._plans,
            parts=parts,
            part=own,
            machine=machine,
            times=times,
            operator_ns=self._operator_ns,
            lists=self._lists,
        )
        joint = self._joint.about_and(parts.systems.things, last=False)
        held = ~joint[own.system] & (times.held_ns > 0)
        fine = self._fine(
            rows,
            found,
            (times.state != tables.ORDER_DECIDES, TIED),
            (times.state != tables.INEXACT, INEXACT),
            (~held, MEMBER_BY_MEMBER),
        )
        outcomes = together.run(np.flatnonzero(fine), self._workspace)
        state = np.where(fine, outcomes.state, stage_rows.ENDED)
        metrics, possible = together.metrics(
            np.flatnonzero(fine & (state == stage_rows.ENDED)), outcomes
        )
        possible[~fine] = True
        fine &= self._fine(
            rows,
            found,
            (state != stage_rows.NO_TIME, NODES),
            (state == stage_rows.ENDED, TIED),
            (possible, IMPOSSIBLE),
        )
        remarks = Remarks(together=together, outcomes=outcomes, known=self._remarked)
        found.take(rows, np.flatnonzero(fine), remarks, metrics)

    @staticmethod
    def _fine(rows: Ints, found: Batch, *conditions: tuple[Bools, str]) -> Bools:
        """(N,) bool, designs that meet all *conditions*; the others of *rows* are set apart."""
        fine = np.ones(rows.size, np.bool_)
        for holds, why in conditions:
            found.set_apart(rows[fine & ~holds], why)
            fine &= holds
        return fine


def _cut(rows: Ints, size: int) -> Iterator[Ints]:
    """*rows* in order, at most *size* at a time."""
    for begin in range(0, rows.size, size):
        yield rows[begin : begin + size]


def _is_unaware(accelerator: Accelerator) -> bool:
    """True if messages of the backend do not meet."""
    return accelerator[2] in BACKENDS and not BACKENDS[accelerator[2]].messages_meet

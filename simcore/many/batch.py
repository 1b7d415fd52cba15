"""One block of designs: which of them can be simulated together, and their figures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from simcore.bounds.design_columns import Codes
from simcore.checks import RunChecks
from simcore.config import RunTemplate
from simcore.engines.collectives.members import Subsystem
from simcore.engines.stages.run import Workspace
from simcore.errors import ConfigError, InfeasibleError
from simcore.kernels.many import stage_rows, tables
from simcore.kernels.many.row_times import time_rows
from simcore.many.groups import Outcomes, Prepared, run_groups
from simcore.many.limits import Countable
from simcore.many.machines import Machines, is_plain
from simcore.many.parts import Accelerator, PartRows, Parts, distinct_pairs
from simcore.many.places import UNTILED
from simcore.many.plans import PlanRow, plan_tables
from simcore.memo import Memo
from simcore.network import BACKENDS
from simcore.result import figures_of

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

T = TypeVar("T")

NOT_READ = "a part of the run is refused, or cannot be read by itself"
ORDER = "collectives whose chunks pass the dimensions in other orders run on every NPU"
SHAPE = "NPUs of a dimension lie at places that differ"
MEETING = "messages of this backend meet"
TIED = "the order of events at one time decides"
INEXACT = "sums of bytes depend on their order"
ONE_BY_ONE = "members of a collective end one by one (phase_end: each)"
UNCOUNTED = "times may be beyond what is counted"
NODES = "units of this schedule, or nodes without time, are followed one by one"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch:
    """Figures of a block of designs.

    Attributes:
        time_ns: (N,) int64, 0 where a design was not simulated.
        metrics: (N,) float64 by name.
        errors: Of designs that break a rule.
        apart: Reasons for which others are to be simulated one by one.
    """

    time_ns: Ints
    metrics: dict[str, Floats] = field(default_factory=dict)
    errors: dict[int, InfeasibleError] = field(default_factory=dict)
    apart: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, designs: int) -> "Batch":
        return cls(time_ns=np.zeros(designs, np.int64))

    def set_apart(self, rows: Ints, why: str) -> None:
        """The designs *rows* are simulated one by one."""
        self.apart.update(dict.fromkeys(rows.tolist(), why))


class Tables:
    """All that designs of one run file have asked for so far.

    Args:
        template, choices: As for ``Parts``.
        margin: Part of the memory that designs have to leave; None: memory is not checked.
    """

    def __init__(
        self,
        template: RunTemplate,
        choices: Mapping[str, Sequence[Any]],
        margin: float | None,
    ) -> None:
        self.memo, self._margin = Memo(), margin
        self._checks = RunChecks(self.memo)
        self._parts = Parts(template, choices)
        self._machines = Machines(self._parts.count)
        self._plans: list[PlanRow] = []
        self._workspace = Workspace()
        self._seen: tuple[int, ...] = ()
        self._countable: Countable
        self._verdicts: dict[tuple[int, int], str | InfeasibleError] = {}

    def order(self, codes: Codes, designs: int) -> Ints:
        """Order in which designs with like plans stand together."""
        if not self._parts.count:
            return np.arange(designs)
        return np.argsort(self._parts.rows(codes, slice(0, designs)).work, kind="stable")

    def simulate(self, codes: Codes, designs: int) -> Batch:
        """Simulate the *designs* of *codes*, those that can be together."""
        found = Batch.of(designs)
        if not self._parts.count:
            found.set_apart(np.arange(designs), NOT_READ)
            return found
        part = self._parts.rows(codes, slice(0, designs))
        while len(self._plans) < len(self._parts.work.things):
            work = self._parts.work.things[len(self._plans)]
            self._plans.append(PlanRow.of(*work, self._checks, self.memo))
        machines = self._machines
        rows = self._readable(part, machines, found)
        rows, place = self._tiled(part, rows, machines, found)
        rows, place = self._held(part, rows, place, found)
        if rows.size:
            self._run(part, rows, place, machines, found)
        return found

    def _readable(self, part: PartRows, machines: Machines, found: Batch) -> Ints:
        """Designs all of whose parts are known and such that one NPU stands for all of a stage."""
        parts, rows = self._parts, np.arange(part.work.size)
        plain = _of_things(is_plain, parts.dimensions.things)
        ordered = _of_things(lambda s: s.inter_dimension == "ascending", parts.systems.things)
        alone = _of_things(_is_unaware, parts.accelerators.things)
        named = machines.vectors(parts.systems.things).min(axis=(1, 2), initial=0) >= 0
        open_ = np.ones(rows.size, np.bool_)
        for fine, why in (
            (part.are_known & named[part.system], NOT_READ),
            (alone[part.accelerator], MEETING),
            (plain[part.dimensions].all(axis=1), SHAPE),
            (ordered[part.system], ORDER),
        ):
            found.set_apart(rows[open_ & ~fine], why)
            open_ &= fine
        return rows[open_]

    def _tiled(
        self, part: PartRows, rows: Ints, machines: Machines, found: Batch
    ) -> tuple[Ints, Ints]:
        """Designs whose plans keep all rules of structure, and places of their groups."""
        npus = np.array([one.npus for one in self._parts.dimensions.things], np.int64)
        if not rows.size:
            return rows, np.zeros((0, 0), np.int64)
        sizes, work = npus[part.dimensions[rows]], part.work[rows]
        place = machines.places.find(self._plans, work, sizes)
        broken = np.array([plan.error is not None for plan in self._plans])
        needed = np.array([plan.plan.npus for plan in self._plans], np.int64)
        fits = ~broken[work] & (needed[work] == sizes.prod(axis=1))
        fits &= (place != UNTILED).all(axis=1)
        for at in np.flatnonzero(~fits).tolist():
            plan = self._plans[work[at]]
            try:
                self._checks.structure_on(plan.workload, plan.plan, tuple(sizes[at].tolist()))
            except InfeasibleError as error:
                found.errors[int(rows[at])] = error
            else:
                found.apart[int(rows[at])] = plan.apart or NOT_READ
        return rows[fits], place[fits]

    def _held(
        self, part: PartRows, rows: Ints, place: Ints, found: Batch
    ) -> tuple[Ints, Ints]:
        """Designs whose memory suffices, if that is asked, and whose times can be counted."""
        if not rows.size:
            return rows, place
        pairs, _, which = distinct_pairs(part.work[rows], part.accelerator[rows])
        verdicts = [self._verdict(*pair) for pair in pairs]
        fits = np.array([verdict == "" for verdict in verdicts])
        for at in np.flatnonzero(~fits).tolist():
            verdict, own = verdicts[at], rows[which == at]
            if isinstance(verdict, InfeasibleError):
                found.errors.update(dict.fromkeys(own.tolist(), verdict))
            else:
                found.set_apart(own, verdict)
        return rows[fits[which]], place[fits[which]]

    def _verdict(self, plan: int, accelerator: int) -> str | InfeasibleError:
        """Rule that a plan breaks on an accelerator; why it is simulated apart; or nothing."""
        things = self._parts.dimensions.things, self._parts.systems.things
        seen = tuple(map(len, things))
        if seen != self._seen:
            plain = [one for one in things[0] if is_plain(one)]
            self._countable, self._seen = Countable.of(plain, things[1], self._parts.count), seen
            self._verdicts.clear()
        if (plan, accelerator) not in self._verdicts:
            self._verdicts[plan, accelerator] = self._judged(plan, accelerator)
        return self._verdicts[plan, accelerator]

    def _judged(self, plan: int, accelerator: int) -> str | InfeasibleError:
        row, (npu, compute, _) = self._plans[plan], self._parts.accelerators.things[accelerator]
        if row.apart:
            return row.apart
        operator_ns = partial(self._operator_ns, plan, accelerator)
        try:
            if not self._countable.holds(row, npu, compute, operator_ns):
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
        code = self._plans[plan].code
        assert code is not None, "only plans that are simulated together"
        return code.operator_ns_of(npu, compute)

    def _run(
        self, part: PartRows, rows: Ints, place: Ints, machines: Machines, found: Batch
    ) -> None:
        """Simulate the designs *rows*, whose groups lie at *place*."""
        parts = self._parts
        numbers, plan = np.unique(part.work[rows], return_inverse=True)
        plans = [self._plans[number] for number in numbers.tolist()]
        own = PartRows(
            work=part.work[rows],
            accelerator=part.accelerator[rows],
            system=part.system[rows],
            dimensions=part.dimensions[rows],
        )
        machine = machines.rows(
            own, place, plan.ravel(), parts.dimensions.things, parts.systems.things,
            parts.accelerators.things,
        )  # fmt: skip
        table = plan_tables(plans)
        times = _empty_times(table, machine)
        time_rows(table, machine, machines.phases(table, machine), times)
        together = np.array([s.phase_end == "together" for s in parts.systems.things])[own.system]
        states = [
            (times.state == tables.ORDER_DECIDES, TIED),
            (times.state == tables.INEXACT, INEXACT),
            (~together & (times.held_ns > 0), ONE_BY_ONE),
        ]
        fine = np.ones(rows.size, np.bool_)
        for bad, why in states:
            found.set_apart(rows[bad & fine], why)
            fine &= ~bad
        prepared = self._prepared(own, machine, times)
        outcomes = run_groups(prepared, np.flatnonzero(fine), self._workspace)
        ended = fine & (outcomes.state == stage_rows.ENDED)
        found.set_apart(rows[fine & (outcomes.state == stage_rows.NO_TIME)], NODES)
        found.set_apart(rows[fine & ~ended & (outcomes.state != stage_rows.NO_TIME)], TIED)
        self._account(own, rows, ended, machine, times, outcomes, together, found)

    def _prepared(
        self, part: PartRows, machine: tables.MachineRows, times: tables.RowTimes
    ) -> Prepared:
        parts = self._parts
        profiles = [one.profile for one in parts.systems.things]
        delays = np.array([one.endpoint_delay_ns for one in parts.systems.things], np.int64)

        def subsystem(row: int) -> Subsystem:
            npu = parts.accelerators.things[part.accelerator[row]][0]
            dimensions = [parts.dimensions.things[d] for d in part.dimensions[row].tolist()]
            system = parts.systems.things[part.system[row]]
            return Subsystem(dimensions, system, npu.memory_bandwidth_bytes_per_s)

        # all that decides how a list is gone through: of one dimension its algorithm and topology
        alone = part.dimensions.shape[1] == 1
        cuts = machine.system if not alone else np.arange(part.system.size)
        distinct = list(dict.fromkeys(profiles))
        number = np.array([distinct.index(one) for one in profiles], np.int64)
        return Prepared(
            plans=self._plans,
            plan=part.work,
            operator_ns=self._operator_ns,
            accelerator=part.accelerator,
            links=machine.links,
            memory_bytes_per_s=machine.memory_bytes_per_s,
            times=times,
            profile=number[part.system],
            profiles=distinct,
            subsystem=subsystem,
            list_key=cuts,
            lead_ns=delays[part.system],
        )

    def _account(
        self,
        part: PartRows,
        rows: Ints,
        ended: Bools,
        machine: tables.MachineRows,
        times: tables.RowTimes,
        outcomes: Outcomes,
        together: Bools,
        found: Batch,
    ) -> None:
        """Write the figures of the designs that *ended*."""
        parts, work = self._parts, part.work[ended]
        own = rows[ended]
        found.time_ns[own] = outcomes.end_ns[ended]
        accelerators = parts.accelerators.things
        pairs, _, which = distinct_pairs(work, part.accelerator[ended])
        peaks = [
            accelerators[number][0].peak(self._plans[plan].workload.precision)
            for plan, number in pairs
        ]
        usable = np.array([one.usable_bandwidth_bytes_per_s for one in parts.dimensions.things])
        figures = figures_of(
            time_ns=outcomes.end_ns[ended],
            held_ns=np.where(together, times.held_ns, 0)[ended],
            sent_bytes=times.sent_bytes[ended],
            link_bytes=times.link_bytes[ended],
            rates=usable[part.dimensions[ended]],
            peak=np.array(peaks, float)[which],
            **self._of_plans(work),
        )
        for name, values in [*figures.items(), *((n, v[ended]) for n, v in outcomes.columns.items())]:
            column = found.metrics.setdefault(name, np.full(found.time_ns.size, np.nan))
            column[own] = values

    def _of_plans(self, work: Ints) -> dict[str, Any]:
        """Columns that follow from plans alone."""
        numbers, which = np.unique(work, return_inverse=True)
        plans = [self._plans[number] for number in numbers.tolist()]
        columns = {
            "npus": np.array([one.plan.npus for one in plans]),
            "npus_per_stage": np.array([one.plan.npus_per_stage for one in plans]),
            "tokens": np.array([one.workload.tokens for one in plans]),
            "model_flop": np.array([one.model_flop for one in plans]),
            "matrix_flop": np.array([one.code.counts.matrix_flop if one.code else 0 for one in plans]),
            "footprint_bytes": np.array([float(one.needed.total_bytes) for one in plans]),
        }
        return {name: values[which.ravel()] for name, values in columns.items()}


def _of_things(holds: Callable[[T], bool], things: Sequence[T]) -> Bools:
    """True of each of the *things* for which it *holds*, and at last False, for what is unknown."""
    return np.array([*map(holds, things), False])


def _is_unaware(accelerator: Accelerator) -> bool:
    """True if messages of the backend do not meet."""
    return accelerator[2] in BACKENDS and not BACKENDS[accelerator[2]].messages_meet


def _empty_times(plans: tables.PlanTables, rows: tables.MachineRows) -> tables.RowTimes:
    """Room for the times of *rows*."""
    designs, dimensions = rows.links.shape
    counts = plans.plans["count"][rows.plan]
    messages = 2 * plans.plans["stages"][rows.plan]
    return tables.RowTimes(
        first=np.cumsum(counts) - counts,
        duration_ns=np.zeros(int(counts.sum()), np.int64),
        last_ns=np.zeros(int(counts.sum()), np.int64),
        first_message=np.cumsum(messages) - messages,
        message_ns=np.zeros(int(messages.sum()), np.int64),
        held_ns=np.zeros(designs, np.int64),
        sent_bytes=np.zeros((designs, dimensions)),
        link_bytes=np.zeros((designs, dimensions)),
        instant=np.zeros(designs, np.int64),
        state=np.zeros(designs, np.int64),
    )

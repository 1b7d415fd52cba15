"""Plans of many designs: what each asks of every machine, as rows of the kernels' tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Self

import numpy as np
from numpy.typing import NDArray

from simcore.checks import RunChecks
from simcore.engines.collectives.ends import is_shared
from simcore.engines.limits.size_range import Demand
from simcore.engines.stages.counts import NodeCounts
from simcore.engines.stages.plan_code import PlanCode, plan_code
from simcore.errors import InfeasibleError
from simcore.kernels.many import tables
from simcore.memo import Memo, key_of, key_of_one
from simcore.memory.footprint import Footprint
from simcore.terms import CollectiveKind
from simcore.workload import ParallelPlan, Workload, total_model_flop
from simcore.workload.graph import Axis, GroupLayout
from simcore.workload.groups import group_layouts
from simcore.workload.kinds import InferenceWorkload

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

KINDS = (
    CollectiveKind.ALL_REDUCE,
    CollectiveKind.ALL_GATHER,
    CollectiveKind.REDUCE_SCATTER,
    CollectiveKind.ALL_TO_ALL,
)
"""Kinds of collectives by number; ``kernels.many.row_times.GATHERS`` is that of all-gathers."""

AXES = tuple(Axis)
"""Axes by number."""

_KIND_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}
_AXIS_NUMBERS = {axis: number for number, axis in enumerate(AXES)}

ONE_BY_ONE = "this kind of workload, update or offload is simulated one design at a time"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanRow:
    """One workload under one plan, on any machine.

    Attributes:
        workload, plan: Of these.
        groups: Of NPUs that communicate, but for the ends of the pipeline.
        error: The rule that it breaks; None: there is none. All below then holds.
        apart: Reason for which its designs are simulated one by one; "": they need not.
        needed: Memory.
        demand: What one NPU does at most.
        model_flop: Of the model, without recompute.
        code: Programs of its runs.
        collectives: (U,) COLLECTIVE, each that differs.
        unique: (C,) int64, of each collective of the program its number among these.
        runs: (S, U) int64, how often each stage runs them.
        stride: Distance of neighbouring stages in NPU ids.
    """

    workload: Workload
    plan: ParallelPlan
    groups: Sequence[GroupLayout] = ()
    error: InfeasibleError | None = None
    apart: str = ""
    needed: Footprint = field(default_factory=lambda: Footprint(stages=()))
    demand: Demand | None = None
    model_flop: float = 0.0
    code: PlanCode | None = None
    collectives: NDArray[np.void] = field(default_factory=lambda: np.zeros(0, tables.COLLECTIVE))
    unique: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    runs: Ints = field(default_factory=lambda: np.zeros((1, 0), np.int64))
    stride: int = 0

    @property
    def known(self) -> PlanCode:
        """The code of a plan that is simulated with others."""
        assert self.code is not None, "only plans that are simulated together"
        return self.code

    @property
    def counts(self) -> NodeCounts:
        """Nodes of the iteration."""
        return self.known.counts

    @classmethod
    def of(cls, workload: Workload, plan: ParallelPlan, checks: RunChecks, memo: Memo) -> "PlanRow":
        """The row of *plan*, worked out with what *memo* knows."""
        try:
            needed = checks.footprint(workload, plan)
        except InfeasibleError as error:
            return cls(workload=workload, plan=plan, error=error)
        updates = plan.updates
        apart = isinstance(workload, InferenceWorkload) or updates.runs_beside or plan.offload.tiers
        if apart or updates.every > 1:
            groups = _lying(group_layouts(workload, plan))
            return cls(workload=workload, plan=plan, groups=groups, apart=ONE_BY_ONE)
        try:
            demand = memo.of("demand", key_of(workload, plan), lambda: Demand.of(workload, plan))
        except InfeasibleError:
            groups = _lying(group_layouts(workload, plan))
            return cls(workload=workload, plan=plan, groups=groups, apart="sizes are out of range")
        code = plan_code(workload, plan, memo)
        collectives, unique, runs = _distinct(code, memo)
        whole = key_of_one(workload)
        return cls(
            workload=workload,
            plan=plan,
            groups=_lying(code.program.groups),
            needed=needed,
            demand=demand,
            model_flop=memo.of("model flop", whole, lambda: total_model_flop(workload)),
            code=code,
            collectives=collectives,
            unique=unique,
            runs=runs,
            stride=plan.stage_stride,
        )


def _lying(groups: Mapping[Axis, GroupLayout]) -> list[GroupLayout]:
    """The *groups* but for the ends of the pipeline, which lie anywhere."""
    return [group for axis, group in groups.items() if axis is not Axis.EMBEDDING]


_what = attrgetter("kind", "axis", "size_bytes")
"""All that tells a collective from others of its plan."""


@dataclass(frozen=True, slots=True, eq=False)
class _Distinct:
    """Numbers of collectives among those that differ, and runs by stage, as in ``PlanRow``."""

    unique: Ints
    runs: Ints

    @property
    def size_bytes(self) -> int:
        """Memory taken by the arrays."""
        return self.unique.nbytes + self.runs.nbytes

    @classmethod
    def of(cls, unique: Sequence[int], counts: NodeCounts) -> Self:
        numbers = np.array(unique, np.int64)
        is_one = numbers[:, None] == np.arange(max(unique, default=-1) + 1)
        return cls(numbers, counts.collectives @ is_one)


def _distinct(code: PlanCode, memo: Memo) -> tuple[NDArray[np.void], Ints, Ints]:
    """Collectives that differ, the number of each among them, and their runs by stage."""
    number: dict[tuple[CollectiveKind, Axis, int], int] = {}
    whats = map(_what, code.program.collectives)
    unique = tuple([number.setdefault(what, len(number)) for what in whats])
    rows = [
        (_KIND_NUMBERS[kind], _AXIS_NUMBERS[axis], size_bytes, is_shared(code.plan, axis))
        for kind, axis, size_bytes in number
    ]
    key = code.program.layout, code.batches, unique
    found = memo.of("distinct collectives", key, lambda: _Distinct.of(unique, code.counts))
    return np.array(rows, tables.COLLECTIVE), found.unique, found.runs


def plan_tables(rows: Sequence[PlanRow]) -> tables.PlanTables:
    """The kernels' tables of *rows*."""
    first = first_run = first_stage = 0
    plans, collectives, runs, sizes, sent = [], [], [], [], []
    for row in rows:
        count, stages = row.collectives.size, row.plan.pp
        plans.append((first, count, stages, row.stride, first_run, first_stage))
        collectives.append(row.collectives.view(np.int64))  # numpy joins records field by field
        runs.append(row.runs.ravel())
        counts = row.counts
        sizes.append(counts.message_bytes.ravel())
        sent.append(counts.sent_bytes.ravel())
        first, first_run = first + count, first_run + row.runs.size
        first_stage += 2 * stages
    return tables.PlanTables(
        plans=np.array(plans, tables.PLAN),
        collectives=np.concatenate(collectives).view(tables.COLLECTIVE),
        runs=np.concatenate(runs),
        message_bytes=np.concatenate(sizes).astype(np.int64),
        sent_bytes=np.concatenate(sent),
    )

"""Orders of units, worked out once for all plans with the same pipeline."""

from collections.abc import Hashable
from dataclasses import dataclass

from simcore.memo import Memo
from simcore.workload.plan import ParallelPlan
from simcore.workload.program.units.templates import last_units
from simcore.workload.schedules import SCHEDULES, Units

PipelineKey = tuple[str, int, int, int, int]
"""Schedule, stages, micro-batches, chunks per stage, micro-batches that pass a chunk at once."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnitOrder:
    """The work of one stage in order.

    Attributes:
        units: In order.
        ends: For each chunk, the pieces from its last unit, a backward one in training, on.
        late: Micro-batches whose weight gradients are computed last.
        all_late: Those are all that there are.
        cut: Of each chunk, how many backward passes are without weight gradients, where these are
            units of their own.
    """

    units: Units
    ends: tuple[tuple[int, ...], ...]
    late: int
    all_late: bool
    cut: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class OrderEnds:
    """Demands of the end of each stage's order on its pieces."""

    stages: tuple[Hashable, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StageOrders:
    """The orders of all stages.

    Attributes:
        stages: In order.
        ends: All but the units, of each: one object for all pipelines with the same.
    """

    stages: tuple[UnitOrder, ...]
    ends: OrderEnds

    @property
    def size_bytes(self) -> int:
        """Memory taken by the arrays."""
        return sum(order.units.size_bytes for order in self.stages)


def unit_orders(plan: ParallelPlan, batches: int, memo: Memo) -> StageOrders:
    """The order on each stage of *plan* with *batches* micro-batches."""
    key = pipeline_key(plan, batches)
    return memo.of("orders of units", key, lambda: _orders(key, memo))


def pipeline_key(plan: ParallelPlan, batches: int) -> PipelineKey:
    """Key of the order of the units."""
    return plan.schedule, plan.pp, batches, plan.interleave, plan.chunk_group


def _orders(key: PipelineKey, memo: Memo) -> StageOrders:
    stages = tuple([_order(key, stage) for stage in range(key[1])])
    ends = tuple([(order.ends, order.late, order.all_late, order.cut) for order in stages])
    return StageOrders(stages=stages, ends=memo.of("ends of orders", ends, lambda: OrderEnds(ends)))


def _order(key: PipelineKey, stage: int) -> UnitOrder:
    name, stages, batches, chunks, group = key
    schedule = SCHEDULES[name]()
    units = schedule.units(stage, stages, batches, chunks, group)
    late = schedule.late_weights(stage, batches)
    return UnitOrder(
        units=units,
        ends=tuple(last_units(units, chunks)),
        late=late,
        all_late=late == batches,
        cut=_cut(units, chunks),
    )


def _cut(units: Units, chunks: int) -> tuple[int, ...]:
    if units.weights is None:
        return ()
    return tuple([int((units.weights & (units.chunk == chunk)).sum()) for chunk in range(chunks)])

"""Orders of units, worked out once for all plans with the same pipeline."""

from collections import OrderedDict
from dataclasses import dataclass

from simcore.workload.assemble import last_backward_units
from simcore.workload.plan import ParallelPlan
from simcore.workload.schedules import SCHEDULES, Units

_Key = tuple[str, int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnitOrder:
    """The work of one stage in order.

    Attributes:
        units: In order.
        ends: For each chunk, the pieces from its last backward unit to the last unit.
        late: Micro-batches whose weight gradients are computed last.
        all_late: Those are all that there are.
    """

    units: Units
    ends: tuple[tuple[int, ...], ...]
    late: int
    all_late: bool


class UnitOrders:
    """The orders met last, by schedule, stages, micro-batches and chunks.

    Args:
        limit_bytes: Memory that they may take.
    """

    def __init__(self, limit_bytes: int = 2**25) -> None:
        self._limit_bytes, self._bytes = limit_bytes, 0
        self._known: OrderedDict[_Key, tuple[UnitOrder, ...]] = OrderedDict()

    def of(self, plan: ParallelPlan, batches: int) -> tuple[UnitOrder, ...]:
        """The order on each stage of *plan* with *batches* micro-batches."""
        key = (plan.schedule, plan.pp, batches, plan.interleave)
        found = self._known.pop(key, None)
        if found is None:
            found = tuple(_order(*key, stage=stage) for stage in range(plan.pp))
            self._bytes += _size_bytes(found)
        self._known[key] = found
        while self._bytes > self._limit_bytes and len(self._known) > 1:
            _, oldest = self._known.popitem(last=False)
            self._bytes -= _size_bytes(oldest)
        return found


def _order(name: str, stages: int, batches: int, chunks: int, *, stage: int) -> UnitOrder:
    schedule = SCHEDULES[name]()
    units = schedule.units(stage, stages, batches, chunks)
    late = schedule.late_weights(stage, batches)
    return UnitOrder(
        units=units,
        ends=tuple(last_backward_units(units, chunks)),
        late=late,
        all_late=late == batches,
    )


def _size_bytes(orders: tuple[UnitOrder, ...]) -> int:
    return sum(order.units.size_bytes for order in orders)

"""Times of operators, collectives and messages on one machine."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from simcore.compute import ComputeModel
from simcore.engines.collectives.ends import is_shared
from simcore.engines.collectives.placement import Placement, place_group
from simcore.engines.collectives.rows import machine_of
from simcore.engines.collectives.time import CollectiveTime
from simcore.engines.collectives.timer import CollectiveTimer
from simcore.engines.events.input import Ints
from simcore.engines.limits.counted_time import MAX_NS, slowest_field, too_long
from simcore.kernels.stages.pipeline_messages import neighbour_messages
from simcore.machine import Dimension, Npu
from simcore.terms import CollectiveKind, Precision
from simcore.workload import ParallelPlan
from simcore.workload.graph import Axis, CollectiveOp, GroupLayout, Operator


def place_groups(
    groups: Mapping[Axis, GroupLayout], dimensions: Sequence[Dimension]
) -> dict[Axis, Placement]:
    """Places of the groups of each axis; those of one NPU, and between two stages, are left out.

    Raises:
        InfeasibleError: A group does not tile the dimensions.
    """
    sizes = tuple([dimension.npus for dimension in dimensions])
    return {
        axis: place_group(str(axis), group.stride, group.size, sizes)
        for axis, group in groups.items()
        if group.size > 1 and axis is not Axis.EMBEDDING
    }


def operator_times_ns(
    operators: Sequence[Operator], npu: Npu, precision: Precision, compute: ComputeModel
) -> Ints:
    """(O,) int64: how long one NPU works on each operator, kernel after kernel.

    Raises:
        InfeasibleError: One takes longer than is counted; names the field to which that is due.
    """
    times = compute.operator_times_ns(operators, npu, precision)
    slowest = max(times, default=0)
    if slowest >= MAX_NS:
        one = operators[times.index(slowest)]
        field = slowest_field(
            npu, lambda other: compute.operator_times_ns([one], other, precision)[0]
        )
        raise too_long(field, f"one operator, {one.name}, takes at least", slowest * 1e-9)
    return np.array(times, np.int64)


_NPUS = 8
"""Accelerators whose operator times are kept."""

_OPERATORS = 2**14
"""Operators whose times on one accelerator are kept; they are let go together."""


class OperatorTimes:
    """Times of the operators of many plans, each worked out once."""

    size_bytes = 2**22
    """Estimate of what they grow to."""

    def __init__(self) -> None:
        self._known: deque[tuple[Npu, Precision, type[ComputeModel], dict[Operator, int]]]
        self._known = deque(maxlen=_NPUS)

    def of(
        self,
        operators: Sequence[Operator],
        npu: Npu,
        precision: Precision,
        compute: ComputeModel,
    ) -> Ints:
        """See ``operator_times_ns``."""
        known = self._on(npu, precision, type(compute))
        times = [known.get(one) for one in operators]
        if None in times:
            pairs = list(zip(operators, times, strict=True))
            new = [one for one, time in pairs if time is None]
            found = dict(
                zip(new, operator_times_ns(new, npu, precision, compute).tolist(), strict=True)
            )
            if len(known) + len(new) > _OPERATORS:
                known.clear()
            known.update(found)
            times = [found[one] if time is None else time for one, time in pairs]
        return np.array(times, np.int64)

    def _on(
        self, npu: Npu, precision: Precision, compute: type[ComputeModel]
    ) -> dict[Operator, int]:
        for known_npu, *others, found in self._known:
            if others == [precision, compute] and (known_npu is npu or known_npu == npu):
                return found
        self._known.append((npu, precision, compute, {}))
        return self._known[-1][-1]


def collective_times(
    collectives: Sequence[CollectiveOp],
    plan: ParallelPlan,
    placements: Mapping[Axis, Placement],
    timer_of: Callable[[CollectiveKind], CollectiveTimer],
) -> list[CollectiveTime | None]:
    """Time of each collective; None where its members are at several stages."""
    whole = [not is_shared(plan, operation.axis) for operation in collectives]
    found: list[CollectiveTime | None] = [None] * len(whole)
    by_timer: dict[CollectiveTimer, list[int]] = {}
    for at in compress(range(len(whole)), whole):
        by_timer.setdefault(timer_of(collectives[at].kind), []).append(at)
    for timer, own in by_timer.items():
        some = [collectives[at] for at in own]
        wanted = [(op.kind, placements[op.axis], op.size_bytes) for op in some]
        for at, time in zip(own, timer.times(wanted), strict=True):
            found[at] = time
    return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MessageTimes:
    """Messages between the S stages: dimension that each crosses, its time, its way.

    Attributes:
        dimension: (2, S) int64, to the next stage (around) and to the one before.
        time_ns: (2, S) int64; 0 where there is one stage.
        passes: (2, S) int64, links of the dimension's NPUs on the way; 1 on switches.
    """

    dimension: Ints
    time_ns: Ints
    passes: Ints

    @classmethod
    def of(
        cls, plan: ParallelPlan, dimensions: Sequence[Dimension], size_bytes: Ints
    ) -> "MessageTimes":
        """Times of messages of *size_bytes*, (2, S) int64, the same way round."""
        if plan.pp == 1:
            nothing = np.zeros((2, 1), np.int64)
            return cls(dimension=nothing, time_ns=nothing, passes=nothing)
        machine = machine_of(dimensions)
        stages, stride = plan.pp, plan.stage_stride
        sizes = sorted(set(size_bytes.ravel().tolist()))
        found = neighbour_messages(stages, stride, machine, sizes[0])
        dimension, time_ns = found[:, 0], found[:, 1]
        for size in sizes[1:]:
            other = neighbour_messages(stages, stride, machine, size)
            time_ns = np.where(size_bytes == size, other[:, 1], time_ns)
        return cls(dimension=dimension, time_ns=time_ns, passes=found[:, 2])

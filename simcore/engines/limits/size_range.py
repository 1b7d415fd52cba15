"""Designs beyond what whole nanoseconds and bytes in 64 bits can count are refused beforehand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Self

from simcore.compute.roofline import SHORT
from simcore.engines.limits.counted_time import (
    MAX_S,
    delay_field,
    dimension_fields,
    over,
    slowest_field,
    too_long,
)
from simcore.errors import InfeasibleError
from simcore.machine import Dimension, Npu, Platform
from simcore.machine.system import System
from simcore.terms import GATHERING
from simcore.units import plain_sum
from simcore.workload import ParallelPlan, Workload, microbatches
from simcore.workload.graph import Axis, CollectiveOp, GroupLayout

MAX_COUNT = 2**62
"""Bytes of one buffer and FLOP of one kernel, with room for one addition."""

MAX_LAYER_PASSES = 1_000_000
"""Micro-batches times layers: each is some ten nodes of the graphs."""

_BUFFERS = 64
"""More than the buffers of one size that a layer's forward and backward pass moves."""

_SENT = 32
"""More than those of them that it sends: gathers, scatters and exchanges, forward work twice."""

MOST_GROUPS = 1024
"""More than the experts whose products are one kernel."""

_RING_STEPS = 6
"""More than the steps per NPU in which keys go round in both passes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Bounds of what one NPU does in an iteration, far above any real one.

    Attributes:
        moved_bytes: Through memory.
        sent_bytes: Buffers of collectives and messages, each once.
        operations: Kernels and collectives.
        flop: Of all kernels.
    """

    moved_bytes: float
    sent_bytes: float
    operations: int
    flop: float

    @classmethod
    def of(cls, workload: Workload, plan: ParallelPlan) -> Self:
        """The demand of a plan, once its sizes are known to be countable.

        Raises:
            InfeasibleError: They are not; says which value makes it so.
        """
        passes = microbatches(workload, plan) * workload.model.layers
        if passes > MAX_LAYER_PASSES:
            reason = (
                f"micro-batches x layers is {passes}, and at most {MAX_LAYER_PASSES} can be "
                "simulated"
            )
            raise InfeasibleError("size_in_range", reason)
        sizes = workload.extent(plan)
        if max(sizes.buffer_bytes, sizes.weights_bytes, sizes.layer_flop) > MAX_COUNT:
            together = workload.tokens // workload.global_batch * plan.micro_batch
            reason = (
                f"a model of {Decimal(workload.model.parameters):.3g} parameters with "
                f"{Decimal(together):.3g} {workload.unit} per micro-batch is "
                "beyond 64-bit sizes"
            )
            raise InfeasibleError("size_in_range", reason)
        ring_steps, weights_bytes = _RING_STEPS * plan.cp, 8.0 * sizes.weights_bytes
        parts, passed_bytes = _BUFFERS + ring_steps, float(sizes.buffer_bytes) * passes
        return cls(
            moved_bytes=passed_bytes * parts + weights_bytes,
            sent_bytes=passed_bytes * (_SENT + ring_steps) + weights_bytes,
            operations=passes * parts + 8,
            flop=float(sizes.flop) + float(sizes.layer_flop) * passes,
        )

    def check_times(self, workload: Workload, platform: Platform, system: System) -> None:
        """Check that no part of the machine could take longer than can be counted.

        Raises:
            InfeasibleError: One could; says which, and to which of its fields that is due.
        """
        before = None
        for index, dimension in enumerate(platform.dimensions):
            if dimension is before:  # as on a machine that stands for many
                continue
            before, times_s = dimension, self._network_s(dimension, system)
            if not plain_sum(times_s) < MAX_S:
                place = f"platform.dimensions[{index}]"
                fields = (*dimension_fields(dimension, place), delay_field(system))
                slowest = fields[times_s.index(max(times_s))]
                raise too_long(slowest, "an iteration could take", plain_sum(times_s))

        def time_s_on(npu: Npu) -> float:
            return self._npu_s(npu, npu.peak(workload.precision))

        time_s = time_s_on(platform.npu)
        if not time_s < MAX_S:
            field = slowest_field(platform.npu, time_s_on)
            raise too_long(field, "an iteration could compute", time_s)

    def _network_s(self, dimension: Dimension, system: System) -> tuple[float, float, float]:
        """Bounds of the times due to latency and bandwidth of a dimension, and to the delay."""
        npus = float(dimension.npus)
        hops = dimension.shape.most_hops(dimension.npus)
        steps = 2.0 * npus * system.chunks * self.operations
        # links of an NPU apart, or trips as in ``Traffic`` over one of them
        sent_s = min(
            over(self.sent_bytes * npus, dimension.usable_bandwidth_bytes_per_s),
            over(self.sent_bytes * trips(dimension.npus), dimension.link_bandwidth_bytes_per_s),
        )
        return steps * hops * dimension.latency_s, sent_s, steps * system.endpoint_delay_s

    def _npu_s(self, npu: Npu, peak: float) -> float:
        efficiency = npu.efficiency
        kernel_s = efficiency.kernel_overhead_s + efficiency.gemm_ramp_s + efficiency.routing_s
        kernel_s += MOST_GROUPS * efficiency.group_s
        rate = npu.memory_bandwidth_bytes_per_s * efficiency.memory
        times = max(efficiency.traffic, efficiency.routing)
        moving_s = over(16.0 * times * self.moved_bytes, rate)
        attention = efficiency.attention * efficiency.attention_share
        attention *= efficiency.attention_backward
        least = attention * (SHORT if efficiency.attention_half else 1.0)
        least *= SHORT if efficiency.attention_width else 1.0
        parts = (efficiency.gemm, least, efficiency.scan or 1.0)
        computing_s = over(self.flop, peak * min(parts))
        return self.operations * kernel_s + moving_s + computing_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Most that the algorithms need, added up over one NPU of every stage.

    Attributes:
        rounds: Rounds of sends, one after the other, of collectives that are one chunk.
        sent_bytes: Bytes that these rounds send one after the other.
        member_bytes: Bytes by which they grow for each chunk that a collective is cut into, since
            a chunk has at least one byte per member.
        largest_bytes: Of one buffer.
    """

    rounds: float
    sent_bytes: float
    member_bytes: float
    largest_bytes: int

    @classmethod
    def of(
        cls,
        collectives: Sequence[CollectiveOp],
        groups: Mapping[Axis, GroupLayout],
        runs: Sequence[int],
        *,
        messages: int = 0,
        sent_bytes: float = 0.0,
        largest_bytes: int = 0,
    ) -> Self:
        """The traffic of an iteration.

        Among g members a ring takes 2 (g - 1) rounds, and none of the algorithms more; a double
        tree sends its buffer 2 log2 g times one after the other, and all others at most twice.

        Args:
            collectives: All C of them.
            groups: Their members.
            runs: Of each, at all stages together.
            messages: Between stages.
            sent_bytes: Of all of these.
            largest_bytes: Of one of these.
        """
        rounds, member_bytes = float(messages), 0.0
        sizes = {axis: (group.size, trips(group.size)) for axis, group in groups.items()}
        for operation, times in zip(collectives, runs, strict=True):
            (members, each), buffer_bytes = sizes[operation.axis], operation.size_bytes
            if operation.kind in GATHERING:
                buffer_bytes *= members
            rounds += times * 4.0 * members
            sent_bytes += times * each * buffer_bytes
            member_bytes += times * each * members
            if buffer_bytes > largest_bytes:
                largest_bytes = buffer_bytes
        return cls(
            rounds=rounds,
            sent_bytes=sent_bytes,
            member_bytes=member_bytes,
            largest_bytes=largest_bytes,
        )


def trips(members: int) -> float:
    """More than the times that algorithms among *members* send a buffer, one after the other."""
    return 2.0 * (members.bit_length() + 1)

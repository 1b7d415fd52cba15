"""Designs beyond what whole nanoseconds and bytes in 64 bits can count are refused beforehand."""

from dataclasses import dataclass
from math import ceil
from typing import Self

from simcore.errors import InfeasibleError
from simcore.hardware import Dimension, Npu, Platform
from simcore.system.spec import System
from simcore.terms import TopologyKind
from simcore.workload import ParallelPlan, TrainingWorkload
from simcore.workload.workload import microbatches

MAX_S = 9e9
"""2^63 ns is 9.2e9 s, or 292 years."""

MAX_COUNT = 2**62
"""Bytes of one buffer and FLOP of one kernel, with room for one addition."""

MAX_LAYER_PASSES = 1_000_000
"""Micro-batches times layers: each is some ten nodes of the graphs."""

_BUFFERS = 64
"""More than the buffers of one size that a layer's forward and backward pass moves."""

_RING_STEPS = 6
"""More than the steps per NPU in which keys go round in both passes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Bounds of what one NPU does in an iteration, far above any real one.

    Attributes:
        moved_bytes: Through memory or the network.
        operations: Kernels and collectives.
        flop: Of all kernels.
    """

    moved_bytes: float
    operations: int
    flop: float

    @classmethod
    def of(cls, workload: TrainingWorkload, plan: ParallelPlan) -> Self:
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
        buffer, weights = _sizes(workload, plan)
        attention = _attention_flop(workload, plan)
        if max(buffer, weights, attention) > MAX_COUNT:
            reason = (
                f"a model of {float(workload.model.parameters):.3g} parameters with "
                f"{float(plan.micro_batch * workload.sequence):.3g} tokens per micro-batch is "
                "beyond 64-bit sizes"
            )
            raise InfeasibleError("size_in_range", reason)
        parts = _BUFFERS + _RING_STEPS * plan.cp
        flop = 16.0 * workload.tokens * workload.model.parameters + float(attention) * passes
        return cls(
            moved_bytes=float(buffer) * passes * parts + 8.0 * weights,
            operations=passes * parts + 8,
            flop=flop,
        )

    def check_times(self, workload: TrainingWorkload, platform: Platform, system: System) -> None:
        """Check that no part of the machine could take longer than can be counted.

        Raises:
            InfeasibleError: One could; says which.
        """
        peak, efficiency = platform.npu.peak(workload.precision), platform.npu.efficiency
        for index, dimension in enumerate(platform.dimensions):
            time_s = self._network_s(dimension, system)
            if not time_s < MAX_S:
                raise _too_slow(f"platform.dimensions[{index}]", time_s)
        compute_s = self.flop / (peak * min(efficiency.gemm, efficiency.attention))
        time_s = self._memory_s(platform.npu) + compute_s
        if not time_s < MAX_S:
            raise _too_slow("platform.npu", time_s)

    def _network_s(self, dimension: Dimension, system: System) -> float:
        npus = float(dimension.npus)
        hops = npus / 2 if dimension.topology is TopologyKind.RING else 1.0
        step_s = hops * dimension.latency_s + system.endpoint_delay_s
        steps = 2.0 * npus * system.chunks * self.operations
        return steps * step_s + self.moved_bytes * npus / dimension.usable_bandwidth_bytes_per_s

    def _memory_s(self, npu: Npu) -> float:
        efficiency = npu.efficiency
        kernel_s = efficiency.kernel_overhead_s + efficiency.gemm_ramp_s
        rate = npu.memory_bandwidth_bytes_per_s * efficiency.memory
        return self.operations * kernel_s + 16.0 * self.moved_bytes / rate


def _sizes(workload: TrainingWorkload, plan: ParallelPlan) -> tuple[int, int]:
    """Bounds of the largest activation of a micro-batch and of all weights, in bytes."""
    model, experts, mamba = workload.model, workload.model.experts, workload.model.mamba
    heads = model.heads * (2 * model.head_width + model.value_head_width)
    width = max(model.hidden, model.ffn * model.mlp_inputs, model.vocabulary, heads)
    if experts:
        load = workload.expert_load.factor(experts.count, plan.ep)
        sent = max(model.hidden, experts.ffn * model.mlp_inputs)
        width = max(width, ceil(load * experts.active * sent), experts.shared_ffn)
    if mamba:
        width = max(width, 4 * mamba.heads * mamba.head_width + 2 * mamba.groups * mamba.state)
    return 4 * plan.micro_batch * workload.sequence * width, 4 * model.parameters


def _attention_flop(workload: TrainingWorkload, plan: ParallelPlan) -> int:
    width = workload.model.heads * workload.model.head_width
    return 16 * plan.micro_batch * workload.sequence**2 * width


def _too_slow(place: str, time_s: float) -> InfeasibleError:
    reason = f"{place}: so slow that an iteration could take {time_s:.3g} s"
    return InfeasibleError("time_in_range", reason)

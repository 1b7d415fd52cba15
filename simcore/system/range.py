"""Designs beyond what whole nanoseconds and bytes in 64 bits can count are refused beforehand."""

from collections.abc import Iterator

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

_BUFFERS = 32
"""More than the buffers of one size that a layer's forward and backward pass moves."""


def check_range(
    workload: TrainingWorkload, platform: Platform, plan: ParallelPlan, system: System
) -> None:
    """Check that sizes and times can be counted, by bounds far above any real iteration.

    Raises:
        InfeasibleError: They cannot; says which value makes it so.
    """
    passes = microbatches(workload, plan) * workload.model.layers
    if passes > MAX_LAYER_PASSES:
        reason = (
            f"micro-batches x layers is {passes}, and at most {MAX_LAYER_PASSES} can be simulated"
        )
        raise InfeasibleError("size_in_range", reason)
    buffer, weights = _sizes(workload, plan)
    if max(buffer, weights, _attention_flop(workload, plan)) > MAX_COUNT:
        reason = (
            f"a model of {float(workload.model.parameters):.3g} parameters with "
            f"{float(plan.micro_batch * workload.sequence):.3g} tokens per micro-batch is beyond "
            "64-bit sizes"
        )
        raise InfeasibleError("size_in_range", reason)
    moved = float(buffer) * passes * _BUFFERS + 8.0 * weights
    flop = 16.0 * workload.tokens * workload.model.parameters
    flop += float(_attention_flop(workload, plan)) * passes
    peak, efficiency = platform.npu.peak(workload.precision), platform.npu.efficiency
    times = dict(_times(platform, system, moved, passes * _BUFFERS + 8))
    times["platform.npu"] += flop / (peak * min(efficiency.gemm, efficiency.attention))
    for place, time_s in times.items():
        if not time_s < MAX_S:
            reason = f"{place}: so slow that an iteration could take {time_s:.3g} s"
            raise InfeasibleError("time_in_range", reason)


def _sizes(workload: TrainingWorkload, plan: ParallelPlan) -> tuple[int, int]:
    """Bounds of the largest activation of a micro-batch and of all weights, in bytes."""
    model = workload.model
    width = max(model.hidden, model.ffn * model.mlp_inputs, model.vocabulary)
    return 4 * plan.micro_batch * workload.sequence * width, 4 * model.parameters


def _attention_flop(workload: TrainingWorkload, plan: ParallelPlan) -> int:
    return 16 * plan.micro_batch * workload.sequence**2 * workload.model.hidden


def _times(
    platform: Platform, system: System, moved: float, collectives: int
) -> Iterator[tuple[str, float]]:
    """Bounds of the time that each part of the machine could take."""
    for index, dimension in enumerate(platform.dimensions):
        yield f"platform.dimensions[{index}]", _network_s(dimension, system, moved, collectives)
    yield "platform.npu", _memory_s(platform.npu, moved, collectives)


def _network_s(dimension: Dimension, system: System, moved: float, collectives: int) -> float:
    npus = float(dimension.npus)
    hops = npus / 2 if dimension.topology is TopologyKind.RING else 1.0
    step_s = hops * dimension.latency_s + system.endpoint_delay_s
    steps = 2.0 * npus * system.chunks * collectives
    return steps * step_s + moved * npus / dimension.bandwidth_bytes_per_s


def _memory_s(npu: Npu, moved: float, kernels: int) -> float:
    efficiency = npu.efficiency
    kernel_s = efficiency.kernel_overhead_s + efficiency.gemm_ramp_s
    rate = npu.memory_bandwidth_bytes_per_s * efficiency.memory
    return kernels * kernel_s + 16.0 * moved / rate

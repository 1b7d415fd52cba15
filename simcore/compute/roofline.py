"""Roofline with the efficiencies of real kernels, a few parameters per accelerator."""

from dataclasses import dataclass
from math import ceil

from simcore.compute.base import ComputeModel
from simcore.hardware import Npu
from simcore.terms import Precision
from simcore.workload.graph import Kernel


@dataclass(frozen=True, slots=True)
class Roofline(ComputeModel):
    """``max(compute, memory) + overhead`` with the parameters of ``npu.efficiency``.

    - memory: ``bytes / (memory x memory bandwidth)``;
    - compute of a matrix product: ``flop / (gemm x peak) + ramp``. Written as a rate it is
      ``gemm x peak x flop / (flop + half)`` with ``half = ramp x gemm x peak``: the saturating
      curve of measured products, which reach half of their best rate at ``half`` FLOP;
    - compute of fused attention: ``flop / (attention x peak)``;
    - compute of any other kernel: ``flop / peak``; such kernels are bound by memory;
    - overhead: start and drain of a kernel, the same for all.

    Source: roofline as in S. Williams et al., CACM 52(4), 2009; saturation as the half-performance
    length of R. Hockney, C. Jesshope, Parallel Computers, 1981, section 1.3.
    """

    def kernel_time_ns(self, kernel: Kernel, npu: Npu, precision: Precision) -> int:
        efficiency = npu.efficiency
        memory_rate = efficiency.memory * npu.memory_bandwidth_bytes_per_s
        busy_s: float = max(_compute_s(kernel, npu, precision), kernel.bytes / memory_rate)
        return ceil((busy_s + float(efficiency.kernel_overhead_s)) * 1e9)


def _compute_s(kernel: Kernel, npu: Npu, precision: Precision) -> float:
    peak = npu.peak(precision)
    efficiency = npu.efficiency
    if kernel.kind == "gemm":
        return kernel.flop / (efficiency.gemm * peak) + float(efficiency.gemm_ramp_s)
    if kernel.kind == "attention":
        return kernel.flop / (efficiency.attention * peak)
    return kernel.flop / peak

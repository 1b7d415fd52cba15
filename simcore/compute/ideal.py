"""The roofline itself: every kernel at the peak, or at the full memory bandwidth."""

from dataclasses import dataclass

from simcore.compute.base import ComputeModel, whole_ns
from simcore.machine import Npu
from simcore.terms import Precision
from simcore.workload.graph import Kernel


@dataclass(frozen=True, slots=True)
class IdealRoofline(ComputeModel):
    """``max(flop / peak, bytes / memory bandwidth)``: the bound that no kernel can beat.

    Source: S. Williams, A. Waterman, D. Patterson, "Roofline: An Insightful Visual Performance
    Model for Multicore Architectures", CACM 52(4), 2009.
    """

    def kernel_time_ns(self, kernel: Kernel, npu: Npu, precision: Precision) -> int:
        compute_s = kernel.flop / npu.peak(precision)
        memory_s: float = kernel.bytes / npu.transfer_bytes_per_s(kernel.kind)
        return whole_ns(max(compute_s, memory_s))

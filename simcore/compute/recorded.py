"""The roofline where the host issues the kernels of a step all at once."""

from collections.abc import Sequence
from dataclasses import dataclass

from simcore.compute.roofline import Roofline
from simcore.hardware import Npu
from simcore.terms import Precision
from simcore.workload.graph import Kernel


@dataclass(frozen=True, slots=True)
class RecordedRoofline(Roofline):
    """As ``roofline``, but no kernel waits for the host.

    Inference engines record the kernels of a decode step once and launch the record (a CUDA or HIP
    graph), as the host could not issue small kernels one by one as fast as they end.

    Source: NVIDIA, CUDA C++ Programming Guide, section "CUDA Graphs".
    """

    def operator_time_ns(self, kernels: Sequence[Kernel], npu: Npu, precision: Precision) -> int:
        return sum(self.kernel_time_ns(kernel, npu, precision) for kernel in kernels)

"""The roofline where the host issues the kernels of a step all at once."""

from dataclasses import dataclass

from simcore.compute.base import ComputeModel
from simcore.compute.roofline import Roofline
from simcore.machine import Npu
from simcore.terms import Precision
from simcore.workload.graph import Kernel


@dataclass(frozen=True, slots=True)
class RecordedRoofline(ComputeModel):
    """Kernels take the time of ``roofline`` one after another, and none waits for the host.

    Inference engines record the kernels of a decode step once and launch the record (a CUDA or HIP
    graph), as the host could not issue small kernels one by one as fast as they end.

    Source: NVIDIA, CUDA C++ Programming Guide, section "CUDA Graphs".
    """

    def kernel_time_ns(self, kernel: Kernel, npu: Npu, precision: Precision) -> int:
        return Roofline().kernel_time_ns(kernel, npu, precision)

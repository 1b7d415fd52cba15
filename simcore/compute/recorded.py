"""The roofline where the host issues the kernels of a step all at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from simcore.compute.base import ComputeModel
from simcore.compute.roofline import Roofline, kernel_times_ns
from simcore.machine import Npu
from simcore.terms import Precision
from simcore.workload.graph import Kernel, Operator


@dataclass(frozen=True, slots=True)
class RecordedRoofline(ComputeModel):
    """Kernels take the time of ``roofline`` one after another, and none waits for the host.

    Inference engines record the kernels of a decode step once and launch the record (a CUDA or HIP
    graph), as the host could not issue small kernels one by one as fast as they end.

    Source: NVIDIA, CUDA C++ Programming Guide, section "CUDA Graphs".
    """

    def kernel_time_ns(self, kernel: Kernel, npu: Npu, precision: Precision) -> int:
        return Roofline().kernel_time_ns(kernel, npu, precision)

    def operator_time_ns(self, kernels: Sequence[Kernel], npu: Npu, precision: Precision) -> int:
        return sum(kernel_times_ns(kernels, npu, precision))

    def operator_times_ns(
        self, operators: Sequence[Operator], npu: Npu, precision: Precision
    ) -> list[int]:
        every = [kernel for operator in operators for kernel in operator.kernels]
        times = iter(kernel_times_ns(every, npu, precision))
        return [sum(islice(times, len(operator.kernels))) for operator in operators]

"""Kernels as they were measured, and a roofline of measured rates where none was."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simcore.compute.base import BEYOND_NS, ComputeModel
from simcore.compute.tables.joined import joined_s
from simcore.compute.tables.kinds import Floats
from simcore.compute.tables.lookup import kernel_times
from simcore.machine import Npu
from simcore.terms import Precision
from simcore.workload.graph import Kernel, Operator


@dataclass(frozen=True, slots=True)
class MeasuredKernels(ComputeModel):
    """Times from the tables that ``npu.kernels`` names, interpolated between measured shapes.

    Products, fused attention, latent attention and layers of experts are looked up by shape and
    number format. What has no table takes a roofline with rates that measured accelerators reach.
    An accelerator with the silicon of the measured one and other peaks, another memory say, takes
    the same share of its own roofline.
    """

    def kernel_time_ns(self, kernel: Kernel, npu: Npu, precision: Precision) -> int:
        return _whole_ns(np.array(kernel_times(npu, precision).times_s([kernel])))[0]

    def operator_time_ns(self, kernels: Sequence[Kernel], npu: Npu, precision: Precision) -> int:
        times = kernel_times(npu, precision)
        return _whole_ns(np.array([joined_s(kernels, times.times_s(kernels), times)]))[0]

    def operator_times_ns(
        self, operators: Sequence[Operator], npu: Npu, precision: Precision
    ) -> list[int]:
        kernels = [kernel for operator in operators for kernel in operator.kernels]
        times, first, sums = kernel_times(npu, precision), 0, []
        found = times.times_s(kernels)
        for operator in operators:
            last = first + len(operator.kernels)
            sums.append(joined_s(operator.kernels, found[first:last], times))
            first = last
        return _whole_ns(np.array(sums))


def _whole_ns(times_s: Floats) -> list[int]:
    times = np.ceil(np.minimum(times_s * 1e9, float(BEYOND_NS)))
    return [int(time) for time in times.tolist()]

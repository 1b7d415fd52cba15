"""Kernels as they were measured, and the roofline where nothing was."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from simcore.compute.base import BEYOND_NS, ComputeModel
from simcore.compute.tables.kinds import Floats
from simcore.compute.tables.store import KernelTables, tables_of
from simcore.machine import Npu
from simcore.terms import FORMATS, Precision
from simcore.workload.graph import Kernel, Operator

ENGINES = ("vllm", "sglang", "tensorrt_llm")
"""Engines whose tables are asked, the first that has one decides."""

STREAM, LAUNCH_S = 0.85, 2e-6
"""Part of the memory bandwidth that kernels of element-wise work reach, and their least time: 0.75
to 0.91 and 1.4 to 2.6 us in 14 tables of quantisation kernels (``scale_matrix`` of seven
accelerators) of AIConfigurator 0.12."""

PRODUCT, ATTENTION = 0.65, 0.45
"""Parts of the peak that large products and long fused attention reach where nothing was measured:
the medians of the tables of accelerators that were."""

BACKWARD = 0.85
"""Rate of the backward pass of fused attention beside that of its forward pass.

Source: J. Shah et al., "FlashAttention-3", NeurIPS 2024, figures 5 and 6 (H100, 16 bits)."""


@dataclass(frozen=True, slots=True)
class MeasuredKernels(ComputeModel):
    """Times from the tables of ``npu.kernels``, between whose points shares of a bound are joined.

    Products, fused attention (latent attention too) and layers of experts are looked up by their
    shape and number format. What has no table takes the time of a roofline with the rates that
    measured accelerators reach. An accelerator that shares the silicon of a measured one, with
    another memory or clock, takes the same share of its own roofline.
    """

    def kernel_time_ns(self, kernel: Kernel, npu: Npu, precision: Precision) -> int:
        return int(_whole_ns(_times_s([kernel], npu, precision))[0])

    def operator_time_ns(self, kernels: Sequence[Kernel], npu: Npu, precision: Precision) -> int:
        return int(_whole_ns(np.sum(_times_s(kernels, npu, precision), keepdims=True))[0])

    def operator_times_ns(
        self, operators: Sequence[Operator], npu: Npu, precision: Precision
    ) -> list[int]:
        kernels = [kernel for operator in operators for kernel in operator.kernels]
        ends = np.cumsum([0, *(len(operator.kernels) for operator in operators)])
        passed = np.concatenate([[0.0], np.cumsum(_times_s(kernels, npu, precision))])
        return [int(time) for time in _whole_ns(passed[ends[1:]] - passed[ends[:-1]])]


def _whole_ns(times_s: Floats) -> Floats:
    return np.ceil(np.minimum(times_s * 1e9, float(BEYOND_NS)))


def _times_s(kernels: Sequence[Kernel], npu: Npu, precision: Precision) -> Floats:
    """Time of each kernel."""
    times = np.array([_bound_s(kernel, npu, precision) for kernel in kernels])
    tables = tables_of(npu.kernels)
    if tables is None:
        return times
    asked = defaultdict(list)
    for number, kernel in enumerate(kernels):
        place = _place(kernel)
        if place is not None:
            asked[place[:-1]].append((number, place[-1]))
    for (kind, format_, width), lines in asked.items():
        table = _first(tables, kind, format_, width)
        if table is None:
            continue
        numbers = [number for number, _ in lines]
        shapes = dict(zip(table.shape, np.array([shape for _, shape in lines], float).T, strict=True))
        found, _ = table.times_us(shapes)
        times[numbers] = 1e-6 * found * _scale(kernels, numbers, tables, npu, precision)
    return times

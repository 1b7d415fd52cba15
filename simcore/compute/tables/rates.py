"""Rates of kernels that no table holds, and the least times that an accelerator allows."""

from simcore.machine import Npu
from simcore.terms import FORMATS, NARROW_FORMATS, Precision
from simcore.workload.graph import Kernel

STREAM, LAUNCH_S = 0.85, 2e-6
"""Part of the memory bandwidth that element-wise kernels reach, and the time of the least of them:
0.75 to 0.91 and 1.4 to 2.6 us in the quantisation kernels of seven accelerators (the tables
``scale_matrix`` of AIConfigurator 0.12, TensorRT-LLM and vLLM)."""

PRODUCT, ATTENTION = 0.65, 0.45
"""Parts of the peak that large products and long attention take where nothing was measured: what
the measured accelerators reach in the median, so that none of unknown speed looks better."""

PRODUCT_STREAM = 0.6
"""Part of the memory bandwidth at which products without a table read their operands: 0.38 to 0.69
in those of 4-bit products, the least of all."""

_PARTS = {"gemm": PRODUCT, "experts": PRODUCT, "attention": ATTENTION, "scan": ATTENTION}
_PRODUCTS = ("gemm", "experts")


class MeasuredRates:
    """Roofline of one accelerator at one precision, with the rates that measured ones reach."""

    def __init__(self, npu: Npu, precision: Precision) -> None:
        self._npu, self._precision = npu, precision
        self._bandwidth = npu.memory_bandwidth_bytes_per_s
        self._peaks: dict[str, float] = {}

    def least_s(self, kernel: Kernel) -> float:
        """Time that peak and memory allow; operands of products in a narrow format are not cast.

        Raises:
            ConfigError: The accelerator has no peak for the precision.
        """
        return max(kernel.flop / self._peak(kernel), _moved(kernel) / self._bandwidth)

    def unmeasured_s(self, kernel: Kernel) -> float:
        """Time at the rates that measured accelerators reach.

        Raises:
            ConfigError: As ``least_s``, or it works in memory of which nothing is told.
        """
        compute_s = kernel.flop / (_PARTS.get(kernel.kind, 1.0) * self._peak(kernel))
        stream = PRODUCT_STREAM if kernel.kind == "gemm" else STREAM
        memory_rate = stream * self._npu.transfer_bytes_per_s(kernel.kind)
        return max(compute_s, _moved(kernel) / memory_rate) + LAUNCH_S

    def _peak(self, kernel: Kernel) -> float:
        """Peak of the format in which the kernel multiplies; of 16 bits where there is none."""
        narrow = kernel.format if kernel.kind in _PRODUCTS else ""
        found = self._peaks.get(narrow)
        if found is None:
            wide = self._precision not in NARROW_FORMATS
            other = self._precision if wide else Precision.BF16
            format_ = FORMATS[narrow].product if narrow else other
            known = format_ in self._npu.peak_flop_per_s
            found = self._peaks[narrow] = self._npu.peak(format_ if known else Precision.BF16)
        return found


def _moved(kernel: Kernel) -> float:
    """Bytes of *kernel*; operands of a product in a narrow format, however they are stored."""
    if not kernel.format or kernel.kind != "gemm":
        return kernel.bytes
    m, n, k, size = kernel.m, kernel.n, kernel.k, FORMATS[kernel.format].weight_bytes
    return min(kernel.bytes, kernel.groups * (size * k * (m + n) + 2.0 * m * n))

"""Matrix products on systolic arrays; everything else as on any accelerator."""

from dataclasses import dataclass
from functools import lru_cache

from simcore.compute.base import ComputeModel, reached, whole_ns
from simcore.compute.roofline import Roofline
from simcore.errors import ConfigError
from simcore.machine import Npu, SystolicArray
from simcore.systolic import Array, Dataflow, Layer, busy, report
from simcore.terms import Precision
from simcore.workload.graph import Kernel


@dataclass(frozen=True, slots=True)
class SystolicArrays(ComputeModel):
    """Cycles of ``npu.array`` for matrix products, stalls included where it has a bandwidth.

    - A product of an (m, k) by a (k, n) matrix is a layer of SCALE-Sim; products in groups are
      dealt out to the arrays, and where there are fewer of them than arrays each is cut into as
      many parts along m or n, whichever takes less.
    - It takes no less than its FLOP at the peak of the accelerator, nor than its bytes at the part
      of the memory bandwidth that ``efficiency`` tells; a unit does one multiply-add per cycle in
      whatever format, and a word of the buffers is one number of it.
    - Products of unknown shape and all other kernels take what ``roofline`` says, without waiting
      for the host: programs of such machines are compiled whole.

    Source: A. Samajdar et al., "A Systematic Methodology for Characterizing Scalability of DNN
    Accelerators using SCALE-Sim", ISPASS 2020, and the rules of its version 2.
    """

    def kernel_time_ns(self, kernel: Kernel, npu: Npu, precision: Precision) -> int:
        if kernel.kind != "gemm" or not (kernel.m and kernel.n and kernel.k):
            return Roofline().kernel_time_ns(kernel, npu, precision)
        peak = npu.peak(precision)
        if npu.array is None:
            rule = f"is needed for compute: systolic, and {npu.name} tells none: give its rows, "
            rule += "columns, clock and buffers, or choose another compute model"
            raise ConfigError("platform.npu.array", rule, got=None)
        shape, word_bytes = (kernel.m, kernel.n, kernel.k), precision.bytes
        array_s = _cycles(shape, kernel.groups, npu.array, word_bytes) / npu.array.clock_hz
        share = npu.efficiency.product_memory or npu.efficiency.memory
        memory_s = kernel.bytes / reached(share, npu.memory_bandwidth_bytes_per_s)
        busy_s = max(array_s, kernel.flop / peak, memory_s)
        return whole_ns(busy_s + npu.efficiency.kernel_overhead_s)


@lru_cache(maxsize=65536)
def _cycles(
    shape: tuple[int, int, int], groups: int, given: SystolicArray, word_bytes: float
) -> int:
    """Cycles of equal products on all arrays."""
    m, n, k = shape
    rounds, shapes = -(-groups // given.arrays), [shape]
    parts = given.arrays // groups
    if parts > 1:
        shapes = [(-(-m // parts), n, k), (m, -(-n // parts), k)]
    flows = list(Dataflow) if given.dataflow == "best" else [Dataflow(given.dataflow)]
    arrays = [_array(given, flow, word_bytes) for flow in flows]
    layers = [Layer.gemm(*part) for part in shapes]
    return rounds * min(_of_one(layer, array) for layer in layers for array in arrays)


def _of_one(layer: Layer, array: Array) -> int:
    """Cycles of a product on one array."""
    if array.bandwidth is None:
        return busy(layer, array).cycles
    return report(layer, array).total_cycles + 1


def _array(given: SystolicArray, flow: Dataflow, word_bytes: float) -> Array:
    bandwidth = None
    if given.bandwidth_bytes_per_s is not None:
        words_per_cycle = given.bandwidth_bytes_per_s / given.clock_hz / word_bytes
        bandwidth = max(1, int(words_per_cycle))
    return Array(
        rows=given.rows,
        cols=given.columns,
        dataflow=flow,
        ifmap_words=int(given.ifmap_bytes / word_bytes),
        filter_words=int(given.filter_bytes / word_bytes),
        ofmap_words=int(given.ofmap_bytes / word_bytes),
        bandwidth=bandwidth,
    )

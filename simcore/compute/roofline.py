"""Roofline with the efficiencies of real kernels, a few parameters per accelerator."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Self

from simcore.compute.base import ComputeModel, reached, whole_ns
from simcore.machine import Efficiency, Npu
from simcore.terms import Precision
from simcore.units import plain_sum
from simcore.workload.graph import Kernel, Operator

_WIDE = {Precision.FP8: Precision.BF16, Precision.FP4: Precision.BF16}
TILES = ((256, 128), (128, 256), (128, 128), (128, 64))
"""Rows and columns of the tiles that libraries choose from, the fastest first."""
SHARED_SUM = 1024
"""Terms of a sum of products that a processor adds up at least, where several share one sum."""
_PARTIAL_BYTES = 4
"""Bytes of a part of such a sum, which is written and read once."""
_WIDE_BYTES = 2
"""Bytes of an operand as kernels count it; one that is stored with fewer is not spared twice."""
SHORT = 1 / 8
"""Part of its best rate that fused attention reaches with few keys, or narrow heads, at least."""
WIDE_HEAD = 128
"""Elements of the heads with which the best rate of fused attention is told."""
_ALIGNED_ELEMENTS = 8
"""16 bytes of 16-bit elements, below which matrix units read their operands piecemeal."""


@dataclass(frozen=True, slots=True)
class Roofline(ComputeModel):
    """``max(compute, memory) + overhead`` with the parameters of ``npu.efficiency``.

    - memory: ``bytes / (memory x memory bandwidth)``;
    - compute of a matrix product: ``rounds x flop / (gemm x peak) x (1 + tile_fill / k) + ramp``,
      where ``rounds`` is what the best tiles take, in whole rounds on the processors, over what
      the largest would if they could be split; where tiles leave processors idle, several share
      one, for as many passes over its results. Without rounds and fill, written as a rate, it is
      ``gemm x peak x flop / (flop + half)`` with ``half = ramp x gemm x peak``: the saturating
      curve of measured products, which reach half of their best rate at ``half`` FLOP;
    - memory of a matrix product: the same with ``product_memory``;
    - products in formats below 16 bits: the same at that format's peak and width, after their
      operands were cast; the output head and attention stay in 16 bits, as in Transformer Engine;
    - many products in one kernel, as those of experts: ``group_s`` more for each but the first;
    - compute of fused attention: ``flop / (attention x share x n / (n + half) x peak)`` with ``n``
      keys per query (that fraction not below ``SHORT``) and the share that the software's kernels
      reach; heads of k < ``WIDE_HEAD`` elements at k / (k + width) times that rate over the same of
      wide ones; its backward pass at ``attention_backward`` times that rate;
    - compute of state space scans: ``flop / (scan x peak)``; of attention that stores its scores:
      at another part of the peak, and less of it for misaligned heads;
    - compute of any other kernel: ``flop / peak``; such kernels are bound by memory, element-wise
      ones at ``traffic`` times their bytes, choosing experts and sorting tokens at ``routing``
      times and ``routing_s`` more;
    - lookups in host memory: as memory, at the rate of the link to the host;
    - overhead: start and drain of a kernel, the same for all;
    - an operator lasts at least as long as the host needs to issue its kernels.

    Source: roofline as in S. Williams et al., CACM 52(4), 2009; saturation as the half-performance
    length of R. Hockney, C. Jesshope, Parallel Computers, 1981, section 1.3; rounds ("wave
    quantization"), alignment and shared sums ("split-K"): NVIDIA, Matrix Multiplication Background
    User's Guide; CUTLASS, "Efficient GEMM in CUDA", section "Parallelized reductions".
    """

    def kernel_time_ns(self, kernel: Kernel, npu: Npu, precision: Precision) -> int:
        return whole_ns(_Rates.of(npu, precision).kernel_s(kernel))

    def operator_time_ns(self, kernels: Sequence[Kernel], npu: Npu, precision: Precision) -> int:
        return _Rates.of(npu, precision).operator_ns(kernels)

    def operator_times_ns(
        self, operators: Sequence[Operator], npu: Npu, precision: Precision
    ) -> list[int]:
        operator_ns = _Rates.of(npu, precision).operator_ns
        return [operator_ns(operator.kernels) for operator in operators]


def kernel_times_ns(kernels: Sequence[Kernel], npu: Npu, precision: Precision) -> list[int]:
    """Time of each of the *kernels* by itself, in whole ns."""
    kernel_s = _Rates.of(npu, precision).kernel_s
    return [whole_ns(kernel_s(kernel)) for kernel in kernels]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rates:
    """Rates that one NPU reaches at one precision.

    Attributes:
        memory_bytes_per_s: Of all kernels but products and those in host memory.
        product_bytes_per_s: Of matrix products.
        product_flop_per_s: Of matrix products with tiles that fit.
        wide_flop_per_s: Likewise in 16 bits, where *precision* is narrower.
        plain_flop_per_s: The peak in at least 16 bits.
        is_narrow: *precision* has fewer than 16 bits.
        operand_bytes: Of one number of the operands of a product in *precision*.
        tile_costs: Rows, columns and time of one step, of each of the ``TILES``.
        overhead_s, ramp_s: Of each kernel; of each product.
    """

    npu: Npu
    efficiency: Efficiency
    memory_bytes_per_s: float
    product_bytes_per_s: float
    product_flop_per_s: float
    wide_flop_per_s: float
    plain_flop_per_s: float
    is_narrow: bool
    operand_bytes: float
    tile_costs: tuple[tuple[int, int, float], ...]
    overhead_s: float
    ramp_s: float

    @classmethod
    def of(cls, npu: Npu, precision: Precision) -> Self:
        efficiency, is_narrow = npu.efficiency, precision in _WIDE
        plain = npu.peak(_WIDE.get(precision, precision))
        wide = product = reached(efficiency.gemm, plain)
        if is_narrow:
            part = efficiency.gemm_narrow or efficiency.gemm
            if precision is Precision.FP4:
                part = efficiency.gemm_fp4 or part
            product = reached(part, npu.peak(precision))
        cost, bandwidth = efficiency.operand_cost, npu.memory_bandwidth_bytes_per_s
        return cls(
            npu=npu,
            efficiency=efficiency,
            memory_bytes_per_s=reached(efficiency.memory, bandwidth),
            product_bytes_per_s=reached(efficiency.product_memory or efficiency.memory, bandwidth),
            product_flop_per_s=product,
            wide_flop_per_s=wide,
            plain_flop_per_s=plain,
            is_narrow=is_narrow,
            operand_bytes=precision.bytes,
            tile_costs=tuple([(m, n, m * n + cost * (m + n)) for m, n in TILES]),
            overhead_s=float(efficiency.kernel_overhead_s),
            ramp_s=float(efficiency.gemm_ramp_s),
        )

    def operator_ns(self, kernels: Sequence[Kernel]) -> int:
        busy_s = plain_sum([self.kernel_s(kernel) for kernel in kernels])
        return whole_ns(max(busy_s, len(kernels) * self.efficiency.issue_s))

    def kernel_s(self, kernel: Kernel) -> float:
        if kernel.kind == "gemm":
            return self._gemm_s(kernel)
        if kernel.kind in ("attention", "scan"):
            part = _attention_part(kernel, self.efficiency)
            compute_s = kernel.flop / reached(part, self.plain_flop_per_s)
        else:
            compute_s = kernel.flop / self.plain_flop_per_s
        memory_rate = self.memory_bytes_per_s
        if kernel.kind == "host":
            memory_rate = reached(
                self.efficiency.memory, self.npu.transfer_bytes_per_s(kernel.kind)
            )
        memory_s = self._times(kernel) * kernel.bytes / memory_rate
        fixed_s = self.efficiency.routing_s if kernel.kind == "routing" else 0.0
        return max(compute_s, memory_s) + self.overhead_s + fixed_s

    def _times(self, kernel: Kernel) -> float:
        """Bytes that the software moves over those that must be moved."""
        if kernel.kind == "elementwise":
            return self.efficiency.traffic
        return self.efficiency.routing if kernel.kind == "routing" else 1.0

    def _gemm_s(self, kernel: Kernel) -> float:
        is_narrow = self.is_narrow and kernel.format != ""
        compute_s = self._product_s(kernel, is_narrow=is_narrow)
        moved, cast_s = kernel.bytes, 0.0
        if is_narrow:
            operands = kernel.groups * (kernel.m * kernel.k + kernel.k * kernel.n)
            spared = (_WIDE_BYTES - self.operand_bytes) * operands
            moved = max(moved - spared, self.operand_bytes * operands)
            cast_s = self.efficiency.casts * operands / self.memory_bytes_per_s
        return max(compute_s, moved / self.product_bytes_per_s) + cast_s + self.overhead_s

    def _product_s(self, kernel: Kernel, *, is_narrow: bool) -> float:
        rate = self.product_flop_per_s if is_narrow else self.wide_flop_per_s
        fill = self.efficiency.tile_fill / kernel.k if kernel.k else 0.0
        full_s = kernel.flop / rate * (1 + fill)
        more_s = (kernel.groups - 1) * self.efficiency.group_s
        return self._tiled_s(kernel, full_s) + self.ramp_s + more_s

    def _tiled_s(self, kernel: Kernel, full_s: float) -> float:
        """Time of the best tiles, where the fastest ones would take *full_s* if they were split."""
        processors = self.efficiency.processors
        if not processors or not kernel.m:
            return full_s
        m, n, groups = kernel.m, kernel.n, kernel.groups
        rows, columns, cost = self.tile_costs[0]
        step_s = full_s / (groups * m * n / (rows * columns * processors) * cost)
        times_s = []
        for rows, columns, cost in self.tile_costs:
            tiles = groups * -(-m // rows) * -(-n // columns)
            round_s = -(-tiles // processors) * cost * step_s
            times_s.append(self._shared_s(kernel, round_s, processors // tiles))
        return min(times_s)

    def _shared_s(self, kernel: Kernel, alone_s: float, processors: int) -> float:
        """Time of tiles that take *alone_s* on one processor each, where so many may share one."""
        most = min(processors, kernel.k / SHARED_SUM)
        if most <= 1:
            return alone_s
        written = 2 * _PARTIAL_BYTES * kernel.groups * kernel.m * kernel.n
        pass_s = written / self.memory_bytes_per_s
        parts = min(most, max(1.0, sqrt(alone_s / pass_s)))
        return min(alone_s, alone_s / parts + parts * pass_s)


def _narrow_heads(elements: int, width: float) -> float:
    """Rate with heads of so many *elements* over that with wide ones.

    Source: what is done for each score, whatever the width of heads, takes the time of products of
    *width* elements; J. Shah et al., "FlashAttention-3", arXiv:2407.08608, section 3.1.
    """
    return max(SHORT, elements / WIDE_HEAD * (WIDE_HEAD + width) / (elements + width))


def _attention_part(kernel: Kernel, efficiency: Efficiency) -> float:
    if kernel.kind == "scan":
        return efficiency.scan or efficiency.attention
    if kernel.name.startswith("attention core"):
        part = efficiency.attention * efficiency.attention_share
        if kernel.n:
            part *= max(SHORT, kernel.n / (kernel.n + efficiency.attention_half))
        if 0 < kernel.k < WIDE_HEAD:
            part *= _narrow_heads(kernel.k, efficiency.attention_width)
        return part * efficiency.attention_backward if kernel.name.endswith("gradient") else part
    part = efficiency.unfused_attention or efficiency.attention
    return part if kernel.k % _ALIGNED_ELEMENTS == 0 else part * efficiency.misaligned

"""Roofline with the efficiencies of real kernels, a few parameters per accelerator."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from simcore.compute.base import ComputeModel
from simcore.hardware import Efficiency, Npu
from simcore.terms import Precision
from simcore.workload.graph import Kernel

_WIDE = {Precision.FP8: Precision.BF16, Precision.FP4: Precision.BF16}
TILES = ((256, 128), (128, 256), (128, 128), (128, 64))
"""Rows and columns of the tiles that libraries choose from, the fastest first."""
_ALIGNED_ELEMENTS = 8
"""16 bytes of 16-bit elements, below which matrix units read their operands piecemeal."""


@dataclass(frozen=True, slots=True)
class Roofline(ComputeModel):
    """``max(compute, memory) + overhead`` with the parameters of ``npu.efficiency``.

    - memory: ``bytes / (memory x memory bandwidth)``;
    - compute of a matrix product: ``rounds x flop / (gemm x peak) x (1 + tile_fill / k) + ramp``,
      where ``rounds`` is what the best tiles take, in whole rounds on the processors, over what
      the largest would if they could be split. Without rounds and fill, written as a rate, it is
      ``gemm x peak x flop / (flop + half)`` with ``half = ramp x gemm x peak``: the saturating
      curve of measured products, which reach half of their best rate at ``half`` FLOP;
    - products in formats below 16 bits: the same at that format's peak, after their operands were
      cast; the output head and attention stay in 16 bits, as in Transformer Engine;
    - compute of attention: ``flop / (attention x peak)``; where the scores are stored, another
      part of the peak, and less of it for misaligned heads;
    - compute of any other kernel: ``flop / peak``; such kernels are bound by memory;
    - lookups in host memory: as memory, at the rate of the link to the host;
    - overhead: start and drain of a kernel, the same for all;
    - an operator lasts at least as long as the host needs to issue its kernels.

    Source: roofline as in S. Williams et al., CACM 52(4), 2009; saturation as the half-performance
    length of R. Hockney, C. Jesshope, Parallel Computers, 1981, section 1.3; rounds ("wave
    quantization") and alignment: NVIDIA, Matrix Multiplication Background User's Guide.
    """

    def kernel_time_ns(self, kernel: Kernel, npu: Npu, precision: Precision) -> int:
        return ceil(_kernel_s(kernel, npu, precision) * 1e9)

    def operator_time_ns(self, kernels: Sequence[Kernel], npu: Npu, precision: Precision) -> int:
        busy_s = sum(_kernel_s(kernel, npu, precision) for kernel in kernels)
        return ceil(max(busy_s, len(kernels) * npu.efficiency.issue_s) * 1e9)


def _kernel_s(kernel: Kernel, npu: Npu, precision: Precision) -> float:
    efficiency = npu.efficiency
    memory_rate = efficiency.memory * npu.transfer_bytes_per_s(kernel.kind)
    cast_s = 0.0
    if kernel.kind == "gemm":
        compute_s = _product_s(kernel, npu, precision)
        if _is_narrow(kernel, precision):
            operands = kernel.groups * (kernel.m * kernel.k + kernel.k * kernel.n)
            cast_s = efficiency.casts * operands / memory_rate
    elif kernel.kind == "attention":
        peak = npu.peak(_WIDE.get(precision, precision))
        compute_s = kernel.flop / (_attention_part(kernel, efficiency) * peak)
    else:
        compute_s = kernel.flop / npu.peak(_WIDE.get(precision, precision))
    memory_s: float = kernel.bytes / memory_rate
    return max(compute_s, memory_s) + cast_s + float(efficiency.kernel_overhead_s)


def _product_s(kernel: Kernel, npu: Npu, precision: Precision) -> float:
    efficiency, part = npu.efficiency, npu.efficiency.gemm
    if _is_narrow(kernel, precision):
        peak, part = npu.peak(precision), efficiency.gemm_narrow or part
    else:
        peak = npu.peak(_WIDE.get(precision, precision))
    fill = efficiency.tile_fill / kernel.k if kernel.k else 0.0
    full_s = kernel.flop / (part * peak) * (1 + fill)
    return _rounds(kernel, efficiency) * full_s + float(efficiency.gemm_ramp_s)


def _is_narrow(kernel: Kernel, precision: Precision) -> bool:
    return precision in _WIDE and not kernel.name.startswith("head")


def _rounds(kernel: Kernel, efficiency: Efficiency) -> float:
    """Time of the best tiles over that of the fastest ones if they could be split, at least 1."""
    processors, cost = efficiency.processors, efficiency.operand_cost
    if not processors or not kernel.m:
        return 1.0
    m, n, groups = kernel.m, kernel.n, kernel.groups
    best = min(
        -(-groups * -(-m // rows) * -(-n // columns) // processors)
        * _tile_cost(rows, columns, cost)
        for rows, columns in TILES
    )
    rows, columns = TILES[0]
    whole = groups * m * n / (rows * columns * processors)
    return best / (whole * _tile_cost(rows, columns, cost))


def _tile_cost(rows: int, columns: int, operand_cost: float) -> float:
    """Time of one step of a tile, in multiply-adds."""
    return rows * columns + operand_cost * (rows + columns)


def _attention_part(kernel: Kernel, efficiency: Efficiency) -> float:
    if kernel.name.startswith("attention core"):
        return efficiency.attention
    part = efficiency.unfused_attention or efficiency.attention
    return part if kernel.k % _ALIGNED_ELEMENTS == 0 else part * efficiency.misaligned

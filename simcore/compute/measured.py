"""Kernels as they were measured, and a roofline of measured rates where none was."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from simcore.compute.base import BEYOND_NS, ComputeModel
from simcore.compute.tables.kinds import TABLE_KINDS, Floats
from simcore.compute.tables.store import KernelTables, MeasuredKernel, shipped_tables
from simcore.errors import ConfigError
from simcore.machine import Npu
from simcore.terms import FORMATS, NARROW_FORMATS, Precision
from simcore.workload.graph import Kernel, Operator

ENGINES = ("tensorrt_llm", "sglang", "vllm")
"""Engines whose tables are asked: for an accelerator that names none the fastest kernel counts."""

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

BACKWARD = 0.85
"""Rate of the backward pass of fused attention beside that of its forward pass.

Source: J. Shah et al., "FlashAttention-3", NeurIPS 2024, figures 5 and 6 (16 bits, H100)."""

GRADIENT_PRODUCTS = 2.5
"""Products of the backward pass of fused attention over those of its forward pass."""

_FEW_QUERIES = 16
"""Kernels with so many times more keys than queries are those of decoding."""

_LATENT = {192: "latent_prefill", 576: "latent_decode"}
"""Head widths of the measured latent attention: keys made of latents, and latents with the part of
a key that tells its position."""


class Place(NamedTuple):
    """Table in which a kernel is looked up, its coordinates, and a factor of its time."""

    kind: str
    format: str
    shape: tuple[float, ...]
    times: float = 1.0


@dataclass(frozen=True, slots=True)
class MeasuredKernels(ComputeModel):
    """Times from the tables that ``npu.kernels`` names, interpolated between measured shapes.

    Products, fused attention, latent attention and layers of experts are looked up by shape and
    number format. What has no table takes a roofline with rates that measured accelerators reach.
    An accelerator with the silicon of the measured one and other peaks, another memory say, takes
    the same share of its own roofline.
    """

    def kernel_time_ns(self, kernel: Kernel, npu: Npu, precision: Precision) -> int:
        return _whole_ns(_times_s([kernel], npu, precision))[0]

    def operator_time_ns(self, kernels: Sequence[Kernel], npu: Npu, precision: Precision) -> int:
        times = _times_s(kernels, npu, precision)
        return _whole_ns(np.array([_together_s(kernels, times, npu, precision)]))[0]

    def operator_times_ns(
        self, operators: Sequence[Operator], npu: Npu, precision: Precision
    ) -> list[int]:
        kernels = [kernel for operator in operators for kernel in operator.kernels]
        times, first, sums = _times_s(kernels, npu, precision), 0, []
        for operator in operators:
            last = first + len(operator.kernels)
            sums.append(_together_s(operator.kernels, times[first:last], npu, precision))
            first = last
        return _whole_ns(np.array(sums))


def _whole_ns(times_s: Floats) -> list[int]:
    times = np.ceil(np.minimum(times_s * 1e9, float(BEYOND_NS)))
    return [int(time) for time in times]


def _times_s(kernels: Sequence[Kernel], npu: Npu, precision: Precision) -> Floats:
    """Time of each kernel."""
    times = np.array([_unmeasured_s(kernel, npu, precision) for kernel in kernels])
    if npu.kernels is None:
        return times
    tables = shipped_tables(npu.kernels.tables)
    engine = npu.kernels.engine
    if engine and engine not in ENGINES:
        rule = f"must be one of {', '.join(ENGINES)}"
        raise ConfigError("platform.npu.kernels.engine", rule, got=engine)
    asked: dict[tuple[str, str], list[_Asked]] = defaultdict(list)
    for number, kernel in enumerate(kernels):
        layer = _experts(kernels[number : number + _OF_EXPERTS])
        place = _place(layer or kernel)
        if place is not None:
            asked[place[:2]].append(_Asked(number, layer or kernel, place))
    for (kind, format_), wanted in asked.items():
        measured = _tables_of(tables, kind, engine, format_)
        if not measured:
            continue
        columns = np.array([one.place.shape for one in wanted], float).T
        shapes = dict(zip(TABLE_KINDS[kind].shape, columns, strict=True))
        found = np.minimum.reduce([table.times_us(shapes)[0] for table in measured])
        for (number, kernel, place), time_us in zip(wanted, found, strict=True):
            share = _share(kernel, npu, tables.npu, precision)
            time_s = 1e-6 * float(time_us) * place.times * share
            times[number] = max(time_s, _least_s(kernel, npu, precision))
            if kernel.kind == "experts":
                times[number + 1 : number + _OF_EXPERTS] = 0.0
    return times


def _together_s(kernels: Sequence[Kernel], times: Floats, npu: Npu, precision: Precision) -> float:
    """Time of an operator whose kernels take *times* one by one.

    Element-wise kernels that follow each other are one. A layer of experts was measured with what
    is next to it: rows put in the order of the experts, and back. Kernels beside others take no
    time of their own but where both together have more to do than the NPU can.
    """
    own_s, beside_s, before = 0.0, 0.0, ""
    for number, kernel in enumerate(kernels):
        time_s = float(times[number])
        if kernel.kind == before == "elementwise":
            time_s = max(time_s - LAUNCH_S, 0.0)
        before = kernel.kind
        if kernel.kind == "elementwise" and _next_to_experts(kernels, number):
            time_s = 0.0
        if kernel.beside:
            beside_s += time_s
        else:
            own_s += time_s
    least_s = sum(_least_s(kernel, npu, precision) for kernel in kernels)
    return max(own_s, beside_s, least_s)


def _next_to_experts(kernels: Sequence[Kernel], number: int) -> bool:
    """Whether a layer of experts begins after the kernel *number*, or ends before it."""
    before = number >= _OF_EXPERTS and _experts(kernels[number - _OF_EXPERTS : number])
    return bool(before or _experts(kernels[number + 1 : number + 1 + _OF_EXPERTS]))


class _Asked(NamedTuple):
    """A kernel that is looked up, or the layer of experts that begins with it."""

    number: int
    kernel: Kernel
    place: Place


_OF_EXPERTS = 3
"""Kernels of a layer of experts: a product in groups, the activation, a product back."""


def _experts(kernels: Sequence[Kernel]) -> Kernel | None:
    """The layer of experts that begins with the first of *kernels*, as engines run it: fused."""
    if len(kernels) < _OF_EXPERTS or kernels[0].groups == 1 or kernels[0].kind != "gemm":
        return None
    up, activation, down = kernels[:_OF_EXPERTS]
    same = (up.m, up.groups, up.k, up.format) == (down.m, down.groups, down.n, down.format)
    if not same or activation.kind != "elementwise" or down.kind != "gemm":
        return None
    flop, moved = up.flop + down.flop, up.bytes + down.bytes
    return Kernel("experts", "experts", flop, moved, up.m, down.k, up.k, up.groups, up.format)


@lru_cache(maxsize=1024)
def _tables_of(
    tables: KernelTables, kind: str, engine: str, format_: str
) -> tuple[MeasuredKernel, ...]:
    """The table of *engine*, or where it has none, or none is named, those of all engines."""
    own = tables.find(kind, engine, format_) if engine else None
    if own is not None:
        return (own,)
    found = (tables.find(kind, other, format_) for other in ENGINES)
    return tuple(table for table in found if table is not None)


def _place(kernel: Kernel) -> Place | None:
    """Place of *kernel* in the tables; None: no kind of table holds it."""
    if kernel.m <= 0 or kernel.n <= 0 or kernel.k <= 0:
        return None
    if kernel.kind == "gemm":
        shape = float(kernel.m), float(kernel.n), float(kernel.k)
        return Place("product", kernel.format or "bf16", shape) if kernel.groups == 1 else None
    if kernel.kind == "experts":
        sizes = float(kernel.m), float(kernel.groups), float(kernel.k), float(kernel.n)
        return Place("experts", kernel.format or "bf16", sizes)
    if kernel.kind == "attention" and kernel.name.startswith("attention core"):
        return _attention_place(kernel)
    return None


def _attention_place(kernel: Kernel) -> Place:
    decodes = kernel.m * _FEW_QUERIES <= kernel.n
    times = GRADIENT_PRODUCTS / BACKWARD if kernel.name.endswith("gradient") else 1.0
    format_ = kernel.format or "bf16"
    if kernel.k in _LATENT:
        shape = float(kernel.groups), float(kernel.heads), float(kernel.n)
        return Place(_LATENT[kernel.k], format_, shape, times)
    group = max(1, kernel.heads // max(1, kernel.key_heads))
    sizes = float(kernel.groups), float(kernel.key_heads), float(group), float(kernel.n), kernel.k
    return Place("attention_decode" if decodes else "attention_prefill", format_, sizes, times)


def _share(kernel: Kernel, npu: Npu, measured: Npu, precision: Precision) -> float:
    """Time of the roofline of *npu* over that of the *measured* one."""
    if npu.peak_flop_per_s == measured.peak_flop_per_s and (
        npu.memory_bandwidth_bytes_per_s == measured.memory_bandwidth_bytes_per_s
    ):
        return 1.0
    own_s, measured_s = (_least_s(kernel, each, precision) for each in (npu, measured))
    return (own_s + LAUNCH_S) / (measured_s + LAUNCH_S)


def _least_s(kernel: Kernel, npu: Npu, precision: Precision) -> float:
    """Time that peak and memory allow; operands of products in a narrow format are not cast."""
    compute_s = kernel.flop / _peak(kernel, npu, precision)
    return max(compute_s, _moved(kernel) / npu.memory_bandwidth_bytes_per_s)


def _unmeasured_s(kernel: Kernel, npu: Npu, precision: Precision) -> float:
    """Roofline with rates that measured accelerators reach."""
    part = {"gemm": PRODUCT, "experts": PRODUCT, "attention": ATTENTION, "scan": ATTENTION}
    compute_s = kernel.flop / (part.get(kernel.kind, 1.0) * _peak(kernel, npu, precision))
    stream = PRODUCT_STREAM if kernel.kind == "gemm" else STREAM
    memory_rate = stream * npu.transfer_bytes_per_s(kernel.kind)
    return max(compute_s, _moved(kernel) / memory_rate) + LAUNCH_S


def _moved(kernel: Kernel) -> float:
    """Bytes of *kernel*; operands of a product in a narrow format, however they are stored."""
    if not kernel.format or kernel.kind != "gemm":
        return kernel.bytes
    m, n, k, size = kernel.m, kernel.n, kernel.k, FORMATS[kernel.format].weight_bytes
    return min(kernel.bytes, kernel.groups * (size * k * (m + n) + 2.0 * m * n))


def _peak(kernel: Kernel, npu: Npu, precision: Precision) -> float:
    """Peak of the format in which the kernel multiplies; of 16 bits where *npu* lacks it."""
    format_ = FORMATS[kernel.format].product if kernel.format else None
    if format_ is None or kernel.kind not in ("gemm", "experts"):
        format_ = precision if precision not in NARROW_FORMATS else Precision.BF16
    return npu.peak(format_ if format_ in npu.peak_flop_per_s else Precision.BF16)

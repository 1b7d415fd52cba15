"""Kernels that ``simcore profile`` times: how each kind is run by PyTorch."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

from simcore.profiling.clock import Work
from simcore.profiling.shapes import Shape

_ROW = 4096
"""Width of the rows that are normalised, in elements, where there are so many."""

_OPTIMIZER_BYTES = 28
"""Bytes that a fused AdamW moves per fp32 parameter: four numbers are read and three written."""

_NARROW = (8, 9)
"""Least compute capability with products in 8 bits."""

_ALIGNED = 16
"""Multiple that the edges of products in 8 bits must be of."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Maker of operands on one device.

    Attributes:
        torch: The module.
        device: ``cuda`` or ``cpu``.
    """

    torch: Any
    device: str

    def random(self, *shape: int, format_: str = "bf16") -> Any:
        """Random numbers of this shape: of zeros a product draws less power, and is faster."""
        made = self.torch.randn(shape, device=self.device, dtype=self._wide(format_))
        return made.to(self.torch.float8_e4m3fn) if format_ == "fp8" else made

    def empty(self, *shape: int, format_: str = "bf16") -> Any:
        return self.torch.empty(shape, device=self.device, dtype=self._wide(format_))

    def _wide(self, format_: str) -> Any:
        return self.torch.float32 if format_ == "fp32" else self.torch.bfloat16

    def formats(self) -> tuple[str, ...]:
        """Number formats in which the device multiplies, and tables hold."""
        if self.device == "cpu":
            return ("bf16", "fp32")
        capable = self.torch.cuda.get_device_capability() >= _NARROW
        return ("bf16", "fp8") if capable and hasattr(self.torch, "_scaled_mm") else ("bf16",)

    def free_bytes(self) -> float:
        """Memory that operands may take; what the library kept of earlier ones is free again."""
        if self.device == "cpu":
            return float(1 << 30)
        self.torch.cuda.empty_cache()
        return 0.8 * float(self.torch.cuda.mem_get_info()[0])


Make = Callable[[Bench, str, Shape], Work]


def _product(bench: Bench, format_: str, shape: Shape) -> Work:
    m, n, k = shape
    torch = bench.torch
    left, weights = bench.random(m, k, format_=format_), bench.random(n, k, format_=format_)
    if format_ != "fp8":
        return lambda: torch.nn.functional.linear(left, weights)
    one = torch.ones((), device=bench.device)
    turned = weights.t()  # by columns, as the kernel wants the second operand
    return lambda: torch._scaled_mm(
        left, turned, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True
    )


def _attention(bench: Bench, format_: str, shape: Shape, *, queries: int, causal: bool) -> Work:
    sequences, key_heads, group, keys, width = shape
    attend = bench.torch.nn.functional.scaled_dot_product_attention
    query = bench.random(sequences, key_heads * group, queries, width, format_=format_)
    key, value = (bench.random(sequences, key_heads, keys, width, format_=format_) for _ in "kv")
    return lambda: attend(query, key, value, is_causal=causal, enable_gqa=group > 1)


def _decode(bench: Bench, format_: str, shape: Shape) -> Work:
    return _attention(bench, format_, shape, queries=1, causal=False)


def _prefill(bench: Bench, format_: str, shape: Shape) -> Work:
    return _attention(bench, format_, shape, queries=shape[3], causal=True)


def _elementwise(bench: Bench, format_: str, shape: Shape) -> Work:
    elements = max(1, shape[0] // (3 * _width(format_)))  # two reads, one write
    left, right = bench.random(elements, format_=format_), bench.random(elements, format_=format_)
    out, torch = bench.empty(elements, format_=format_), bench.torch
    return lambda: torch.add(left, right, out=out)


def _norm(bench: Bench, format_: str, shape: Shape) -> Work:
    elements = max(1, shape[0] // (2 * _width(format_)))  # one read, one write
    row = min(_ROW, elements)
    rows, torch = bench.random(max(1, elements // row), row, format_=format_), bench.torch
    return lambda: torch.nn.functional.layer_norm(rows, (row,))


def _copy(bench: Bench, format_: str, shape: Shape) -> Work:
    elements = max(1, shape[0] // (2 * _width(format_)))
    source, target = bench.random(elements, format_=format_), bench.empty(elements, format_=format_)
    return lambda: target.copy_(source)


def _optimizer(bench: Bench, format_: str, shape: Shape) -> Work:
    weights = bench.random(max(1, shape[0] // _OPTIMIZER_BYTES), format_="fp32")
    weights.grad = bench.random(*weights.shape, format_="fp32")
    step: Work = bench.torch.optim.AdamW([weights], fused=True).step
    return step


def _width(format_: str) -> int:
    return 4 if format_ == "fp32" else 2


MAKERS: dict[str, Make] = {
    "product": _product,
    "attention_decode": _decode,
    "attention_prefill": _prefill,
    "elementwise": _elementwise,
    "norm": _norm,
    "copy": _copy,
    "optimizer": _optimizer,
}
"""By kinds of tables."""

STREAMS = ("elementwise", "norm", "copy", "optimizer")


def operand_bytes(kind: str, format_: str, shape: Shape) -> float:
    """Memory that the operands and results of a kernel take, about."""
    width = _width(format_)
    if kind == "product":
        m, n, k = shape
        return width * (m * k + 2.0 * n * k + m * n)  # of narrow ones a wide copy is made first
    if kind in STREAMS:
        return float(shape[0])
    sequences, key_heads, group, keys, head = shape
    queries = keys if kind == "attention_prefill" else 1
    return 2.0 * width * sequences * key_heads * head * (keys + group * queries)


def is_possible(bench: Bench, kind: str, format_: str, shape: Shape) -> bool:
    """True if the device can run it: its operands fit, and the format takes such edges."""
    if format_ == "fp8" and kind == "product" and any(edge % _ALIGNED for edge in shape[1:]):
        return False
    longest = shape[0] if kind in STREAMS else prod(shape)
    return longest < 1 << 60 and operand_bytes(kind, format_, shape) <= bench.free_bytes()

"""Places of kernels in the tables: which kind and format holds them, and at which shape."""

from collections.abc import Sequence
from typing import NamedTuple

from simcore.workload.graph import Kernel

BACKWARD = 0.85
"""Rate of the backward pass of fused attention beside that of its forward pass.

Source: J. Shah et al., "FlashAttention-3", NeurIPS 2024, figures 5 and 6 (16 bits, H100)."""

GRADIENT_PRODUCTS = 2.5
"""Products of the backward pass of fused attention over those of its forward pass."""

OF_EXPERTS = 3
"""Kernels of a layer of experts: a product in groups, the activation, a product back."""

_FEW_QUERIES = 16
"""Kernels with so many times more keys than queries are those of decoding."""

_LATENT = {192: "latent_prefill", 576: "latent_decode"}
"""Head widths of the measured latent attention: keys made of latents, and latents with the part of
a key that tells its position."""


_STREAMS = {"elementwise": "elementwise", "embedding": "copy", "optimizer": "optimizer"}
"""Kinds of kernels that stream, and of the tables that hold them."""

_NORMS = (" norm", " norm gradient")
"""Ends of the names of kernels that normalise rows."""

NEXT_BEST = {"norm": "elementwise", "copy": "elementwise"}
"""Kind of table that is asked where there is none of a kind's own."""


class Place(NamedTuple):
    """Table in which a kernel is looked up, its coordinates, and a factor of its time."""

    kind: str
    format: str
    shape: tuple[float, ...]
    times: float = 1.0


def place_of(kernel: Kernel, plain: str = "bf16") -> Place | None:
    """Place of *kernel* in the tables; None: no kind of table holds it.

    Args:
        kernel: The kernel.
        plain: Format of operands that have no narrow one.
    """
    if kernel.kind in _STREAMS and kernel.bytes > 0:
        return Place(_stream_kind(kernel), "bf16", (kernel.bytes,))
    if kernel.m <= 0 or kernel.n <= 0 or kernel.k <= 0:
        return None
    if kernel.kind == "gemm":
        shape = float(kernel.m), float(kernel.n), float(kernel.k)
        return Place("product", kernel.format or plain, shape) if kernel.groups == 1 else None
    if kernel.kind == "experts":
        sizes = kernel.m / kernel.groups, float(kernel.groups), float(kernel.k), float(kernel.n)
        return Place("experts", kernel.format or plain, sizes)
    if kernel.kind == "attention" and kernel.name.startswith("attention core"):
        return _attention_place(kernel, plain)
    return None


def _stream_kind(kernel: Kernel) -> str:
    if kernel.kind == "elementwise" and kernel.name.endswith(_NORMS):
        return "norm"
    return _STREAMS[kernel.kind]


def _attention_place(kernel: Kernel, plain: str) -> Place:
    decodes = kernel.m * _FEW_QUERIES <= kernel.n
    times = GRADIENT_PRODUCTS / BACKWARD if kernel.name.endswith("gradient") else 1.0
    format_ = kernel.format or plain
    if kernel.k in _LATENT:
        shape = float(kernel.groups), float(kernel.heads), float(kernel.n)
        return Place(_LATENT[kernel.k], format_, shape, times)
    group = max(1, kernel.heads // max(1, kernel.key_heads))
    sizes = float(kernel.groups), float(kernel.key_heads), float(group), float(kernel.n), kernel.k
    return Place("attention_decode" if decodes else "attention_prefill", format_, sizes, times)


def layer_of_experts(kernels: Sequence[Kernel]) -> Kernel | None:
    """The layer of experts that begins with the first of *kernels*, as engines run it: fused.

    It has as many groups as experts are held, and the rows of all: tables were measured with rows
    that meet experts at random, by the rows of one expert on average, few of them or many.
    """
    if len(kernels) < OF_EXPERTS or kernels[0].groups == 1 or kernels[0].kind != "gemm":
        return None
    up, activation, down = kernels[:OF_EXPERTS]
    same = (up.m, up.groups, up.k, up.format) == (down.m, down.groups, down.n, down.format)
    if not same or activation.kind != "elementwise" or down.kind != "gemm":
        return None
    flop, moved = up.flop + down.flop, up.bytes + down.bytes
    rows, held = round(down.flop / (2 * down.n * down.k)), up.held or up.groups
    return Kernel("experts", "experts", flop, moved, rows, down.k, up.k, held, up.format)

"""FLOP and bytes of the kinds of kernels that all blocks are made of.

Products follow the algebra exactly. Bytes are what a kernel with perfect reuse moves: each
operand once. Element-wise FLOP are estimates (they are below 1 % of the sum); such kernels are
bound by memory.

Source: D. Narayanan et al., SC 2021, appendix (FLOP of a layer).
"""

from simcore.workload.graph import Kernel
from simcore.workload.npu_share import NpuShare


def gemm(name: str, m: int, n: int, k: int, share: NpuShare) -> Kernel:
    """An (m, k) x (k, n) product."""
    moved = share.element_bytes * (m * k + m * n) + share.weight_bytes * k * n
    return _product(name, (m, n, k), moved, share)


def weight_gradient(name: str, m: int, n: int, k: int, share: NpuShare) -> Kernel:
    """Gradient of the (k, n) weights of an (m, k) x (k, n) product, added to their sum."""
    moved = share.element_bytes * (m * k + m * n) + _sum_bytes(share) * k * n
    return _product(f"{name} weight gradient", (k, n, m), moved, share)


def gradient_sum(gradient: Kernel, share: NpuShare) -> list[Kernel]:
    """Adds a weight gradient to its sum; nothing where the product does so.

    Where the sum has a wider format, a copy in that format is written first.
    """
    if share.fused_gradients:
        return []
    weights = gradient.groups * gradient.m * gradient.n
    narrow, wide = share.element_bytes, share.gradient_bytes
    copied = narrow + wide if wide > narrow else 0
    return [elementwise(f"{gradient.name} sum", weights, (copied + 3 * wide) * weights)]


def _sum_bytes(share: NpuShare) -> int:
    """Bytes that a product moves per weight gradient."""
    return share.element_bytes + (2 * share.gradient_bytes if share.fused_gradients else 0)


def input_gradient(name: str, m: int, n: int, k: int, share: NpuShare) -> Kernel:
    """Gradient of the (m, k) input of an (m, k) x (k, n) product."""
    return gemm(f"{name} input gradient", m, k, n, share)


def grouped_gemm(
    name: str, sizes: tuple[int, int, int], groups: int, share: NpuShare, held: int = 0
) -> Kernel:
    """(m, k) x (k, n) products in *groups* of equal rows, each with its own of *held* weights."""
    m, n, k = sizes
    moved = share.element_bytes * (m * k + m * n) + share.weight_bytes * groups * k * n
    each = -(-m // groups)
    found = _product(name, (each, n, k), moved, share, groups, 2.0 * m * n * k)
    return found._replace(held=held)


def grouped_weight_gradient(
    name: str, sizes: tuple[int, int, int], groups: int, share: NpuShare
) -> Kernel:
    """Gradients of the weights of a grouped product, added to the sums."""
    m, n, k = sizes
    moved = share.element_bytes * (m * k + m * n) + _sum_bytes(share) * groups * k * n
    full_name, each = f"{name} weight gradient", -(-m // groups)
    return _product(full_name, (k, n, each), moved, share, groups, 2.0 * m * n * k)


def _product(
    name: str,
    sizes: tuple[int, int, int],
    moved: float,
    share: NpuShare,
    groups: int = 1,
    flop: float = 0.0,
) -> Kernel:
    """An (m, k) x (k, n) product in each of *groups*; *flop*: of all, if some are not whole."""
    m, n, k = sizes
    return Kernel(
        name=name,
        kind="gemm",
        flop=flop or 2.0 * m * n * k,
        bytes=float(moved),
        m=m,
        n=n,
        k=k,
        groups=groups,
        format=share.product_format,
    )


def norm(share: NpuShare, name: str) -> list[Kernel]:
    """Dropout and residual add (two reads, one write), then norm (one read, one write)."""
    elements = share.thin_rows * share.hidden
    residual_bytes = 3 * share.thin_bytes + share.mask_bytes * elements
    norm_flop = share.norm_flop_per_element * elements
    return [
        elementwise(f"{name} residual", elements, residual_bytes),
        elementwise(f"{name} norm", norm_flop, 2 * share.thin_bytes),
    ]


def norm_gradient(share: NpuShare, name: str) -> list[Kernel]:
    """Gradient of the norm (reads its input and the gradient) and sum with the residual's."""
    elements = share.thin_rows * share.hidden
    flop = 2 * share.norm_flop_per_element * elements
    residual_bytes = 3 * share.thin_bytes + share.mask_bytes * elements
    return [
        elementwise(f"{name} norm gradient", flop, 3 * share.thin_bytes),
        elementwise(f"{name} residual gradient", elements, residual_bytes),
    ]


def elementwise(name: str, flop: float, moved: float) -> Kernel:
    """A kernel that works element by element."""
    return Kernel(name=name, kind="elementwise", flop=float(flop), bytes=float(moved))


def routing(name: str, flop: float, moved: float) -> Kernel:
    """A step of choosing experts or of sorting tokens by them."""
    return Kernel(name=name, kind="routing", flop=float(flop), bytes=float(moved))


def host_lookup(name: str, moved: float) -> Kernel:
    """A gather or scatter of rows in the memory of the host."""
    return Kernel(name=name, kind="host", flop=0.0, bytes=float(moved))


def lookup(name: str, moved: float) -> Kernel:
    """A gather or scatter of rows of a table: no FLOP."""
    return Kernel(name=name, kind="embedding", flop=0.0, bytes=float(moved))

"""The kernels before the first layer, after the last one, and after the last backward pass."""

from simcore.workload.graph import Kernel
from simcore.workload.npu_share import NpuShare
from simcore.workload.program.kernel_costs import (
    elementwise,
    gemm,
    lookup,
    norm,
    norm_gradient,
    weight_gradient,
)


def embedding(share: NpuShare) -> list[Kernel]:
    """Lookup of the tokens: reads and writes a row per token, no product."""
    return [lookup("embedding", 2 * share.stream_bytes)]


def embedding_gradient(share: NpuShare, tp: int) -> list[Kernel]:
    """Adds each token's gradient to its row of the table, whose rows are split over *tp* NPUs."""
    table_bytes = 2 * share.gradient_bytes * share.rows * share.hidden // tp
    return [lookup("embedding gradient", share.stream_bytes + table_bytes)]


def head(share: NpuShare) -> list[Kernel]:
    """Final norm, output head, and the largest logit of each token."""
    logits, w = share.rows * share.vocabulary, share.element_bytes
    copy = [] if share.fused_loss else [elementwise("logits in fp32", 0, (w + 4) * logits)]
    return [
        *norm(share, "final"),
        _in_16_bits(gemm("head", share.rows, share.vocabulary, share.hidden, share)),
        *copy,
        elementwise("largest logit", logits, (w if share.fused_loss else 4) * logits),
    ]


def largest_of_all(share: NpuShare, parts: int) -> list[Kernel]:
    """Largest logit of each token, of logits that have come from *parts* NPUs."""
    logits = parts * share.rows * share.vocabulary
    return [elementwise("largest of all logits", logits, share.element_bytes * logits)]


def loss(share: NpuShare) -> list[Kernel]:
    """Exponentials and their sum, in fp32; not fused: difference, exponential, sum, quotient."""
    logits = share.rows * share.vocabulary
    if share.fused_loss:
        return [elementwise("cross entropy", 4 * logits, (share.element_bytes + 4) * logits)]
    steps = {"difference": 8, "exponential": 8, "sum": 4, "quotient": 8}
    return [
        elementwise(f"cross entropy {name}", logits, moved * logits)
        for name, moved in steps.items()
    ]


def head_gradient(share: NpuShare) -> list[Kernel]:
    """Gradient of the loss, and the input gradient of the output head."""
    logits, w = share.rows * share.vocabulary, share.element_bytes
    sizes = share.rows, share.hidden, share.vocabulary
    scaled = [] if share.fused_loss else [elementwise("cross entropy gradient", logits, 8 * logits)]
    return [
        *scaled,
        elementwise("logits gradient", 2 * logits, (w + 4) * logits),
        _in_16_bits(gemm("head input gradient", *sizes, share)),
    ]


def head_weight_gradient(share: NpuShare) -> list[Kernel]:
    """Weight gradient of the output head."""
    sizes = share.rows, share.vocabulary, share.hidden
    return [_in_16_bits(weight_gradient("head", *sizes, share))]


def _in_16_bits(kernel: Kernel) -> Kernel:
    """The product of the output head, which no recipe narrows (as in Transformer Engine)."""
    return kernel._replace(format="")


def final_norm_gradient(share: NpuShare) -> list[Kernel]:
    """Backward pass of the norm before the output head."""
    return norm_gradient(share, "final")


def unscaling(owned_parameters: int, share: NpuShare) -> list[Kernel]:
    """Divides the gradients by the factor of the loss, and looks whether one is no number.

    Source: P. Micikevicius et al., "Mixed Precision Training", ICLR 2018, section 3.2.
    """
    moved = 2 * share.gradient_bytes * owned_parameters
    return [elementwise("gradient unscaling", 2 * owned_parameters, moved)]


def gradient_norm(owned_parameters: int, share: NpuShare) -> list[Kernel]:
    """Sum of the squares of the gradients."""
    moved = share.gradient_bytes * owned_parameters
    return [elementwise("gradient norm", 2 * owned_parameters, moved)]


def optimizer(owned_parameters: int, share: NpuShare) -> list[Kernel]:
    """Reads gradient, master weight and moments; writes the last two and the weight.

    Adam has two moments, about 12 FLOP per weight; a single moment takes half of that.

    Source: D. Kingma, J. Ba, "Adam", ICLR 2015, algorithm 1; the master weight is in fp32.
    """
    state = 2 * (4 + share.moments * share.moment_bytes)
    moved = share.gradient_bytes + state + share.weight_bytes
    flop = 6.0 * share.moments * owned_parameters
    state_bytes = float(moved * owned_parameters)
    return [Kernel(name="optimizer", kind="optimizer", flop=flop, bytes=state_bytes)]

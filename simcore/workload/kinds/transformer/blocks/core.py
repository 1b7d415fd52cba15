"""The attention core: scores, softmax and weighted values.

Source: T. Dao et al., "FlashAttention", NeurIPS 2022, section 3 (fused core: 2 products forward,
5 backward); M. Shoeybi et al., Megatron-LM, ``fused_softmax.py`` (where the softmax is one kernel,
and its steps in fp32 where not).
"""

from simcore.workload.graph import Kernel
from simcore.workload.kinds.transformer.share import Share
from simcore.workload.program.kernel_costs import elementwise

_SOFTMAX_BATCH = 4
"""The fused softmax works on so many score matrices at once, and only on multiples of that."""


def core(share: Share) -> list[Kernel]:
    """Forward pass."""
    moved = share.core_bytes
    if share.flash:
        flop = _product(share, share.query_width) + _product(share, share.output_width)
        return [_kernel("attention core", flop, moved, share)]
    scores_bytes = share.element_bytes * share.scores
    scores, values = _product(share, share.query_width), _product(share, share.output_width)
    return [
        _kernel("attention scores", scores, moved / 2 + scores_bytes, share),
        *_softmax(share),
        *_dropout(share, "attention dropout"),
        _kernel("attention values", values, moved / 2 + scores_bytes, share),
    ]


def core_gradient(share: Share) -> list[Kernel]:
    """Backward pass; the fused kernel computes the scores again."""
    moved = 2 * share.element_bytes * share.core_elements
    scores, values = _product(share, share.query_width), _product(share, share.output_width)
    if share.flash:
        flop = 3 * scores + 2 * values
        return [_kernel("attention core gradient", flop, moved, share)]
    scores_bytes = share.element_bytes * share.scores
    return [
        _kernel("attention values gradient", 2 * values, moved / 2 + 2 * scores_bytes, share),
        *_dropout(share, "attention dropout gradient"),
        *_softmax_gradient(share),
        _kernel("attention scores gradient", 2 * scores, moved / 2 + scores_bytes, share),
    ]


def scores_bytes(share: Share) -> int:
    """Bytes that an unfused core keeps: scores before and after dropout, and its mask."""
    w = share.element_bytes
    return share.scores * (2 * w + 1 if share.mask_bytes else w)


def _product(share: Share, width: int) -> float:
    """FLOP of one product of all queries with all keys that they see."""
    return 2 * share.visible * share.rows * share.sequence * width


def _kernel(name: str, flop: float, moved: float, share: Share) -> Kernel:
    return Kernel(
        name=name,
        kind="attention",
        flop=flop,
        bytes=float(moved),
        m=share.queries,
        n=share.sequence,
        k=share.head_width,
        groups=max(1, share.rows // share.queries),
        heads=share.query_width // share.head_width,
        key_heads=share.key_width // share.head_width,
        format=share.cache_format,
    )


def _softmax(share: Share) -> list[Kernel]:
    """One kernel, or to fp32, scale, mask, softmax, and back."""
    scores, w = share.scores, share.element_bytes
    if share.score_matrices % _SOFTMAX_BATCH == 0:
        return [elementwise("attention softmax", 5 * scores, 2 * w * scores)]
    return _steps(
        "attention softmax", scores, {"copy": w + 4, "scale": 8, "mask": 8, "": 8, "cast": 4 + w}
    )


def _softmax_gradient(share: Share) -> list[Kernel]:
    """One kernel, or each of the steps in turn."""
    scores, w = share.scores, share.element_bytes
    if share.score_matrices % _SOFTMAX_BATCH == 0:
        return [elementwise("attention softmax gradient", 5 * scores, 3 * w * scores)]
    return _steps(
        "attention softmax gradient",
        scores,
        {"copy": w + 4, "": 12, "mask": 8, "scale": 8, "cast": 4 + w},
    )


def _steps(name: str, scores: int, moved: dict[str, int]) -> list[Kernel]:
    """A kernel per step, which moves that many bytes per score."""
    return [
        elementwise(f"{name} {step}".strip(), scores, per_score * scores)
        for step, per_score in moved.items()
    ]


def _dropout(share: Share, name: str) -> list[Kernel]:
    """One read, one write and the mask of the attention scores."""
    if share.mask_bytes == 0:
        return []
    moved = (2 * share.element_bytes + share.mask_bytes) * share.scores
    return [elementwise(name, share.scores, moved)]

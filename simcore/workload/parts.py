"""The kernels of each part of a transformer, with FLOP and bytes on one NPU.

Products and the attention core follow the layer's algebra exactly. Bytes are what a kernel with
perfect reuse moves: each operand once. Element-wise FLOP are estimates (they are below 1 % of
the sum); such kernels are bound by memory.

Source: M. Shoeybi et al., "Megatron-LM", arXiv:1909.08053, section 3 (splits of the layer);
T. Dao et al., "FlashAttention", NeurIPS 2022, section 3 (fused core: 2 products forward, 5
backward); D. Narayanan et al., SC 2021, appendix (FLOP of a layer).
"""

from simcore.workload.graph import Kernel
from simcore.workload.share import Share

_MAIN_GRADIENT_BYTES = 8  # the fp32 sum of gradients is read and written


def attention_input(share: Share) -> list[Kernel]:
    """Residual, norm, and the projection to queries, keys and values."""
    width = share.query_width + 2 * share.kv_width
    return [*_norm(share, "attention"), _gemm("qkv", share.rows, width, share.hidden, share)]


def attention_core(share: Share) -> list[Kernel]:
    """Scores, softmax and weighted values."""
    w, rows = share.element_bytes, share.rows
    product_flop = 2 * share.visible * rows * share.sequence * share.query_width
    touched = w * rows * (2 * share.query_width + 2 * share.kv_width)
    if share.flash:
        return [_core("attention core", 2 * product_flop, touched, share)]
    scores_bytes = w * share.scores
    return [
        _core("attention scores", product_flop, touched / 2 + scores_bytes, share),
        _elementwise("attention softmax", 5 * share.scores, 2 * scores_bytes),
        *_scores_dropout(share, "attention dropout"),
        _core("attention values", product_flop, touched / 2 + scores_bytes, share),
    ]


def attention_output(share: Share) -> list[Kernel]:
    """The projection back to the residual stream."""
    return [_gemm("attention output", share.rows, share.hidden, share.query_width, share)]


def mlp(share: Share) -> list[Kernel]:
    """Residual, norm, and the MLP."""
    width = share.mlp_inputs * share.ffn
    return [
        *_norm(share, "mlp"),
        _gemm("mlp up", share.rows, width, share.hidden, share),
        _activation(share, "mlp activation", reads_and_writes=1 + share.mlp_inputs),
        _gemm("mlp down", share.rows, share.hidden, share.ffn, share),
    ]


def mlp_gradient(share: Share) -> list[Kernel]:
    """Backward pass of the MLP but for the weight gradient of its first product.

    Starts with the norm and residual that follow the MLP: those of the layer above.
    """
    rows, hidden = share.rows, share.hidden
    width = share.mlp_inputs * share.ffn
    return [
        *_norm_gradient(share, "attention"),
        *_gemm_gradients("mlp down", rows, hidden, share.ffn, share),
        _activation(share, "mlp activation gradient", reads_and_writes=1 + 2 * share.mlp_inputs),
        _gemm("mlp up input gradient", rows, hidden, width, share),
    ]


def mlp_weight_gradient(share: Share) -> list[Kernel]:
    """Weight gradient of the MLP's first product."""
    width = share.mlp_inputs * share.ffn
    return [_weight_gradient("mlp up", share.rows, width, share.hidden, share)]


def attention_output_gradient(share: Share) -> list[Kernel]:
    """Backward pass of the residual, norm and output projection."""
    sizes = share.rows, share.hidden, share.query_width
    return [*_norm_gradient(share, "mlp"), *_gemm_gradients("attention output", *sizes, share)]


def attention_core_gradient(share: Share) -> list[Kernel]:
    """Backward pass of the attention core; the fused one computes the scores again."""
    w, rows = share.element_bytes, share.rows
    product_flop = 2 * share.visible * rows * share.sequence * share.query_width
    touched = w * rows * (4 * share.query_width + 4 * share.kv_width)
    if share.flash:
        return [_core("attention core gradient", 5 * product_flop, touched, share)]
    scores_bytes = w * share.scores
    return [
        _core("attention values gradient", 2 * product_flop, touched / 2 + 2 * scores_bytes, share),
        *_scores_dropout(share, "attention dropout gradient"),
        _elementwise("attention softmax gradient", 5 * share.scores, 3 * scores_bytes),
        _core("attention scores gradient", 2 * product_flop, touched / 2 + scores_bytes, share),
    ]


def attention_input_gradient(share: Share) -> list[Kernel]:
    """Input gradient of the projection to queries, keys and values."""
    width = share.query_width + 2 * share.kv_width
    return [_gemm("qkv input gradient", share.rows, share.hidden, width, share)]


def attention_weight_gradient(share: Share) -> list[Kernel]:
    """Weight gradient of the projection to queries, keys and values."""
    width = share.query_width + 2 * share.kv_width
    return [_weight_gradient("qkv", share.rows, width, share.hidden, share)]


def embedding(share: Share) -> list[Kernel]:
    """Lookup of the tokens: reads and writes a row per token, no product."""
    return [_lookup("embedding", 2 * share.stream_bytes)]


def embedding_gradient(share: Share) -> list[Kernel]:
    """Adds each token's gradient to its row of the table."""
    table_bytes = _MAIN_GRADIENT_BYTES * share.rows * share.query_width
    return [_lookup("embedding gradient", share.stream_bytes + table_bytes)]


def head(share: Share) -> list[Kernel]:
    """Final norm, output head, and the largest logit of each token."""
    logits = share.rows * share.vocabulary
    return [
        *_norm(share, "final"),
        _gemm("head", share.rows, share.vocabulary, share.hidden, share),
        _elementwise("largest logit", logits, share.element_bytes * logits),
    ]


def loss(share: Share) -> list[Kernel]:
    """Exponentials and their sum, in fp32."""
    logits = share.rows * share.vocabulary
    return [_elementwise("cross entropy", 4 * logits, (share.element_bytes + 4) * logits)]


def head_gradient(share: Share) -> list[Kernel]:
    """Gradient of the loss, and the input gradient of the output head."""
    logits = share.rows * share.vocabulary
    return [
        _elementwise("cross entropy gradient", 2 * logits, (share.element_bytes + 4) * logits),
        _gemm("head input gradient", share.rows, share.hidden, share.vocabulary, share),
    ]


def head_weight_gradient(share: Share) -> list[Kernel]:
    """Weight gradient of the output head."""
    return [_weight_gradient("head", share.rows, share.vocabulary, share.hidden, share)]


def final_norm_gradient(share: Share) -> list[Kernel]:
    """Backward pass of the norm before the output head."""
    return _norm_gradient(share, "final")


def gradient_norm(owned_parameters: int) -> list[Kernel]:
    """Sum of the squares of the fp32 gradients."""
    return [_elementwise("gradient norm", 2 * owned_parameters, 4 * owned_parameters)]


def optimizer(owned_parameters: int, element_bytes: int) -> list[Kernel]:
    """Adam: reads gradient, master weight and two moments; writes the last three and the weight.

    Source: D. Kingma, J. Ba, "Adam", ICLR 2015, algorithm 1; all state in fp32.
    """
    moved = 16 + 12 + element_bytes
    flop = 12.0 * owned_parameters
    state_bytes = float(moved * owned_parameters)
    return [Kernel(name="adam", kind="optimizer", flop=flop, bytes=state_bytes)]


def _gemm(name: str, m: int, n: int, k: int, share: Share) -> Kernel:
    moved = share.element_bytes * (m * k + k * n + m * n)
    return Kernel(name=name, kind="gemm", flop=2.0 * m * n * k, bytes=float(moved), m=m, n=n, k=k)


def _weight_gradient(name: str, m: int, n: int, k: int, share: Share) -> Kernel:
    """Gradient of the (k, n) weights of an (m, k) x (k, n) product, added to the fp32 sum."""
    w = share.element_bytes
    moved = w * (m * k + m * n) + (_MAIN_GRADIENT_BYTES + w) * k * n
    full_name = f"{name} weight gradient"
    return Kernel(
        name=full_name, kind="gemm", flop=2.0 * m * n * k, bytes=float(moved), m=k, n=n, k=m
    )


def _gemm_gradients(name: str, m: int, n: int, k: int, share: Share) -> list[Kernel]:
    """Input and weight gradient of an (m, k) x (k, n) product."""
    return [
        _gemm(f"{name} input gradient", m, k, n, share),
        _weight_gradient(name, m, n, k, share),
    ]


def _core(name: str, flop: float, moved: float, share: Share) -> Kernel:
    return Kernel(
        name=name,
        kind="attention",
        flop=flop,
        bytes=float(moved),
        m=share.sequence,
        n=share.sequence,
        k=share.head_width,
    )


def _scores_dropout(share: Share, name: str) -> list[Kernel]:
    """One read, one write and the mask of the attention scores."""
    if share.mask_bytes == 0:
        return []
    moved = (2 * share.element_bytes + share.mask_bytes) * share.scores
    return [_elementwise(name, share.scores, moved)]


def _norm(share: Share, name: str) -> list[Kernel]:
    """Dropout and residual add (two reads, one write), then norm (one read, one write)."""
    elements = share.thin_rows * share.hidden
    residual_bytes = 3 * share.thin_bytes + share.mask_bytes * elements
    norm_flop = share.norm_flop_per_element * elements
    return [
        _elementwise(f"{name} residual", elements, residual_bytes),
        _elementwise(f"{name} norm", norm_flop, 2 * share.thin_bytes),
    ]


def _norm_gradient(share: Share, name: str) -> list[Kernel]:
    """Gradient of the norm (reads its input and the gradient) and sum with the residual's."""
    elements = share.thin_rows * share.hidden
    flop = 2 * share.norm_flop_per_element * elements
    residual_bytes = 3 * share.thin_bytes + share.mask_bytes * elements
    return [
        _elementwise(f"{name} norm gradient", flop, 3 * share.thin_bytes),
        _elementwise(f"{name} residual gradient", elements, residual_bytes),
    ]


def _activation(share: Share, name: str, *, reads_and_writes: int) -> Kernel:
    elements = share.rows * share.ffn
    moved = reads_and_writes * share.element_bytes * elements
    return _elementwise(name, 8 * elements, moved)


def _elementwise(name: str, flop: float, moved: float) -> Kernel:
    return Kernel(name=name, kind="elementwise", flop=float(flop), bytes=float(moved))


def _lookup(name: str, moved: float) -> Kernel:
    return Kernel(name=name, kind="embedding", flop=0.0, bytes=float(moved))

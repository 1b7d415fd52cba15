"""ConvBERT (arXiv:2008.02496): half of the heads are convolutions over the span of a token."""

from simcore.workload.hub.counts import ModelCounts, sum_up
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys
from simcore.workload.hub.parts import Part

FAMILY = Family(
    net="convbert",
    only=(
        ("tie_word_embeddings", True), ("num_groups", 1), ("is_decoder", False), ("head_ratio", 2),
    ),
    needed=("num_groups", "head_ratio"),
)  # fmt: skip


def convbert(keys: Keys, _family: Family, _tied: bool) -> ModelCounts:
    """Counts of ConvBERT with its head for masked words."""
    layers, vocabulary = keys.number("num_hidden_layers"), keys.number("vocab_size")
    hidden, mlp = keys.number("hidden_size"), keys.number("intermediate_size")
    heads, kernel = keys.number("num_attention_heads"), keys.number("conv_kernel_size")
    width, kept = keys.number("embedding_size"), heads // 2
    if heads % 2 or hidden % heads:
        raise keys.refuse("num_attention_heads", f"must be even and divide the width {hidden}")
    inner = hidden // 2
    attention = 3 * (hidden + 1) * inner + hidden * (hidden + 1)
    span = hidden * kernel + (hidden + 1) * inner + (inner + 1) * kept * kernel
    span += (hidden + 1) * inner
    layer = attention + span + 2 * hidden * mlp + mlp + hidden + 4 * hidden
    tables = keys.number("max_position_embeddings") + keys.number("type_vocab_size")
    rest = (tables + 2) * width + (width + 1) * hidden * (width != hidden)
    rest += (hidden + 1) * width + 2 * width + vocabulary
    return sum_up(vocabulary * width, rest, [Part(layer)] * layers)

"""MobileBERT (arXiv:2004.02984): narrow layers between bottlenecks, with several MLPs each."""

from simcore.workload.hub.counts import ModelCounts, sum_up
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys
from simcore.workload.hub.parts import Part

FAMILY = Family(
    net="mobilebert",
    only=(
        ("tie_word_embeddings", True), ("use_bottleneck", True), ("trigram_input", True),
        ("key_query_shared_bottleneck", True), ("use_bottleneck_attention", False),
    ),
    needed=(
        "use_bottleneck", "trigram_input", "key_query_shared_bottleneck",
        "use_bottleneck_attention",
    ),
    idle=frozenset({
        "classifier_activation", "intra_bottleneck_size", "normalization_type", "true_hidden_size",
    }),
)  # fmt: skip


def mobilebert(keys: Keys, _family: Family, _tied: bool) -> ModelCounts:
    """Counts of MobileBERT with its head for masked words; all norms have two vectors."""
    layers, vocabulary = keys.number("num_hidden_layers"), keys.number("vocab_size")
    hidden, mlp = keys.number("hidden_size"), keys.number("intermediate_size")
    narrow, inner = keys.number("embedding_size"), keys.number("intra_bottleneck_size")
    if hidden < narrow:
        raise keys.refuse("embedding_size", f"must be at most the width {hidden}")
    heads = keys.number("num_attention_heads")
    if inner % heads:
        raise keys.refuse("intra_bottleneck_size", f"must be a multiple of its {heads} heads")
    keys.must_be("true_hidden_size", inner)
    ffn = 2 * inner * mlp + mlp + inner + 2 * inner
    attention = 2 * inner * (inner + 1) + (hidden + 1) * inner + inner * (inner + 1) + 2 * inner
    ends = 2 * ((hidden + 1) * inner + 2 * inner) + (inner + 1) * hidden + 2 * hidden
    layer = attention + ends + keys.number("num_feedforward_networks") * ffn
    tables = keys.number("max_position_embeddings") + keys.number("type_vocab_size")
    rest = (tables + 2) * hidden + (3 * narrow + 1) * hidden
    rest += hidden * (hidden + 1) + 2 * hidden + vocabulary * (hidden - narrow + 1)
    return sum_up(vocabulary * narrow, rest, [Part(layer)] * layers)

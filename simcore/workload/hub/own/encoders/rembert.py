"""RemBERT (arXiv:2010.12821): BERT with a narrow table of tokens and a wide one in its head."""

from simcore.workload.hub.counts import ModelCounts, sum_up
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys
from simcore.workload.hub.parts import Part

FAMILY = Family(
    net="rembert", only=(("tie_word_embeddings", False), ("is_decoder", False)),
)  # fmt: skip


def rembert(keys: Keys, _family: Family, _tied: bool) -> ModelCounts:
    """Counts of RemBERT with its head for masked words."""
    layers, vocabulary = keys.number("num_hidden_layers"), keys.number("vocab_size")
    hidden, mlp = keys.number("hidden_size"), keys.number("intermediate_size")
    narrow, wide = keys.number("input_embedding_size"), keys.number("output_embedding_size")
    heads = keys.number("num_attention_heads")
    if hidden % heads:
        raise keys.refuse("hidden_size", f"must be a multiple of its {heads} heads")
    tables = keys.number("max_position_embeddings") + keys.number("type_vocab_size")
    layer = 4 * hidden * (hidden + 1) + 2 * hidden * mlp + mlp + hidden + 4 * hidden
    rest = (tables + 2) * narrow + (narrow + 1) * hidden
    rest += (hidden + 1) * wide + 2 * wide + vocabulary * (wide + 1)
    return sum_up(vocabulary * narrow, rest, [Part(layer)] * layers)

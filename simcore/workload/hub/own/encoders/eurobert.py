"""EuroBERT (arXiv:2503.05500): an encoder of Llama's layers with its head untied."""

from simcore.workload.hub.counts import ModelCounts, sum_up
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys
from simcore.workload.hub.parts import Part, Widths, attention, has_bias, mlp

FAMILY = Family(
    net="eurobert", qkv="attention_bias", out="attention_bias", mlp="mlp_bias",
    needed=("tie_word_embeddings",),
    idle=frozenset({"clf_pooling", "classifier_pooling"}),
)  # fmt: skip


def eurobert(keys: Keys, family: Family, tied: bool) -> ModelCounts:
    """Counts of EuroBERT; an encoder keeps no cache."""
    layers, vocabulary = keys.number("num_hidden_layers"), keys.number("vocab_size")
    own = Widths.read(keys, family)
    count = attention(keys, family, own).parameters + mlp(keys, family, own).parameters
    rest = own.hidden + vocabulary * own.hidden * (not tied)
    rest += vocabulary * has_bias(keys, family.mlp)
    return sum_up(vocabulary * own.hidden, rest, [Part(count + 2 * own.hidden)] * layers)

"""GTE (arXiv:2407.19669): BERT with rotary positions, and a gate in its MLP."""

from simcore.workload.hub.counts import ModelCounts
from simcore.workload.hub.encoders import bert_like
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys

FAMILY = Family(net="gte")


def gte(keys: Keys, family: Family, _tied: bool) -> ModelCounts:
    """Counts of GTE; only the last matrix of its MLP has biases."""
    hidden, mlp = keys.number("hidden_size"), keys.number("intermediate_size")
    rows = keys.number("type_vocab_size", least=0)
    keys.value("max_position_embeddings")
    return bert_like(keys, family, rows, layer=hidden * mlp - mlp)

"""LayoutLM (arXiv:1912.13318): BERT with tables for boxes."""

from simcore.workload.hub.counts import ModelCounts
from simcore.workload.hub.encoders import bert_like
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys

FAMILY = Family(net="layoutlm")


def layoutlm(keys: Keys, family: Family, _tied: bool) -> ModelCounts:
    """Counts of LayoutLM with its pooler; a box has two places and two lengths."""
    hidden = keys.number("hidden_size")
    rows = keys.number("max_position_embeddings") + keys.number("type_vocab_size")
    rows += 4 * keys.number("max_2d_position_embeddings")
    return bert_like(keys, family, rows, rest=hidden * (hidden + 1))

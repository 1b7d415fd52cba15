"""ESM (bioRxiv 2022.07.20.500902): BERT for proteins, with norms before its parts."""

from simcore.workload.hub.counts import ModelCounts
from simcore.workload.hub.encoders import bert_like
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys

FAMILY = Family(
    net="esm", only=(("is_folding_model", False),), needed=("position_embedding_type",),
    idle=frozenset({"esmfold_config", "token_dropout", "vocab_list"}),
)  # fmt: skip


def esm(keys: Keys, family: Family, _tied: bool) -> ModelCounts:
    """Counts of ESM; a small head beside that for masked words predicts contacts."""
    hidden, layers = keys.number("hidden_size"), keys.number("num_hidden_layers")
    keys.must_be("position_embedding_type", "absolute", "rotary")
    positions = keys.number("max_position_embeddings")
    rows = positions * (keys.value("position_embedding_type") == "absolute")
    contacts = layers * keys.number("num_attention_heads") + 1
    # BERT's norm of the tables stands for the one behind the layers
    rest = contacts + 2 * hidden * keys.flag("emb_layer_norm_before", False)
    return bert_like(keys, family, rows, rest=rest)

"""DeBERTa's first version (arXiv:2006.03654): one matrix for queries, keys and values."""

from simcore.workload.hub.counts import ModelCounts
from simcore.workload.hub.encoders import bert_like, kinds_of_positions
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys

FAMILY = Family(
    net="deberta_v1", only=(("legacy", True), ("talking_head", False)),
    idle=frozenset({"pooler_hidden_size"}),
)  # fmt: skip


def deberta_v1(keys: Keys, family: Family, _tied: bool) -> ModelCounts:
    """Counts of the net; its keys have no biases, and distances a vector each."""
    hidden, positions = keys.number("hidden_size"), keys.number("max_position_embeddings")
    layer, rest = -hidden, 0
    most = keys.number("max_relative_positions", -1, least=-1)
    if keys.flag("relative_attention"):
        kinds = kinds_of_positions(keys)
        layer += hidden * hidden * ("c2p" in kinds) + hidden * (hidden + 1) * ("p2c" in kinds)
        rest = 2 * hidden * (most if most > 0 else positions)
    else:
        keys.value("pos_att_type")
    rows = positions * keys.flag("position_biased_input")
    rows += keys.number("type_vocab_size", least=0)
    return bert_like(keys, family, rows, layer=layer, rest=rest)

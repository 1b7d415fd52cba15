"""RoCBert (ACL 2022): BERT with tables for how a sign is spoken and looks."""

from simcore.workload.hub.counts import ModelCounts
from simcore.workload.hub.encoders import bert_like
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys

FAMILY = Family(net="roc_bert", only=(("concat_input", True),), needed=("concat_input",))


def roc_bert(keys: Keys, family: Family, _tied: bool) -> ModelCounts:
    """Counts of the net; a matrix joins the vectors of all its tables."""
    hidden = keys.number("hidden_size")
    rows = keys.number("max_position_embeddings") + keys.number("type_vocab_size")
    tables, joined = 0, hidden
    for name in ("pronunciation", "shape"):
        width = keys.number(f"{name}_embed_dim")
        size = keys.number(f"{name}_vocab_size") * width
        if keys.flag(f"enable_{name}"):
            tables, joined = tables + size, joined + width
    return bert_like(keys, family, rows, rest=tables + (joined + 1) * hidden)

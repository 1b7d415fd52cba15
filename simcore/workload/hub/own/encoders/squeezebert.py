"""SqueezeBERT (arXiv:2006.11316): BERT whose matrices are convolutions in groups."""

from simcore.workload.hub.counts import ModelCounts, sum_up
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys
from simcore.workload.hub.parts import Part

FAMILY = Family(net="squeezebert")


def squeezebert(keys: Keys, _family: Family, _tied: bool) -> ModelCounts:
    """Counts of SqueezeBERT with its pooler and its head for masked words."""
    layers, vocabulary = keys.number("num_hidden_layers"), keys.number("vocab_size")
    hidden, mlp = keys.number("hidden_size"), keys.number("intermediate_size")
    keys.must_be("embedding_size", hidden)
    if hidden % keys.number("num_attention_heads"):
        raise keys.refuse("hidden_size", "must be a multiple of its heads")
    layer = 4 * hidden
    for name, wide, narrow in (
        ("q", hidden, hidden), ("k", hidden, hidden), ("v", hidden, hidden),
        ("post_attention", hidden, hidden), ("intermediate", hidden, mlp),
        ("output", mlp, hidden),
    ):  # fmt: skip
        groups = keys.number(f"{name}_groups")
        if wide % groups or narrow % groups:
            raise keys.refuse(f"{name}_groups", f"must divide the widths {wide} and {narrow}")
        layer += wide // groups * narrow + narrow
    rows = keys.number("max_position_embeddings") + keys.number("type_vocab_size")
    rest = rows * hidden + 2 * hidden * (hidden + 1) + 4 * hidden + vocabulary
    return sum_up(vocabulary * hidden, rest, [Part(layer)] * layers)

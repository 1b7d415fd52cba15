"""XLM (arXiv:1901.07291) and FlauBERT (arXiv:1912.05372): encoders with a bare head."""

from simcore.workload.hub.counts import ModelCounts, sum_up
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys
from simcore.workload.hub.parts import Part

FAMILY = Family(
    net="xlm", classes=("WithLMHeadModel",),
    only=(("asm", False), ("is_encoder", True), ("causal", False)),
    idle=frozenset({
        "bos_index", "embed_init_std", "end_n_top", "eos_index", "gelu_activation", "lang_id",
        "mask_index", "pad_index", "pre_norm", "sinusoidal_embeddings", "start_n_top",
        "unk_index", "id2lang", "lang2id", "max_vocab", "min_count", "same_enc_dec",
        "share_inout_emb", "n_words",
    }),
)  # fmt: skip


def xlm(keys: Keys, _family: Family, _tied: bool) -> ModelCounts:
    """Counts of XLM; its MLP is four times as wide as the net, its head a table and biases."""
    layers, vocabulary = keys.number("num_hidden_layers"), keys.number("vocab_size")
    hidden, languages = keys.number("emb_dim"), keys.number("n_langs")
    if hidden % keys.number("num_attention_heads"):
        raise keys.refuse("emb_dim", "must be a multiple of its heads")
    has_languages = keys.flag("use_lang_emb") and languages > 1
    rows = keys.number("max_position_embeddings") + languages * has_languages
    layer = 4 * hidden * (hidden + 1) + 8 * hidden * hidden + 5 * hidden + 4 * hidden
    rest = rows * hidden + 2 * hidden + vocabulary
    return sum_up(vocabulary * hidden, rest, [Part(layer)] * layers)

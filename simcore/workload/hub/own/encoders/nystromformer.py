"""Nyströmformer (arXiv:2102.03902): BERT with a convolution of each head's values."""

from simcore.workload.hub.counts import ModelCounts
from simcore.workload.hub.encoders import bert_like
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys

FAMILY = Family(
    net="nystromformer", more_positions=2, needed=("conv_kernel_size",),
    idle=frozenset({"inv_coeff_init_option", "num_landmarks", "segment_means_seq_len"}),
)  # fmt: skip


def nystromformer(keys: Keys, family: Family, _tied: bool) -> ModelCounts:
    """Counts of the net; its convolutions have no biases."""
    rows = keys.number("max_position_embeddings") + family.more_positions
    rows += keys.number("type_vocab_size")
    taps = keys.number("conv_kernel_size", 0, least=0) * keys.number("num_attention_heads")
    return bert_like(keys, family, rows, layer=taps)

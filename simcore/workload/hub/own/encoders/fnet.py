"""FNet (arXiv:2105.03824): BERT whose tokens are mixed by Fourier transforms."""

from simcore.workload.hub.counts import ModelCounts, sum_up
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys
from simcore.workload.hub.parts import Part

FAMILY = Family(
    net="fnet", idle=frozenset({"tpu_short_seq_length", "use_tpu_fourier_optimizations"}),
)  # fmt: skip


def fnet(keys: Keys, _family: Family, _tied: bool) -> ModelCounts:
    """Counts of FNet with its pooler and its head for masked words."""
    layers, vocabulary = keys.number("num_hidden_layers"), keys.number("vocab_size")
    hidden, mlp = keys.number("hidden_size"), keys.number("intermediate_size")
    rows = keys.number("max_position_embeddings") + keys.number("type_vocab_size")
    layer = 2 * hidden * mlp + mlp + hidden + 4 * hidden
    rest = rows * hidden + 3 * hidden * (hidden + 1) + 4 * hidden + vocabulary
    return sum_up(vocabulary * hidden, rest, [Part(layer)] * layers)

"""DiffLlama: Llama with attention as the difference of two (arXiv:2410.05258)."""

from simcore.workload.hub.counts import ModelCounts, sum_up
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys
from simcore.workload.hub.parts import Part, Widths, attention, mlp

FAMILY = Family(
    net="diffllama", qkv="attention_bias", out="attention_bias", only=(("mlp_bias", False),),
    idle=frozenset({"lambda_std_dev"}),
)  # fmt: skip


def diffllama(keys: Keys, family: Family, tied: bool) -> ModelCounts:
    """Counts of DiffLlama: four vectors as wide as a head weigh the second attention."""
    layers, vocabulary = keys.number("num_hidden_layers"), keys.number("vocab_size")
    own = Widths.read(keys, family)
    found = [attention(keys, family, own), mlp(keys, family, own)]
    found.append(Part(4 * own.head + 2 * own.hidden))
    rest = own.hidden + vocabulary * own.hidden * (not tied)
    return sum_up(vocabulary * own.hidden, rest, found * layers)

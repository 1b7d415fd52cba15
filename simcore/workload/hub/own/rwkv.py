"""RWKV (arXiv:2305.13048): a recurrence in place of attention; its state does not grow."""

from simcore.workload.hub.counts import ModelCounts, sum_up
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys
from simcore.workload.hub.parts import Part

FAMILY = Family(net="rwkv", idle=frozenset({"context_length", "rescale_every"}))


def rwkv(keys: Keys, _family: Family, tied: bool) -> ModelCounts:
    """Counts of RWKV's fourth version."""
    layers, vocabulary = keys.number("num_hidden_layers"), keys.number("vocab_size")
    hidden = keys.number("hidden_size")
    inner, mlp = keys.number("attention_hidden_size"), keys.number("intermediate_size")
    time = 4 * hidden * inner + 2 * inner + 3 * hidden
    channels = 2 * hidden * mlp + hidden * hidden + 2 * hidden
    norms = 2 * 2 * hidden
    rest = 2 * 2 * hidden + vocabulary * hidden * (not tied)
    return sum_up(vocabulary * hidden, rest, [Part(time + channels + norms)] * layers)

"""Llama 3.2 with vision: some layers attend to the picture in place of the tokens.

Source of the parts: transformers 5.23.0 (Apache-2.0), ``mllama``, without its code.
"""

from simcore.workload.hub.counts import ModelCounts, sum_up
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys
from simcore.workload.hub.parts import Part, Widths, attention, mlp

FAMILY = Family(net="mllama", head_dim="derived")
_PICTURE_TOKENS = 8
"""Rows of the table of input tokens that stand for pictures, and have none in the head."""


def mllama(keys: Keys, family: Family, _tied: bool) -> ModelCounts:
    """Counts of the layers that text passes; those that attend to pictures cache no tokens."""
    layers, vocabulary = keys.number("num_hidden_layers"), keys.number("vocab_size")
    own = Widths.read(keys, family)
    keys.needed("cross_attention_layers")
    crossing = keys.layers("cross_attention_layers") or set()
    if any(not 0 <= layer < layers for layer in crossing):
        raise keys.refuse("cross_attention_layers", f"must list numbers below its {layers} layers")
    whole = attention(keys, family, own)
    rest_of_layer = Part(mlp(keys, family, own).parameters + 2 * own.hidden)
    crossed = Part(whole.parameters + 2 * own.head + 2)
    found = [crossed if layer in crossing else whole for layer in range(layers)]
    rest = own.hidden + vocabulary * own.hidden
    table = (vocabulary + _PICTURE_TOKENS) * own.hidden
    return sum_up(table, rest, [*found, *[rest_of_layer] * layers])

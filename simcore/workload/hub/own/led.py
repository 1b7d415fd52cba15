"""LED (arXiv:2004.05150): BART whose reading side has projections for tokens that see all."""

from simcore.workload.hub.counts import ModelCounts, sum_up
from simcore.workload.hub.encoders import two_sides
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys
from simcore.workload.hub.parts import Part

FAMILY = Family(
    net="led", only=(("tie_word_embeddings", True),), idle=frozenset({"attention_window"}),
)  # fmt: skip


def led(keys: Keys, _family: Family, _tied: bool) -> ModelCounts:
    """Counts of both sides; each has a table of positions of its own."""
    hidden, vocabulary = keys.number("hidden_size"), keys.number("vocab_size")
    projection = hidden * (hidden + 1)
    found = two_sides(keys, hidden, 4 * projection)
    found += [Part(3 * projection)] * keys.number("encoder_layers")
    positions = sum(
        keys.number(f"max_{side}_position_embeddings") for side in ("encoder", "decoder")
    )
    return sum_up(vocabulary * hidden, positions * hidden + 4 * hidden, found)

"""Speculative decoding: several tokens are guessed, and one step checks them all."""

from pydantic import Field

from simcore.schema import Schema
from simcore.workload.kinds.transformer.named import NamedModel


class Speculation(Schema):
    """Tokens guessed in each step, and the part of them that holds.

    Source: Y. Leviathan et al., "Fast Inference from Transformers via Speculative Decoding", ICML
    2023, section 3.1.

    Attributes:
        tokens: Guessed tokens of each sequence; the step reads one more.
        acceptance: Chance that a guess holds where all before it did.
        model: Guesses the tokens one after the other, on the same NPUs; None: guessing takes no
            time (n-grams, or heads that are part of the model).
    """

    tokens: int = Field(ge=1, le=1000)
    acceptance: float = Field(ge=0, le=1)
    model: NamedModel | None = None

    @property
    def gained_tokens(self) -> float:
        """Tokens by which a step brings a sequence forward, on average.

        (1 - a^(g + 1)) / (1 - a) for g guesses with the chance a: those that hold before the first
        that does not, and the one that the step puts in its place.

        Source: Leviathan et al., equation 1.
        """
        return float(sum(self.acceptance**guess for guess in range(self.tokens + 1)))

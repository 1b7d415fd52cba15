"""Number formats in which an engine of inference stores and multiplies."""

from typing import Literal

from simcore.schema import Schema
from simcore.terms import FORMATS

FormatName = Literal["bf16", "fp8", "fp8_block", "nvfp4", "w4a8_mxfp4", "w4a16_mxfp4", "w4a16_int4"]
"""Name of a number format, a key of ``FORMATS``."""


class ServingFormats(Schema):
    """Number formats of an engine of inference: nothing is cast where it is read.

    Attributes:
        weights: Of stored weights and of their products; token table and output head stay in 16
            bits, as in the quantised checkpoints of engines.
        experts: Likewise of routed experts; as ``weights`` if not given.
        latents: Likewise of the products that make latents, and heads of them; as ``weights`` if
            not given. Checkpoints in 4 bits keep them in 16.
        cache: Of keys and values.

    Routers stay in 16 bits.
    """

    weights: FormatName = "bf16"
    experts: FormatName | None = None
    latents: FormatName | None = None
    cache: Literal["bf16", "fp8"] = "bf16"

    @property
    def weight_bytes(self) -> float:
        """Bytes of one stored weight outside the routed experts."""
        return FORMATS[self.weights].weight_bytes

    @property
    def expert_weight_bytes(self) -> float:
        """Bytes of one stored weight of a routed expert."""
        return FORMATS[self.experts or self.weights].weight_bytes

    @property
    def cached_bytes(self) -> float:
        """Bytes of one number of keys and values."""
        return FORMATS[self.cache].weight_bytes

    @property
    def narrow(self) -> tuple[str, str, str, str]:
        """Formats of weights, experts, latents and cache, empty for 16 bits."""
        weights = self.weights
        names = weights, self.experts or weights, self.latents or weights, self.cache
        first, *others = ("" if name == "bf16" else name for name in names)
        return first, others[0], others[1], others[2]

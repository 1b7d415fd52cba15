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
        cache: Of keys and values.
    """

    weights: FormatName = "bf16"
    experts: FormatName | None = None
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
    def narrow(self) -> tuple[str, str, str]:
        """Formats of weights, experts and cache, empty for 16 bits."""
        names = self.weights, self.experts or self.weights, self.cache
        weights, experts, cache = ("" if name == "bf16" else name for name in names)
        return weights, experts, cache

"""Words of the glossary that files and code share, as enums."""

from collections.abc import Hashable
from dataclasses import dataclass
from enum import IntEnum, StrEnum


class CollectiveKind(IntEnum):
    """Kind of a collective; the values are those of Chakra's ``CollectiveCommType``."""

    ALL_REDUCE = 0
    REDUCE = 1
    ALL_GATHER = 2
    GATHER = 3
    SCATTER = 4
    BROADCAST = 5
    ALL_TO_ALL = 6
    REDUCE_SCATTER = 7
    BARRIER = 9

    @property
    def gathers(self) -> bool:
        """True if the buffer of each member is a share of the result."""
        return self in GATHERING

    @property
    def rooted(self) -> bool:
        """True if one member, the first, has the data at the start or at the end."""
        return self in _ROOTED


_ROOTED = (
    CollectiveKind.BROADCAST,
    CollectiveKind.REDUCE,
    CollectiveKind.GATHER,
    CollectiveKind.SCATTER,
)

EVERYWHERE = (
    CollectiveKind.ALL_REDUCE,
    CollectiveKind.ALL_GATHER,
    CollectiveKind.REDUCE_SCATTER,
    CollectiveKind.ALL_TO_ALL,
)
"""Kinds in which every member sends data and receives some."""


GATHERING = frozenset({CollectiveKind.ALL_GATHER, CollectiveKind.GATHER})
"""Kinds with which the buffer of each member is a share of the result."""


class NodeKind(IntEnum):
    """Kind of a node of a workload graph; the values are those of Chakra's ``NodeType``."""

    INVALID = 0
    METADATA = 1
    MEM_LOAD = 2
    MEM_STORE = 3
    COMPUTE = 4
    SEND = 5
    RECV = 6
    COLLECTIVE = 7


class Precision(StrEnum):
    """Number format of weights and activations."""

    FP32 = "fp32"
    BF16 = "bf16"
    FP16 = "fp16"
    FP8 = "fp8"
    FP4 = "fp4"

    @property
    def bytes(self) -> float:
        """Bytes of one number; scales that several numbers share are left out."""
        return {"fp32": 4.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "fp4": 0.5}[self.value]

    @property
    def scale_bytes(self) -> float:
        """Bytes of scales per number: an fp32 for 128 of fp8, a byte for 16 of fp4.

        Source: DeepSeek-AI, arXiv:2412.19437, section 3.3.2; NVIDIA, NVFP4.
        """
        return {"fp8": 4 / 128, "fp4": 1 / 16}.get(self.value, 0.0)


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """Format of the operands of products, or of keys and values in a cache.

    Attributes:
        weight_bytes: Bytes of a stored weight with its part of the scales.
        product: Format whose peak the product has.
    """

    weight_bytes: float
    product: Precision


FORMATS: dict[str, NumberFormat] = {
    "bf16": NumberFormat(2.0, Precision.BF16),
    "fp8": NumberFormat(1.0, Precision.FP8),
    "fp8_block": NumberFormat(1.0 + 4 / 128**2, Precision.FP8),
    "nvfp4": NumberFormat(0.5 + 1 / 16, Precision.FP4),
    "w4a8_mxfp4": NumberFormat(0.5 + 1 / 32, Precision.FP8),
    "w4a16_mxfp4": NumberFormat(0.5 + 1 / 32, Precision.BF16),
    "w4a16_int4": NumberFormat(0.5 + 2 / 128, Precision.BF16),
}
"""By the names that kernel tables use: fp8 with one scale per tensor or one per block of 128 by 128
weights, 4 bits with a scale per 16 or 32 weights (int4: 128), and 4-bit weights whose products run
in 8 or 16 bits."""

NARROW_FORMATS = {Precision.FP8: "fp8", Precision.FP4: "nvfp4"}
"""Names of the formats below 16 bits where a file says no more than a precision."""


LayerKind = tuple[Hashable, ...]
"""Parts that a layer is made of; layers of equal kinds do the same work."""

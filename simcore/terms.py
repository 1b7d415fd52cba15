"""Words of the glossary that files and code share, as enums."""

from collections.abc import Hashable
from enum import IntEnum, StrEnum


class CollectiveKind(IntEnum):
    """Kind of a collective; the values are those of Chakra's ``CollectiveCommType``."""

    ALL_REDUCE = 0
    ALL_GATHER = 2
    BROADCAST = 5
    ALL_TO_ALL = 6
    REDUCE_SCATTER = 7


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


LayerKind = tuple[Hashable, ...]
"""Parts that a layer is made of; layers of equal kinds do the same work."""

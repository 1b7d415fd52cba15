"""Data that lies in memory outside the accelerators while it is not at work."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from simcore.schema import Schema

OWN = "npu"
"""In the memory of the NPU itself, in the place of a tier."""


_PARTS = ("weights", "gradients", "optimizer", "activations", "cache")
_ALL_OWN = (OWN,) * len(_PARTS)


class Offload(Schema):
    """Tiers of ``platform.tiers`` in which the parts of a model lie; ``npu``: in its own memory.

    What lies outside is brought in layer by layer, *prefetch* layers of the plan ahead, and taken
    out as soon as it is complete, beside the passes.

    Source: J. Ren et al., "ZeRO-Offload", USENIX ATC 2021, sections 3 and 4; S. Rajbhandari et al.,
    "ZeRO-Infinity", SC 2021, sections 5 and 6 (each NPU loads its own shard; prefetch); S. Lie,
    "Cerebras Architecture Deep Dive", IEEE Micro 2023 (weights streamed, gradients added up on the
    way).

    Attributes:
        weights: Loaded for each pass of a layer; stored after the optimizer.
        gradients: Stored after each backward pass and added up there; loaded for the optimizer.
        optimizer: Main copies and moments: loaded and stored around the optimizer step.
        activations: What layers keep: stored after the forward pass, loaded for the backward pass.
        cache: Keys and values of earlier tokens, in inference: loaded for each pass of a layer,
            and those of new tokens stored.
        update: Who runs the optimizer: the ``npu``, or processors beside the ``tier`` of the state.
        reduce: Who adds up the gradients of replicas: the ``network`` between NPUs, or the ``tier``
            on the way to it.
        overlap: State streams beside the optimizer step, *group* by group; False: all is loaded
            before it, and stored after it.
        group: Parameters of a group that is updated at once.
    """

    weights: str = Field(default=OWN, min_length=1)
    gradients: str = Field(default=OWN, min_length=1)
    optimizer: str = Field(default=OWN, min_length=1)
    activations: str = Field(default=OWN, min_length=1)
    cache: str = Field(default=OWN, min_length=1)
    update: Literal["npu", "tier"] = "npu"
    reduce: Literal["network", "tier"] = "network"
    overlap: bool = True
    group: int = Field(default=100_000_000, ge=1)

    @property
    def places(self) -> dict[str, str]:
        """Tiers by what lies there; without what lies in the NPU."""
        placed = (self.weights, self.gradients, self.optimizer, self.activations, self.cache)
        if placed == _ALL_OWN:  # as most plans have it, of which many are asked
            return {}
        return {part: tier for part, tier in zip(_PARTS, placed, strict=True) if tier != OWN}

    @property
    def tiers(self) -> tuple[str, ...]:
        """Tiers in use, each once."""
        return tuple(dict.fromkeys(self.places.values()))

    @property
    def in_tier(self) -> bool:
        """True if processors beside a tier run the optimizer."""
        return self.update == "tier"

    @property
    def merges(self) -> bool:
        """True if gradients of replicas are added up on their way to a tier."""
        return self.reduce == "tier"

    def first_group(self, parameters: int) -> Iterator[int]:
        """The *parameters* of the first group, and of all others."""
        first = min(parameters, self.group) if self.overlap else parameters
        yield from (first, parameters - first)

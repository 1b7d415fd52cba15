"""A whole machine: accelerators and the network between them."""

from math import prod
from typing import Any

from pydantic import Field, model_validator

from simcore.machine.dimension import Dimension
from simcore.machine.native import is_native, with_native_links
from simcore.machine.npu import Npu
from simcore.schema import Schema


class Platform(Schema):
    """Accelerators of one kind on a multi-dimensional network.

    NPU ids are mixed-radix numbers over the dimensions, dimension 0 fastest.

    Attributes:
        name: Short name, as in ``configs/platforms``.
        npu: The accelerator.
        dimensions: The network, innermost dimension first, 1 to 8 of them. In a file, shape,
            bandwidth and latency of one may be ``native``: those of the accelerator.
        source: Where the network's values come from.
    """

    name: str = Field(default="custom", min_length=1)
    npu: Npu
    dimensions: tuple[Dimension, ...] = Field(min_length=1, max_length=8)
    source: str = ""

    @model_validator(mode="before")
    @classmethod
    def _with_native_links(cls, data: Any) -> Any:
        """An accelerator that is only named, or wrong, is told by the check of its own."""
        if not isinstance(data, dict) or not isinstance(npu := data.get("npu"), Npu):
            return data
        listed = data.get("dimensions")
        if not isinstance(listed, list | tuple) or not any(map(is_native, listed)):
            return data
        return {**data, "dimensions": with_native_links(listed, npu)}

    @property
    def npus(self) -> int:
        """NPUs of the whole machine."""
        return prod(dimension.npus for dimension in self.dimensions)

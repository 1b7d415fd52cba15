"""A whole machine: accelerators and the network between them."""

from math import prod

from pydantic import Field

from simcore.machine.dimension import Dimension
from simcore.machine.npu import Npu
from simcore.schema import Schema


class Platform(Schema):
    """Accelerators of one kind on a multi-dimensional network.

    NPU ids are mixed-radix numbers over the dimensions, dimension 0 fastest.

    Attributes:
        name: Short name, as in ``configs/platforms``.
        npu: The accelerator.
        dimensions: The network, innermost dimension first, 1 to 8 of them.
        source: Where the network's values come from.
    """

    name: str = Field(default="custom", min_length=1)
    npu: Npu
    dimensions: tuple[Dimension, ...] = Field(min_length=1, max_length=8)
    source: str = ""

    @property
    def npus(self) -> int:
        """NPUs of the whole machine."""
        return prod(dimension.npus for dimension in self.dimensions)

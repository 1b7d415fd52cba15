"""A convolutional net as a table of layers."""

from functools import cached_property
from typing import Literal

from pydantic import Field

from simcore.schema import Schema
from simcore.terms import LayerKind
from simcore.workload.base import WithoutTokens
from simcore.workload.kinds.cnn.layers import ImageLayer
from simcore.workload.kinds.cnn.row import Row


class LayerGroup(Schema):
    """Layers that come several times in a row.

    Attributes:
        times: How often.
        rows: The layers, in order.
    """

    times: int = Field(default=1, ge=1, le=10_000)
    rows: tuple[Row, ...] = Field(min_length=1)


class ConvolutionalNet(WithoutTokens, Schema):
    """A convolutional net.

    Attributes:
        groups: Its layers, in order.
        synced_norms: Norms take mean and variance of the images of all NPUs, not of their own.
        source: Where the figures are published.
    """

    name: str
    kind: Literal["cnn"]
    groups: tuple[LayerGroup, ...] = Field(min_length=1)
    synced_norms: bool = False
    source: str = ""

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """All layers, in order."""
        return tuple(row for group in self.groups for row in group.rows * group.times)

    @property
    def layers(self) -> int:
        return len(self.rows)

    @cached_property
    def layer_kinds(self) -> tuple[LayerKind, ...]:
        """The work of each layer, in order."""
        return tuple((ImageLayer(row=row, synced=self.synced_norms),) for row in self.rows)

    @cached_property
    def parameters(self) -> int:
        return sum(row.parameters for row in self.rows)

    @property
    def active_parameters(self) -> int:
        return self.parameters

    @cached_property
    def products_per_image(self) -> int:
        """Multiply-adds of the forward pass: K C R S P Q, over all layers."""
        return sum(row.product_parameters * row.size**2 for row in self.rows)

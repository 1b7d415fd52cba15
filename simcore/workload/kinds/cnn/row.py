"""A row of the table of a convolutional net."""

from typing import Literal, Self

from pydantic import Field, model_validator

from simcore.errors import ConfigError
from simcore.schema import Schema

MOST = 2**20
"""Channels, pixels in a row."""


class Row(Schema):
    """One layer; its maps are square.

    Attributes:
        op: ``conv``; ``norm``: batch normalisation; ``pool``: the largest or the mean of a window;
            ``add``: the sum with a shortcut; ``dense``: a product with a bias.
        inputs: Channels of its input.
        outputs: Channels of its output; as the input if not given.
        size: Height and width of its output; 1 for ``dense``.
        kernel: Height and width of the window.
        stride: Distance of neighbouring windows.
        activated: A ReLU follows at once.
    """

    op: Literal["conv", "norm", "pool", "add", "dense"]
    inputs: int = Field(ge=1, le=MOST)
    outputs: int = Field(default=0, ge=0, le=MOST)
    size: int = Field(default=1, ge=1, le=MOST)
    kernel: int = Field(default=1, ge=1, le=MOST)
    stride: int = Field(default=1, ge=1, le=MOST)
    activated: bool = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.outputs not in (0, self.inputs) and self.op not in ("conv", "dense"):
            raise ConfigError("outputs", f"must be inputs = {self.inputs}", got=self.outputs)
        if self.op == "dense" and (self.size, self.kernel, self.stride) != (1, 1, 1):
            raise ConfigError("op", "dense layers have size, kernel and stride 1", got=self.size)
        return self

    @property
    def channels(self) -> int:
        """Channels of the output."""
        return self.outputs or self.inputs

    @property
    def output_elements(self) -> int:
        """Elements of the output of one image."""
        return self.channels * self.size**2

    @property
    def input_elements(self) -> int:
        """Elements of the input of one image that some window reaches."""
        return self.inputs * (self.size * self.stride) ** 2

    @property
    def product_parameters(self) -> int:
        """Weights of the product, C x R x S x K."""
        has_product = self.op in ("conv", "dense")
        return self.inputs * self.kernel**2 * self.channels if has_product else 0

    @property
    def parameters(self) -> int:
        """With the scale and shift of a norm and the bias of a dense layer."""
        small = {"norm": 2 * self.channels, "dense": self.channels}
        return self.product_parameters + small.get(self.op, 0)

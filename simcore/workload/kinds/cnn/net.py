"""A convolutional net as a table of layers."""

from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Literal, Self

from pydantic import Field, model_validator

from simcore.errors import ConfigError
from simcore.schema import Schema
from simcore.terms import CollectiveKind, LayerKind
from simcore.units import plain_sum
from simcore.workload.base import WithoutTokens
from simcore.workload.graph import Axis, Kernel
from simcore.workload.npu_share import NpuShare
from simcore.workload.plan import ParallelPlan
from simcore.workload.program.kernel_costs import elementwise
from simcore.workload.program.layer import BlockParameters, LayerRow, LayerWork
from simcore.workload.program.work import PassWriter

MOST = 2**20
"""Channels, pixels in a row."""


class LayerRowFile(Schema):
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


_SUM_BYTES = 4  # the sums of a norm are fp32


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageLayer(LayerRow):
    """A row of the table; layers that are equal are written once."""

    row: LayerRowFile
    synced: bool

    def work(self, share: NpuShare, plan: ParallelPlan) -> LayerWork:
        works: dict[str, type[ProductLayer | Norm | PoolLayer | Sum]] = {
            "conv": ProductLayer,
            "dense": ProductLayer,
            "norm": Norm,
            "pool": PoolLayer,
            "add": Sum,
        }
        return works[self.row.op](row=self.row, share=share, synced=self.synced)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageWork(LayerWork):
    """A layer for the images of a micro-batch."""

    row: LayerRowFile
    share: NpuShare
    synced: bool

    @property
    def parameters(self) -> BlockParameters:
        product = self.row.product_parameters
        return BlockParameters(split=product, whole=self.row.parameters - product)

    @property
    def input_bytes(self) -> int:
        """Its whole input."""
        return self.share.element_bytes * self.share.rows * self.row.input_elements

    @property
    def kept_bytes(self) -> int:
        return self.input_bytes

    @property
    def output_bytes(self) -> int:
        """Its whole output."""
        return self.share.element_bytes * self.elements

    @property
    def elements(self) -> int:
        """Elements of the layer's output."""
        return self.share.rows * self.row.output_elements

    def passing(self, name: str, flop_per_element: int, moved: float) -> list[Kernel]:
        """A kernel that goes over the output once."""
        return [elementwise(f"{self.row.op} {name}", flop_per_element * self.elements, moved)]


class ProductLayer(ImageWork):
    """A convolution or a dense layer."""

    __slots__ = ()

    def forward(self, work: PassWriter) -> None:
        rows, (inner, outer) = self._pixels, self._widths
        moved = self.input_bytes + self.output_bytes + self._weight_bytes
        work.compute(self.row.op, [self._kernel("", (rows, outer, inner), moved)])

    def backward(self, work: PassWriter) -> None:
        row, share, name = self.row, self.share, self.row.op
        rows, (inner, outer) = self._pixels, self._widths
        read = self.input_bytes + self.output_bytes
        pixels = share.rows * (row.size * row.stride) ** 2
        met = ceil(row.channels * row.kernel**2 / row.stride**2)
        inputs = self._kernel(" input gradient", (pixels, row.inputs, met), read)
        sums = 2 * share.gradient_bytes * row.product_parameters
        images = share.rows if row.op == "conv" else 1  # a product for each, added up
        sizes = inner, outer, rows // images
        weights = self._kernel(" weight gradient", sizes, read + sums)
        work.compute(name, [inputs], [weights._replace(groups=images)])

    @property
    def _pixels(self) -> int:
        return self.share.rows * self.row.size**2

    @property
    def _widths(self) -> tuple[int, int]:
        """C R S and K."""
        return self.row.inputs * self.row.kernel**2, self.row.channels

    @property
    def _weight_bytes(self) -> float:
        return self.share.element_bytes * self.row.product_parameters

    def _kernel(self, name: str, sizes: tuple[int, int, int], moved: float) -> Kernel:
        m, n, k = sizes
        moved += self._weight_bytes if "gradient" in name else 0
        flop = 2.0 * self._pixels * self.row.product_parameters
        full_name = f"{self.row.op}{name}"
        return Kernel(
            name=full_name,
            kind="gemm",
            flop=flop,
            bytes=float(moved),
            m=m,
            n=n,
            k=k,
            format=self.share.product_format,
        )


class Norm(ImageWork):
    """Batch normalisation: sums over the images, then the same for each element."""

    __slots__ = ()

    def forward(self, work: PassWriter) -> None:
        work.compute("norm", self.passing("sums", 3, self.input_bytes))
        self._sum(work, "norm sums")
        work.compute("norm", self.passing("scaling", 4, self.input_bytes + self.output_bytes))

    def backward(self, work: PassWriter) -> None:
        read = self.input_bytes + self.output_bytes
        work.compute("norm", self.passing("gradient sums", 4, read))
        self._sum(work, "norm gradient sums")
        work.compute("norm", self.passing("gradient", 6, read + self.input_bytes))

    def _sum(self, work: PassWriter, name: str) -> None:
        if self.synced:
            size = 2 * _SUM_BYTES * self.row.channels
            work.collective(name, CollectiveKind.ALL_REDUCE, Axis.DP, size)


class PoolLayer(ImageWork):
    """The largest or the mean of each window; keeps what tells where the largest was."""

    __slots__ = ()

    @property
    def kept_bytes(self) -> int:
        return self.input_bytes + self.output_bytes

    def forward(self, work: PassWriter) -> None:
        moved = self.input_bytes + self.output_bytes
        work.compute("pool", self.passing("window", self.row.kernel**2, moved))

    def backward(self, work: PassWriter) -> None:
        moved = self.input_bytes + 2 * self.output_bytes
        work.compute("pool", self.passing("gradient", 1, moved))


class Sum(ImageWork):
    """The sum with a shortcut; its output is kept by the layer that reads it.

    The backward pass adds the gradients of the two ways where they part.
    """

    __slots__ = ()

    @property
    def kept_bytes(self) -> int:
        return 0

    def forward(self, work: PassWriter) -> None:
        work.compute("add", self.passing("shortcut", 1, 3 * self.output_bytes))

    def backward(self, work: PassWriter) -> None:
        moved = 3 * self.output_bytes
        if self.row.activated:
            work.compute("add", self.passing("activation gradient", 1, moved))
        work.compute("add", self.passing("gradients of both ways", 1, moved))


class LayerGroup(Schema):
    """Layers that come several times in a row.

    Attributes:
        times: How often.
        rows: The layers, in order.
    """

    times: int = Field(default=1, ge=1, le=10_000)
    rows: tuple[LayerRowFile, ...] = Field(min_length=1)


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
    def rows(self) -> tuple[LayerRowFile, ...]:
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
        return plain_sum(row.product_parameters * row.size**2 for row in self.rows)

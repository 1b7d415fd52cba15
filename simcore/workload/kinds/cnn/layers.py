"""Work of one NPU for a layer of a convolutional net.

A convolution is the product of an (images x P x Q, C R S) matrix with (C R S, K) weights, P and Q
being the height and width of its output, R and S those of its window: 2 b K C R S P Q FLOP, and as
many for either gradient. Kernels move each operand once; a ReLU costs no traffic, as it is fused
with what it follows.

Source: S. Chetlur et al., "cuDNN", arXiv:1410.0759, section 3; S. Ioffe, C. Szegedy, "Batch
Normalization", ICML 2015 (two sums per channel in either direction).
"""

from dataclasses import dataclass
from math import ceil

from simcore.terms import CollectiveKind
from simcore.workload.graph import Axis, Kernel
from simcore.workload.kinds.cnn.row import Row
from simcore.workload.npu_share import NpuShare
from simcore.workload.plan import ParallelPlan
from simcore.workload.program.kernel_costs import elementwise
from simcore.workload.program.layer import BlockParameters, LayerRow, LayerWork
from simcore.workload.program.work import Work

_SUM_BYTES = 4  # the sums of a norm are fp32


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageLayer(LayerRow):
    """A row of the table; layers that are equal are written once."""

    row: Row
    synced: bool

    def work(self, share: NpuShare, plan: ParallelPlan) -> LayerWork:
        works: dict[str, type[Product | Norm | Pool | Sum]] = {
            "conv": Product,
            "dense": Product,
            "norm": Norm,
            "pool": Pool,
            "add": Sum,
        }
        return works[self.row.op](row=self.row, share=share, synced=self.synced)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageWork(LayerWork):
    """A layer for the images of a micro-batch."""

    row: Row
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


class Product(ImageWork):
    """A convolution or a dense layer."""

    __slots__ = ()

    def forward(self, work: Work) -> None:
        rows, (inner, outer) = self._pixels, self._widths
        moved = self.input_bytes + self.output_bytes + self._weight_bytes
        work.compute(self.row.op, [self._kernel("", (rows, outer, inner), moved)])

    def backward(self, work: Work) -> None:
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
        return Kernel(name=full_name, kind="gemm", flop=flop, bytes=float(moved), m=m, n=n, k=k)


class Norm(ImageWork):
    """Batch normalisation: sums over the images, then the same for each element."""

    __slots__ = ()

    def forward(self, work: Work) -> None:
        work.compute("norm", self.passing("sums", 3, self.input_bytes))
        self._sum(work, "norm sums")
        work.compute("norm", self.passing("scaling", 4, self.input_bytes + self.output_bytes))

    def backward(self, work: Work) -> None:
        read = self.input_bytes + self.output_bytes
        work.compute("norm", self.passing("gradient sums", 4, read))
        self._sum(work, "norm gradient sums")
        work.compute("norm", self.passing("gradient", 6, read + self.input_bytes))

    def _sum(self, work: Work, name: str) -> None:
        if self.synced:
            size = 2 * _SUM_BYTES * self.row.channels
            work.collective(name, CollectiveKind.ALL_REDUCE, Axis.DP, size)


class Pool(ImageWork):
    """The largest or the mean of each window; keeps what tells where the largest was."""

    __slots__ = ()

    @property
    def kept_bytes(self) -> int:
        return self.input_bytes + self.output_bytes

    def forward(self, work: Work) -> None:
        moved = self.input_bytes + self.output_bytes
        work.compute("pool", self.passing("window", self.row.kernel**2, moved))

    def backward(self, work: Work) -> None:
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

    def forward(self, work: Work) -> None:
        work.compute("add", self.passing("shortcut", 1, 3 * self.output_bytes))

    def backward(self, work: Work) -> None:
        moved = 3 * self.output_bytes
        if self.row.activated:
            work.compute("add", self.passing("activation gradient", 1, moved))
        work.compute("add", self.passing("gradients of both ways", 1, moved))

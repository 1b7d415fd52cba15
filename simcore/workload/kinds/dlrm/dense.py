"""The dense layers of a recommendation model as one NPU runs them for its own samples."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from simcore.workload.graph import Kernel
from simcore.workload.npu_share import NpuShare
from simcore.workload.plan import ParallelPlan
from simcore.workload.program.kernel_costs import elementwise, gemm, input_gradient, weight_gradient
from simcore.workload.program.layer import BlockParameters, LayerRow, LayerWork
from simcore.workload.program.work import PassWriter


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleLayer(LayerRow):
    """A layer that works sample by sample."""

    name: ClassVar[str]

    @property
    @abstractmethod
    def parameters(self) -> int: ...

    @property
    @abstractmethod
    def flop(self) -> float:
        """FLOP of the products of one sample, forward."""

    @property
    @abstractmethod
    def kept_elements(self) -> int:
        """Elements kept of a sample: its input, and what its own products read."""

    @abstractmethod
    def forward(self, share: NpuShare) -> list[Kernel]: ...

    @abstractmethod
    def backward(self, share: NpuShare) -> tuple[list[Kernel], list[Kernel]]:
        """Input gradients and weight gradients."""

    def work(self, share: NpuShare, plan: ParallelPlan) -> LayerWork:
        return SampleWork(layer=self, share=share)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleWork(LayerWork):
    """A layer for the samples of a micro-batch."""

    layer: SampleLayer
    share: NpuShare

    @property
    def parameters(self) -> BlockParameters:
        return BlockParameters(split=self.layer.parameters)

    @property
    def kept_bytes(self) -> int:
        return self.share.element_bytes * self.share.rows * self.layer.kept_elements

    @property
    def input_bytes(self) -> int:
        return self.kept_bytes

    def forward(self, work: PassWriter) -> None:
        work.compute(self.layer.name, self.layer.forward(self.share))

    def backward(self, work: PassWriter) -> None:
        inputs, weights = self.layer.backward(self.share)
        work.compute(self.layer.name, inputs, weights)


@dataclass(frozen=True, slots=True, kw_only=True)
class DenseLayer(SampleLayer):
    """A product with a bias; its activation is fused with it."""

    name: ClassVar[str] = "dense"

    inputs: int
    outputs: int

    @property
    def parameters(self) -> int:
        return (self.inputs + 1) * self.outputs

    @property
    def flop(self) -> float:
        return 2.0 * self.inputs * self.outputs

    @property
    def kept_elements(self) -> int:
        return self.inputs

    def forward(self, share: NpuShare) -> list[Kernel]:
        return [gemm("dense", share.rows, self.outputs, self.inputs, share)]

    def backward(self, share: NpuShare) -> tuple[list[Kernel], list[Kernel]]:
        sizes = share.rows, self.outputs, self.inputs
        inputs = [input_gradient("dense", *sizes, share)]
        return inputs, [weight_gradient("dense", *sizes, share)]


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossLayer(SampleLayer):
    """x0 * (U (V x) + b) + x with U and V of low *rank*.

    Source: R. Wang et al., "DCN V2", WWW 2021, equation 2.
    """

    name: ClassVar[str] = "cross"

    width: int
    rank: int

    @property
    def parameters(self) -> int:
        return self.width * (2 * self.rank + 1)

    @property
    def flop(self) -> float:
        return 4.0 * self.width * self.rank

    @property
    def kept_elements(self) -> int:
        return 2 * self.width + self.rank  # its input, what x0 is multiplied with, and V x

    def forward(self, share: NpuShare) -> list[Kernel]:
        elements = share.rows * self.width
        return [
            gemm("cross down", share.rows, self.rank, self.width, share),
            gemm("cross up", share.rows, self.width, self.rank, share),
            elementwise("cross", 3 * elements, 4 * share.element_bytes * elements),
        ]

    def backward(self, share: NpuShare) -> tuple[list[Kernel], list[Kernel]]:
        elements = share.rows * self.width
        up, down = (share.rows, self.width, self.rank), (share.rows, self.rank, self.width)
        inputs = [
            elementwise("cross gradient", 4 * elements, 6 * share.element_bytes * elements),
            input_gradient("cross up", *up, share),
            input_gradient("cross down", *down, share),
        ]
        weights = [
            weight_gradient("cross up", *up, share),
            weight_gradient("cross down", *down, share),
        ]
        return inputs, weights


@dataclass(frozen=True, slots=True, kw_only=True)
class DotLayer(SampleLayer):
    """The products of all pairs of vectors: half of a (vectors, width) matrix times itself."""

    name: ClassVar[str] = "pairs"

    vectors: int
    width: int

    @property
    def parameters(self) -> int:
        return 0

    @property
    def flop(self) -> float:
        return float(self.vectors**2 * self.width)

    @property
    def kept_elements(self) -> int:
        return self.vectors * self.width

    def forward(self, share: NpuShare) -> list[Kernel]:
        return [self._product("pairs", (self.vectors, self.vectors, self.width), 1, share)]

    def backward(self, share: NpuShare) -> tuple[list[Kernel], list[Kernel]]:
        # the gradients of either factor, added up
        sizes = self.vectors, self.width, self.vectors
        return [self._product("pairs gradient", sizes, 2, share)], []

    def _product(
        self, name: str, sizes: tuple[int, int, int], times: int, share: NpuShare
    ) -> Kernel:
        m, n, k = sizes
        pairs = self.vectors * (self.vectors - 1) // 2
        moved = share.element_bytes * share.rows * (times * self.kept_elements + pairs)
        kernel = partial(Kernel, name=name, kind="gemm", m=m, n=n, k=k, groups=share.rows)
        return kernel(flop=times * self.flop * share.rows, bytes=float(moved))

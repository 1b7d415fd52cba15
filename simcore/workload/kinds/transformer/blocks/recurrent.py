"""Blocks with a state of fixed size per sequence in the place of all keys and values."""

from abc import abstractmethod
from typing import ClassVar

from simcore.terms import CollectiveKind
from simcore.workload.graph import Axis, Kernel
from simcore.workload.kinds.transformer.blocks.base import ResidualBlock
from simcore.workload.kinds.transformer.share import Share
from simcore.workload.kinds.transformer.states import STATE_BYTES, RecurrentPart
from simcore.workload.program.kernel_costs import (
    elementwise,
    gemm,
    input_gradient,
    norm,
    norm_gradient,
    weight_gradient,
)
from simcore.workload.program.layer import BlockParameters
from simcore.workload.program.work import PassWriter

_NORM_FLOP = 5


class Recurrent(ResidualBlock):
    """Norm, product to gate and inputs, convolution, scan in chunks, norm, product back.

    Heads are split over tp; with context parallelism an all-to-all gives each NPU all tokens of
    some heads for the time of convolution and scan. A step of inference goes on from the states of
    its sequences: each is read and written once, or once per chunk of a prompt.

    Source: T. Dao, A. Gu, "Transformers are SSMs", ICML 2024, sections 6 (scan in chunks) and 8
    (tensor and context parallelism).
    """

    __slots__ = ()
    name: ClassVar[str]
    """Begins the names of its kernels."""

    @property
    @abstractmethod
    def recurrent(self) -> RecurrentPart:
        """Its heads on this NPU."""

    @property
    @abstractmethod
    def made(self) -> list[tuple[str, int]]:
        """Names and widths of what products make of a row, after the name of the block."""

    @property
    def width(self) -> int:
        """Numbers that are made of a row."""
        return sum(width for _, width in self.made)

    @abstractmethod
    def scan_flop(self, chunk: int) -> tuple[float, float]:
        """FLOP per row within chunks of so many rows, and with the states of chunks."""

    @property
    def parameters(self) -> BlockParameters:
        share, part = self.share, self.recurrent
        matrices = share.hidden * (self.width + part.inner)
        return BlockParameters(split=matrices + self.small_split, whole=self.small_whole)

    @property
    def small_split(self) -> int:
        """Parameters of an NPU's heads outside products."""
        return self.recurrent.small_parameters

    @property
    def small_whole(self) -> int:
        """Parameters outside products that every NPU has."""
        return self.share.norm_parameters

    def forward(self, work: PassWriter) -> None:
        share, name = self.share, self.name
        work.gather(f"{name} input")
        inputs = [gemm(*sizes, share) for sizes in self._inputs()]
        work.compute(f"{name} input", [*norm(share, name), *inputs])
        self._exchange(work, f"{name} tokens", self.width)
        scans = [self._scan(part) for part in share.cores]
        work.compute(f"{name} scan", [self._convolution(1), *scans, self._gated_norm(3)])
        self._exchange(work, f"{name} heads", self.recurrent.inner)
        work.compute(f"{name} output", [gemm(f"{name} output", *self._output, share)])
        work.reduce(f"{name} output")

    def backward(self, work: PassWriter) -> None:
        share, name = self.share, self.name
        work.gather(f"{name} gradient")
        self.repeat_norm(work, f"{name} input")
        regathered = work.regather(f"{name} input")
        output = input_gradient(f"{name} output", *self._output, share)
        weight = weight_gradient(f"{name} output", *self._output, share)
        work.compute(f"{name} output", [*norm_gradient(share, "next"), output], [weight])
        self._exchange(work, f"{name} head gradients", self.recurrent.inner)
        kernels = [self._gated_norm(5), self._scan_gradient(), self._convolution(2)]
        work.compute(f"{name} scan", kernels)
        self._exchange(work, f"{name} token gradients", self.width)
        gradients = [input_gradient(*sizes, share) for sizes in self._inputs()]
        work.compute(f"{name} input", gradients)
        weights = [weight_gradient(*sizes, share) for sizes in self._inputs()]
        work.input_gradient(name, weights, regathered)

    @property
    def kept_bytes(self) -> int:
        share, part = self.share, self.recurrent
        elements = share.rows * (self.width + part.mixed + 2 * part.inner)
        read = share.rows * part.inner  # by the product at its end
        return self.entry_bytes + share.kept(elements, read)

    def _inputs(self) -> list[tuple[str, int, int, int]]:
        """The products that read a row: name, rows, width, width of a row."""
        share = self.share
        return [(f"{self.name} {name}", share.rows, n, share.hidden) for name, n in self.made]

    @property
    def _output(self) -> tuple[int, int, int]:
        return self.share.rows, self.share.hidden, self.recurrent.inner

    def _exchange(self, work: PassWriter, name: str, width: int) -> None:
        size_bytes = self.share.element_bytes * self.share.rows * width
        work.collective(name, CollectiveKind.ALL_TO_ALL, Axis.CP, size_bytes)

    def _convolution(self, passes: int) -> Kernel:
        share, part = self.share, self.recurrent
        elements = share.rows * part.mixed
        flop = 2 * passes * part.convolution * elements
        moved = (1 + passes) * share.element_bytes * elements
        return elementwise(f"{self.name} convolution", flop, moved)

    def _gated_norm(self, moves: int) -> Kernel:
        share, elements = self.share, self.share.rows * self.recurrent.inner
        moved = moves * share.element_bytes * elements
        return elementwise(f"{self.name} norm", _NORM_FLOP * elements, moved)

    def _scan(self, part: Share) -> Kernel:
        inside, states = self.scan_flop(self._chunk(part))
        return self._kernel("scan", part, inside + states, 1)

    def _scan_gradient(self) -> Kernel:
        """Two gradients per product; scores and states of the chunks are computed again."""
        inside, states = self.scan_flop(self._chunk(self.share))
        return self._kernel("scan gradient", self.share, 3 * inside + 2.5 * states, 2)

    def _chunk(self, part: Share) -> int:
        """Rows of a sequence that are computed at once: no more than there are."""
        return min(self.recurrent.chunk, part.queries)

    def _kernel(self, name: str, part: Share, flop: float, passes: int) -> Kernel:
        recurrent, chunk = self.recurrent, self._chunk(part)
        states_bytes = STATE_BYTES * 2 * part.rows // chunk * recurrent.state_numbers
        moved = passes * (part.element_bytes * part.rows * self.width + states_bytes)
        return Kernel(
            name=f"{self.name} {name}", kind="scan", flop=part.rows * flop, bytes=float(moved),
            m=chunk, n=chunk, k=recurrent.key_width,
        )  # fmt: skip

"""A Mamba-2 mixer in the place of attention."""

from simcore.terms import CollectiveKind
from simcore.workload.graph import Axis, Kernel
from simcore.workload.kinds.transformer.blocks.base import ResidualBlock
from simcore.workload.kinds.transformer.share import StateShare
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

_STATE_BYTES = 4  # states are kept in fp32
_NORM_FLOP = 5


class Mamba(ResidualBlock):
    """Norm, product to gate, values and state inputs, convolution, scan, norm, product back.

    Heads are split over tp; with context parallelism an all-to-all gives each NPU all tokens of
    some heads for the time of convolution and scan.

    Source: T. Dao, A. Gu, "Transformers are SSMs", ICML 2024, sections 6 (scan in chunks) and 8
    (tensor and context parallelism).
    """

    __slots__ = ()

    @property
    def parameters(self) -> BlockParameters:
        share, state = self.share, self._state
        matrices = share.hidden * (self._width + state.inner)
        small = state.convolution * (state.inner + state.mixed) + state.inner + 3 * state.heads
        return BlockParameters(split=matrices + small, whole=share.norm_parameters)

    def forward(self, work: PassWriter) -> None:
        share = self.share
        work.gather("mamba input")
        inputs = gemm("mamba input", share.rows, self._width, share.hidden, share)
        work.compute("mamba input", [*norm(share, "mamba"), inputs])
        self._exchange(work, "mamba tokens", self._width)
        work.compute("mamba scan", [self._convolution(1), self._scan(), self._gated_norm(3)])
        self._exchange(work, "mamba heads", self._state.inner)
        work.compute("mamba output", [gemm("mamba output", *self._output, share)])
        work.reduce("mamba output")

    def backward(self, work: PassWriter) -> None:
        share = self.share
        work.gather("mamba gradient")
        self.repeat_norm(work, "mamba input")
        regathered = work.regather("mamba input")
        output = input_gradient("mamba output", *self._output, share)
        weight = weight_gradient("mamba output", *self._output, share)
        work.compute("mamba output", [*norm_gradient(share, "next"), output], [weight])
        self._exchange(work, "mamba head gradients", self._state.inner)
        kernels = [self._gated_norm(5), self._scan_gradient(), self._convolution(2)]
        work.compute("mamba scan", kernels)
        self._exchange(work, "mamba token gradients", self._width)
        sizes = "mamba input", share.rows, self._width, share.hidden
        work.compute("mamba input", [input_gradient(*sizes, share)])
        work.input_gradient("mamba", [weight_gradient(*sizes, share)], regathered)

    @property
    def kept_bytes(self) -> int:
        share, state = self.share, self._state
        width = self._width + (state.inner + state.mixed) + 2 * state.inner
        elements, read = share.rows * width, share.rows * state.inner  # by the product at its end
        return self.entry_bytes + share.kept(elements, read)

    @property
    def _state(self) -> StateShare:
        if self.share.state is None:
            raise AssertionError("a model with mamba layers has a share of their state")
        return self.share.state

    @property
    def _width(self) -> int:
        """Gate, values, state inputs and outputs (B and C), and time steps of one row."""
        state = self._state
        return 2 * state.inner + state.mixed + state.heads

    @property
    def _output(self) -> tuple[int, int, int]:
        return self.share.rows, self.share.hidden, self._state.inner

    def _exchange(self, work: PassWriter, name: str, width: int) -> None:
        size_bytes = self.share.element_bytes * self.share.rows * width
        work.collective(name, CollectiveKind.ALL_TO_ALL, Axis.CP, size_bytes)

    def _convolution(self, passes: int) -> Kernel:
        share, state = self.share, self._state
        elements = share.rows * (state.inner + state.mixed)
        flop = 2 * passes * state.convolution * elements
        moved = (1 + passes) * share.element_bytes * elements
        return elementwise("mamba convolution", flop, moved)

    def _gated_norm(self, moves: int) -> Kernel:
        share, elements = self.share, self.share.rows * self._state.inner
        return elementwise(
            "mamba norm", _NORM_FLOP * elements, moves * share.element_bytes * elements
        )

    def _scan(self) -> Kernel:
        inside, states = self._scan_flop
        return self._kernel("mamba scan", inside + 2 * states, 1)

    def _scan_gradient(self) -> Kernel:
        """Two gradients per product; scores and states of the chunks are computed again."""
        inside, states = self._scan_flop
        return self._kernel("mamba scan gradient", 3 * inside + 5 * states, 2)

    @property
    def _scan_flop(self) -> tuple[float, float]:
        """FLOP within the chunks, and to make the states, or as many to use them."""
        state, rows = self._state, self.share.rows
        inside = 2.0 * rows * state.chunk * (state.mixed / 2 + state.inner)
        return inside, 2.0 * rows * state.state * state.inner

    def _kernel(self, name: str, flop: float, passes: int) -> Kernel:
        share, state = self.share, self._state
        width = 2 * state.inner + state.mixed + state.heads
        states_bytes = _STATE_BYTES * 2 * share.rows // state.chunk * state.inner * state.state
        moved = passes * (share.element_bytes * share.rows * width + states_bytes)
        return Kernel(
            name=name, kind="scan", flop=flop, bytes=float(moved),
            m=state.chunk, n=state.chunk, k=state.state,
        )  # fmt: skip

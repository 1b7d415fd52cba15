"""One NPU's heads of mixers that keep a state of fixed size per sequence."""

from dataclasses import dataclass
from typing import Protocol, Self

from simcore.workload.kinds.transformer.model import Model
from simcore.workload.kinds.transformer.model_parts import LinearAttention
from simcore.workload.plan import ParallelPlan

STATE_BYTES = 4
"""Bytes of a number of a recurrent state: they are kept in fp32."""


class RecurrentPart(Protocol):
    """One NPU's heads of a mixer that keeps a state of fixed size per sequence.

    Attributes:
        inner: Numbers of a row that leave the mixer.
        mixed: Numbers of a row that pass its convolution.
        state_numbers: Of all states of a sequence.
        key_width: Of a state, by the numbers of one channel that leaves it.
        small_parameters: Outside products.
        convolution, chunk: As in ``StateSpace`` and ``LinearAttention``.
    """

    @property
    def inner(self) -> int: ...

    @property
    def mixed(self) -> int: ...

    @property
    def state_numbers(self) -> int: ...

    @property
    def key_width(self) -> int: ...

    @property
    def small_parameters(self) -> int: ...

    @property
    def convolution(self) -> int: ...

    @property
    def chunk(self) -> int: ...


def state_bytes(part: RecurrentPart, element_bytes: float) -> float:
    """Bytes that are kept of a sequence: the states, and what the convolution sees before."""
    before = (part.convolution - 1) * part.mixed
    return STATE_BYTES * part.state_numbers + element_bytes * before


@dataclass(frozen=True, slots=True, kw_only=True)
class StateShare:
    """One NPU's part of a Mamba-2 mixer.

    Attributes:
        inner: Heads x their width.
        mixed: The same, and widths of B and C of all its groups.
        heads: Heads.
        state, convolution, chunk: As in ``StateSpace``.
    """

    inner: int
    mixed: int
    heads: int
    state: int
    convolution: int
    chunk: int

    @property
    def key_width(self) -> int:
        return self.state

    @property
    def state_numbers(self) -> int:
        return self.inner * self.state

    @property
    def small_parameters(self) -> int:
        return self.convolution * self.mixed + self.inner + 3 * self.heads

    @classmethod
    def of(cls, model: Model, plan: ParallelPlan) -> Self | None:
        mamba = model.mamba
        if mamba is None:
            return None
        heads = mamba.heads // plan.tp
        inner, groups = heads * mamba.head_width, max(1, mamba.groups // plan.tp)
        return cls(
            inner=inner,
            mixed=inner + 2 * groups * mamba.state,
            heads=heads,
            state=mamba.state,
            convolution=mamba.convolution,
            chunk=mamba.chunk,
        )


def linear_part(model: Model, parts: int) -> LinearAttention | None:
    """Heads of linear attention on one of so many NPUs; heads of keys on several, if need be."""
    linear = model.linear
    if linear is None:
        return None
    keys, values = max(1, linear.key_heads // parts), linear.value_heads // parts
    return linear.model_copy(update={"key_heads": keys, "value_heads": values})

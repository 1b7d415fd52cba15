"""Linear attention by a gated delta rule."""

from typing import ClassVar

from simcore.workload.kinds.transformer.blocks.recurrent import Recurrent
from simcore.workload.kinds.transformer.model_parts import LinearAttention


class Linear(Recurrent):
    """Queries, keys, values, a gate of the outputs, and two numbers per head: decay and step.

    Source: S. Yang, J. Kautz, A. Hatamizadeh, "Gated Delta Networks", ICLR 2025, sections 3.2 and
    3.3 (chunks).
    """

    __slots__ = ()
    name: ClassVar[str] = "linear attention"

    @property
    def recurrent(self) -> LinearAttention:
        if self.share.linear is None:
            raise AssertionError("a model with linear attention has a share of it")
        return self.share.linear

    @property
    def made(self) -> list[tuple[str, int]]:
        linear = self.recurrent
        return [("input", linear.mixed + linear.inner), ("decay and step", 2 * linear.value_heads)]

    @property
    def small_split(self) -> int:
        return self.recurrent.small_parameters - self.recurrent.value_width

    @property
    def small_whole(self) -> int:  # all heads are normed with the same scales
        small = self.share.norm_parameters + self.recurrent.value_width
        return small + self.share.vectors.linear

    def scan_flop(self, chunk: int) -> tuple[float, float]:
        linear = self.recurrent
        whole, states = linear.scan_flop(chunk), linear.value_heads * linear.state_flop
        return whole - states, states

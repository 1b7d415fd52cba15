"""A Mamba-2 mixer in the place of attention."""

from typing import ClassVar

from simcore.workload.kinds.transformer.blocks.recurrent import Recurrent
from simcore.workload.kinds.transformer.states import StateShare


class Mamba(Recurrent):
    """Selective state space: gate, values, state inputs and outputs (B and C), and time steps.

    Source: T. Dao, A. Gu, "Transformers are SSMs", ICML 2024, sections 6 and 7.
    """

    __slots__ = ()
    name: ClassVar[str] = "mamba"

    @property
    def recurrent(self) -> StateShare:
        if self.share.state is None:
            raise AssertionError("a model with mamba layers has a share of their state")
        return self.share.state

    @property
    def made(self) -> list[tuple[str, int]]:
        state = self.recurrent
        return [("input", state.mixed + state.inner + state.heads)]

    @property
    def small_whole(self) -> int:
        return self.share.norm_parameters + self.share.vectors.mamba

    def scan_flop(self, chunk: int) -> tuple[float, float]:
        state = self.recurrent
        inside = 2.0 * chunk * ((state.mixed - state.inner) / 2 + state.inner)
        return inside, 4.0 * state.state * state.inner

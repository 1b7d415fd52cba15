"""Cores that compute loses: communication is a kernel."""

from math import inf
from typing import Self

from pydantic import Field, model_validator

from simcore.errors import ConfigError, InfeasibleError
from simcore.machine.movers.base import MOST_TAKEN, PASSES, PASSES_REDUCING, Mover
from simcore.schema import BytesPerS


class Cores(Mover):
    """Cores of the accelerator that run communication kernels (NCCL's channels, RCCL's).

    Each takes a core for as long as the collective is under way.

    Attributes:
        count: Cores of the accelerator: streaming multiprocessors, compute units.
        taken: Those that a collective takes.
        bandwidth_bytes_per_s: Most that one of them sends; None: those taken fill the links of the
            scale-up domain, and fewer as much less.
        reduction_bytes_per_s: Most operands that one of them adds up, read and written; None:
            together they fill the memory's bandwidth.
    """

    count: int = Field(ge=2, le=10**9)
    taken: int = Field(ge=1, le=10**9)
    bandwidth_bytes_per_s: BytesPerS | None = Field(default=None, alias="bandwidth", ge=1e6)
    reduction_bytes_per_s: BytesPerS | None = Field(default=None, alias="reduction", ge=1e6)

    @model_validator(mode="after")
    def _leaves_some(self) -> Self:
        if self.taken > MOST_TAKEN * self.count:
            rule = f"must be at most {MOST_TAKEN:.0%} of the {self.count} cores"
            raise ConfigError("taken", rule, got=self.taken)
        return self

    @property
    def reduces(self) -> bool:
        return True

    @property
    def moves_bytes_per_s(self) -> float:
        return (
            inf if self.bandwidth_bytes_per_s is None else self.taken * self.bandwidth_bytes_per_s
        )

    @property
    def reduces_bytes_per_s(self) -> float:
        return (
            inf if self.reduction_bytes_per_s is None else self.taken * self.reduction_bytes_per_s
        )

    @property
    def takes_cores(self) -> float:
        return self.taken / self.count

    def memory_passes(self, *, reducing: bool) -> float:
        return PASSES_REDUCING if reducing else PASSES

    def with_cores(self, taken: int, links_bytes_per_s: float) -> Self:
        most = int(MOST_TAKEN * self.count)
        if not 1 <= taken <= most:
            reason = f"communication may take 1 to {most} of the {self.count} cores, not {taken}"
            raise InfeasibleError("mover_cores", reason)
        rate = self.bandwidth_bytes_per_s or links_bytes_per_s / self.taken or None
        return self.model_copy(update={"taken": taken, "bandwidth_bytes_per_s": rate})

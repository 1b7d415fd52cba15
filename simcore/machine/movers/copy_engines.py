"""Copy engines: they move data beside the cores, and add up nothing."""

from math import inf

from pydantic import Field

from simcore.machine.movers.base import PASSES, Mover
from simcore.schema import BytesPerS


class CopyEngines(Mover):
    """Engines for direct memory access, to the memory of others as to that of their own.

    Attributes:
        bandwidth_bytes_per_s: Most that they send together; None: they fill the links.

    Source: NVIDIA, release notes of NCCL 2.28 (copy-engine collectives); A. Agrawal et al.,
    "Optimizing ML Concurrent Computation and Communication with GPU DMA Engines", arXiv:2412.14335.
    """

    bandwidth_bytes_per_s: BytesPerS | None = Field(default=None, alias="bandwidth", ge=1e6)

    @property
    def reduces(self) -> bool:
        return False

    @property
    def moves_bytes_per_s(self) -> float:
        return inf if self.bandwidth_bytes_per_s is None else self.bandwidth_bytes_per_s

    def memory_passes(self, *, reducing: bool) -> float:
        return PASSES

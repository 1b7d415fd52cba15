"""Engines at the network that move and reduce: a NIC, a DPU, a collectives engine on the chip."""

from math import inf

from pydantic import Field

from simcore.machine.movers.base import PASSES, PASSES_REDUCING, Mover
from simcore.schema import BytesPerS


class Nic(Mover):
    """An engine that carries out collectives by itself, with buffers of its own.

    Of an all-reduce it reads each byte from memory once, keeps partial sums in its buffers, and
    writes the result once; a ring sends each byte twice.

    Attributes:
        bandwidth_bytes_per_s: Most that it sends; None: it fills the links.
        reduction_bytes_per_s: Most operands that it adds up, read and written in its buffers;
            None: it adds up nothing.
        buffered: Partial sums stay in its buffers; else they pass the memory, as with cores.

    Source: S. Rashidi et al., "Enabling Compute-Communication Overlap in Distributed Deep Learning
    Training Platforms", ISCA 2021 (ACE).
    """

    bandwidth_bytes_per_s: BytesPerS | None = Field(default=None, alias="bandwidth", ge=1e6)
    reduction_bytes_per_s: BytesPerS | None = Field(default=None, alias="reduction", ge=1e6)

    buffered: bool = True

    @property
    def reduces(self) -> bool:
        return self.reduction_bytes_per_s is not None

    @property
    def moves_bytes_per_s(self) -> float:
        return inf if self.bandwidth_bytes_per_s is None else self.bandwidth_bytes_per_s

    @property
    def reduces_bytes_per_s(self) -> float:
        return self.reduction_bytes_per_s or 0.0

    def memory_passes(self, *, reducing: bool) -> float:
        return PASSES if not reducing else 1.0 if self.buffered else PASSES_REDUCING

"""Contract of an engine that moves data between accelerators, and may add it up."""

from abc import ABC, abstractmethod
from math import inf
from typing import Self

from simcore.errors import InfeasibleError
from simcore.schema import Schema

MOST_TAKEN = 0.9
"""Part of its cores, and of its memory bandwidth, that communication takes of a compute at most."""

PASSES, PASSES_REDUCING = 2.0, 2.5
"""Bytes read and written in memory for each byte sent, without buffers beside it. Who moves reads
what it sends and writes what it receives; who adds up also reads its own part of the sum, which is
the first half of an all-reduce.

Source: of the reads, 1.5 per byte sent by a ring all-reduce: S. Rashidi et al., "Enabling
Compute-Communication Overlap in Distributed Deep Learning Training Platforms", ISCA 2021."""


class Mover(Schema, ABC):
    """Facts on one kind of engine of an accelerator; ``movers`` of it names them by their kinds.

    A class of one's own has fields for what a file tells of its engine, and the answers below. None
    makes communication faster than links and memory are: rates are limits.

    Attributes:
        source: Where the values come from.
    """

    source: str = ""

    @property
    @abstractmethod
    def reduces(self) -> bool:
        """True if it adds up what it brings."""

    @property
    def moves_bytes_per_s(self) -> float:
        """Most that it sends in a network dimension, one direction; inf: all that links take."""
        return inf

    @property
    def reduces_bytes_per_s(self) -> float:
        """Most operands that it adds up, read and written; inf: as fast as the memory is."""
        return inf

    @property
    def takes_cores(self) -> float:
        """Part of the cores that compute loses while it works, from 0 to ``MOST_TAKEN``."""
        return 0.0

    @abstractmethod
    def memory_passes(self, *, reducing: bool) -> float:
        """Bytes read and written in the memory of an NPU, for each byte that it sends.

        Args:
            reducing: In an all-reduce, a reduce-scatter or a reduce.
        """

    def with_cores(self, taken: int, links_bytes_per_s: float) -> Self:
        """This engine with *taken* cores.

        Args:
            taken: How many.
            links_bytes_per_s: Of the accelerator in its scale-up domain; 0: not known.

        Raises:
            InfeasibleError: It takes none, or has not as many to spare.
        """
        reason = f"no cores move data, so that it cannot be {taken} of them"
        raise InfeasibleError("mover_cores", f"{reason}: leave system.mover_cores out")

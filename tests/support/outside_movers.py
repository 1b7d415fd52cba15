"""Engines from outside the product that move data."""

from simcore import Mover


class Nobody(Mover):
    """An engine as ideal as links and computes that do not touch each other."""

    @property
    def reduces(self) -> bool:
        return True

    def memory_passes(self, *, reducing: bool) -> float:
        return 0.0


class Dpu(Nobody):
    """A processor beside the accelerator with a rate of its own."""

    rate: float = 20e9

    @property
    def moves_bytes_per_s(self) -> float:
        return self.rate

"""A congestion control as a run sees it: its code, what its packets carry, its parameters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from simcore.packets.parameters import Parameters

Words = Mapping[int, int | float]
"""Values by word of the kernel's arena; those of double precision are floats."""


@dataclass(frozen=True)
class Control:
    """A congestion control whose rules are kernels, under ``kernels/packets/controls``.

    Attributes:
        code: Its number there, and in ``cc_mode``.
        words: Parameters of the kernel, from those of a run.
        telemetry_bytes: Bytes that data packets carry for it, and ACKs bring back.
        stamps_hops: Switches write a record into each data packet.
        needs_window: It cannot work without a window.
        hears_of_marks: Packets of their own may tell it of marks, in place of ACKs.
    """

    code: int
    words: Callable[[Parameters], Words] = lambda _: {}
    telemetry_bytes: int = 0
    stamps_hops: bool = False
    needs_window: bool = False
    hears_of_marks: bool = False

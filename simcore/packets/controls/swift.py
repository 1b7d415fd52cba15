"""Swift: a window that keeps the round trip at a target."""

from simcore.kernels.packets.controls import swift as k
from simcore.packets.controls.base import Control, Words
from simcore.packets.parameters import Parameters


def _words(run: Parameters) -> Words:
    return {
        k.BASE_NS: run.swift_base_ns,
        k.LINK_NS: run.swift_link_ns,
        k.RANGE_NS: run.swift_range_ns,
        k.RANGE_LEAST: float(run.swift_range_least),
        k.RANGE_MOST: float(run.swift_range_most),
        k.ADDITIVE: float(run.swift_ai),
        k.BETA: float(run.swift_beta),
        k.MOST_CUT: float(run.swift_most_cut),
        k.LEAST: float(run.swift_least),
        k.MOST: float(run.swift_most),
        k.MOST_TIMEOUTS: run.swift_most_timeouts,
    }


SWIFT = Control(k.CODE, _words, telemetry_bytes=8)  # the time at which a packet was sent

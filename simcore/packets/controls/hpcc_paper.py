"""HPCC as published: records of every hop set a window, and the rate that goes with it."""

from simcore.kernels.packets.controls import hpcc_paper as k
from simcore.packets.controls.base import Control, Words
from simcore.packets.controls.hpcc import TELEMETRY_BYTES
from simcore.packets.parameters import Parameters


def _words(run: Parameters) -> Words:
    return {
        k.TARGET: float(run.u_target),
        k.STAGES: run.mi_thresh,
        k.SHARE: (1.0 - run.u_target) / run.hpcc_flows,
        k.LEAST: run.min_rate,
    }


HPCC_PAPER = Control(
    k.CODE, _words, telemetry_bytes=TELEMETRY_BYTES, stamps_hops=True, needs_window=True
)

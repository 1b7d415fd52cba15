"""HPCC: records of every hop set the rate."""

from simcore.kernels.packets.controls import hpcc as k
from simcore.packets.controls.base import Control, Words
from simcore.packets.parameters import Parameters


def _words(run: Parameters) -> Words:
    return {
        k.TARGET: float(run.u_target),
        k.ADDITIVE: run.rate_ai,
        k.LEAST: run.min_rate,
        k.STAGES: run.mi_thresh,
        k.REACTS_FAST: run.fast_react,
        k.PER_HOP: run.multi_rate,
        k.SAMPLES: run.sample_feedback,
    }


TELEMETRY_BYTES = 42
"""Five records of 8 bytes and a count of 2, in full from the first hop on."""
HPCC = Control(k.CODE, _words, telemetry_bytes=TELEMETRY_BYTES, stamps_hops=True, needs_window=True)

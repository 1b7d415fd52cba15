"""TIMELY as published: a step for each completed segment."""

from simcore.kernels.packets.controls import timely_paper as k
from simcore.packets.controls.base import Control, Words
from simcore.packets.parameters import Parameters


def _words(run: Parameters) -> Words:
    return {
        k.ALPHA: float(run.timely_alpha),
        k.BETA: float(run.timely_beta),
        k.LOW_NS: run.timely_tlow_ns,
        k.HIGH_NS: run.timely_thigh_ns,
        k.LEAST_RTT_NS: run.timely_minrtt_ns,
        k.ADDITIVE: run.rate_ai,
        k.LEAST: run.min_rate,
        k.SEGMENT: run.timely_segment_bytes,
    }


TIMELY_PAPER = Control(k.CODE, _words, telemetry_bytes=8)  # the time at which a packet was sent

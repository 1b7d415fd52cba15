"""DCQCN as published: paced packets that tell of marks, timers and a byte counter."""

from simcore.kernels.packets.controls import dcqcn_paper as k
from simcore.packets.controls.base import Control, Words
from simcore.packets.parameters import Parameters


def _words(run: Parameters) -> Words:
    return {
        k.ALPHA_NS: 1000 * int(run.alpha_resume_interval),
        k.INCREASE_NS: 1000 * int(run.rp_timer),
        k.GAIN: float(run.ewma_gain),
        k.STAGES: run.fast_recovery_times,
        k.ADDITIVE: run.rate_ai,
        k.HYPER: run.rate_hai,
        k.LEAST: run.min_rate,
        k.COUNTED_BYTES: run.byte_counter,
    }


DCQCN_PAPER = Control(k.CODE, _words, hears_of_marks=True)

"""DCQCN: marks lower the rate, timers raise it."""

from simcore.kernels.packets.controls import dcqcn as k
from simcore.packets.controls.base import Control, Words
from simcore.packets.parameters import Parameters


def _words(run: Parameters) -> Words:
    return {
        k.ALPHA_NS: 1000 * int(run.alpha_resume_interval),
        k.DECREASE_NS: 1000 * int(run.rate_decrease_interval),
        k.INCREASE_NS: 1000 * int(run.rp_timer),
        k.GAIN: float(run.ewma_gain),
        k.STAGES: run.fast_recovery_times,
        k.ADDITIVE: run.rate_ai,
        k.HYPER: run.rate_hai,
        k.LEAST: run.min_rate,
        k.CLAMPS_TARGET: run.clamp_target_rate,
    }


DCQCN = Control(code=k.CODE, words=_words, hears_of_marks=True)

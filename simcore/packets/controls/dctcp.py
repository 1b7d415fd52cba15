"""DCTCP, pacing queue pairs: the share of marks lowers the rate."""

from simcore.kernels.packets.controls import dctcp as k
from simcore.packets.controls.base import Control, Words
from simcore.packets.parameters import Parameters


def _words(run: Parameters) -> Words:
    return {
        k.GAIN: float(run.ewma_gain),
        k.ADDITIVE: run.dctcp_rate_ai,
        k.LEAST: run.min_rate,
    }


DCTCP = Control(code=k.CODE, words=_words)

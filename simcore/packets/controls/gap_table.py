"""Congestion control of InfiniBand: marks told back move a flow along a table of gaps."""

from simcore.kernels.packets.controls import gap_table as k
from simcore.packets.controls.base import Control, Words
from simcore.packets.parameters import Parameters


def _words(run: Parameters) -> Words:
    return {
        k.STEP: run.ccti_increase,
        k.MOST_INDEX: run.ccti_limit,
        k.TIMER_NS: run.ccti_timer_ns,
        k.GAP: float(run.ccti_gap),
    }


INFINIBAND = Control(k.CODE, _words, hears_of_marks=True)

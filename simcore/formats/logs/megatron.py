"""Megatron-LM's training log.

Source: NVIDIA Megatron-LM, megatron/training/training.py, ``training_log``.
"""

import re

from simcore.formats.logs.base import Observed, settled

LINE = re.compile(r"elapsed time per iteration \(ms\):\s*([0-9.]+(?:[eE][+-]?[0-9]+)?)")
TOOL = "Megatron-LM"


def observed(text: str, at: str) -> Observed:
    """The time of one iteration.

    Raises:
        ConfigError: No line tells one.
    """
    steps_s = [float(found) * 1e-3 for found in LINE.findall(text)]
    what = "lines with 'elapsed time per iteration (ms)'"
    return Observed(tool=TOOL, steps=len(steps_s), step_s=settled(steps_s, at, what))

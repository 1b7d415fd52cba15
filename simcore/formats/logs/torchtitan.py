"""torchtitan's training log, with or without the codes of colours.

``tps`` counts the tokens of one accelerator per second, other axes than data parallelism included.

Source: PyTorch torchtitan, torchtitan/components/metrics.py, ``MetricsProcessor.log``.
"""

import re

from simcore.formats.logs.base import Observed, settled

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
LINE = re.compile(r"step:\s*\d+\s.*?\btps:\s*([0-9,]+(?:\.[0-9]+)?)")
TOOL = "torchtitan"


def plain(text: str) -> str:
    """*text* without the codes of colours."""
    return _COLOUR.sub("", text)


def observed(text: str, at: str) -> Observed:
    """The tokens per second of one accelerator.

    Raises:
        ConfigError: No line tells them.
    """
    rates = [float(found.replace(",", "")) for found in LINE.findall(plain(text))]
    rate = settled(rates, at, "lines with 'step:' and 'tps:'")
    return Observed(tool=TOOL, steps=len(rates), tokens_per_s_per_npu=rate)

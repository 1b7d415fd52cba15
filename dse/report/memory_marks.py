"""Marks of designs that are short of memory, wherever they are shown."""

from collections.abc import Mapping

_COUNTED = (
    ("memory_fill", "too small"),
    ("memory_fill_expected", "likely too small"),
    ("memory_fill_highest", "tight"),
)
"""Parts of the memory by what is counted, and the verdict where it is more than all of it."""


def memory_mark(metrics: Mapping[str, float]) -> str:
    """Verdict on the memory of a design, with the part of it that decides; empty: it suffices.

    Of several scenarios the worst decides.
    """
    for name, words in _COUNTED:
        fills = [fill for key, fill in metrics.items() if key.split("@")[0] == name]
        if fills and max(fills) > 1.0:
            return f"{words} ({max(fills):.0%})"
    return ""

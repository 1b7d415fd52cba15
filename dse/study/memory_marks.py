"""Marks of designs that are short of memory, wherever they are shown."""

from collections.abc import Mapping

_COUNTED = (
    ("memory_fill", "too small"),
    ("memory_fill_expected", "likely too small"),
    ("memory_fill_highest", "tight"),
)
"""Parts of the memory by what is counted, and the verdict where it is more than all of it."""

_NAMED = (
    ("memory_fill", "of what there is"),
    ("memory_fill_expected", "with buffers and workspace"),
    ("memory_fill_highest", "with fragments"),
)
"""Words for these parts."""


def memory_mark(metrics: Mapping[str, float]) -> str:
    """Verdict on the memory of a design, with the part of it that decides; empty: it suffices.

    Of several scenarios the worst decides.
    """
    found = [(key, fill) for key, fill in metrics.items() if key.startswith("memory_fill")]
    for name, words in _COUNTED:
        fills = [fill for key, fill in found if key.split("@")[0] == name]
        if fills and max(fills) > 1.0:
            return f"{words} ({max(fills):.0%})"
    return ""


def memory_told(metrics: Mapping[str, float]) -> str:
    """Parts of the memory that a design takes, as far as they are known, with the verdict.

    Counted are tensors; buffers of communication, context and workspace beside them; fragments.
    """
    told = [
        f"{max(fills):.1%} {words}"
        for name, words in _NAMED
        if (fills := [fill for key, fill in metrics.items() if key.split("@")[0] == name])
    ]
    mark = memory_mark(metrics)
    return ", ".join(told) + (f": {mark}" if mark else "")

"""Text output of nccl-tests (``all_reduce_perf`` and the like).

A line holds size, count, type, operation and root, then time in us, algorithm and bus bandwidth in
GB/s and errors, out of place and in place. Columns that a collective has not (operation, root) are
left out by some of its programs, so figures are counted from the end.

Source: NVIDIA nccl-tests, src/common.cu, and its doc/PERFORMANCE.md.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from simcore.errors import ConfigError

TOOL = "nccl-tests"
HEADER = re.compile(r"^#\s+size\s+count\s+type", re.MULTILINE)
_NAME = re.compile(r"\b(all_reduce|all_gather|reduce_scatter|alltoall|broadcast|sendrecv)_perf\b")
_NAMES = {"alltoall": "all_to_all"}
_OUT_OF_PLACE, _FIGURES = -8, 8


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedCollective:
    """One line of the output.

    Attributes:
        collective: Its name; empty where the output does not tell it.
        size_bytes: Buffer, as nccl-tests counts it.
        time_s: Of one call, out of place.
    """

    collective: str
    size_bytes: int
    time_s: float


def timed_collectives(text: str, at: str) -> tuple[TimedCollective, ...]:
    """The lines of the output of one program.

    Raises:
        ConfigError: It is none, no line tells a time, or one tells wrong results.
    """
    if not HEADER.search(text):
        raise ConfigError(at, "must hold nccl-tests' table ('# size count type ...')", got="none")
    named = _NAME.search(text)
    name = _NAMES.get(named[1], named[1]) if named else ""
    found = tuple(_lines(text, at, name))
    if not found:
        raise ConfigError(at, "must hold a line with a size and a time", got="none")
    return found


def _lines(text: str, at: str, name: str) -> Iterator[TimedCollective]:
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or not words[0].isdigit() or len(words) < _FIGURES + 3:
            continue
        time_us, wrong = words[_OUT_OF_PLACE], (words[_OUT_OF_PLACE + 3], words[-1])
        try:
            size, time_s = int(words[0]), float(time_us) * 1e-6
        except ValueError:
            raise ConfigError(f"{at}:{number}", "must hold a time in us", got=time_us) from None
        for place, count in zip(("out of place", "in place"), wrong, strict=True):
            if count not in ("0", "N/A"):
                rule = f"must hold no wrong results {place}"
                raise ConfigError(f"{at}:{number}", rule, got=count)
        if size > 0 and time_s > 0:
            yield TimedCollective(collective=name, size_bytes=size, time_s=time_s)

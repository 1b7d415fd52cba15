"""Check for a log beside a store that has lost its end to damage.

SQLite takes a log up to its first damaged frame, without a word: what was committed behind it is
gone. Whoever only reads is told so; a study that is resumed evaluates again what is missing.

Format: https://www.sqlite.org/fileformat2.html#walformat
"""

import time
from array import array
from pathlib import Path
from sys import byteorder

from dse.store.errors import LOG_RULE
from simcore import ConfigError

_MAGIC = 0x377F0682
"""The first four bytes, whose last bit says which byte of a word comes first."""

_HEADER_BYTES, _FRAME_HEADER_BYTES = 32, 24
_TRIES, _WAIT_S = 3, 0.1
"""A driver that is writing a frame has done so a little later."""

_Sums = tuple[int, int]


def check_log(store: Path) -> None:
    """See that SQLite reads the log of *store* to its end.

    Raises:
        ConfigError: It is damaged.
        OSError: It cannot be read.
    """
    path = store.with_name(f"{store.name}-wal")
    for _ in range(_TRIES):
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return
        if not (place := _damaged_byte(data)):
            return
        time.sleep(_WAIT_S)
    raise ConfigError(str(path), LOG_RULE, got=f"damage before byte {place}")


def _damaged_byte(data: bytes) -> int:
    """Where a frame ends that should follow those before it, but does not; 0: nowhere."""
    if len(data) <= _HEADER_BYTES:
        return 0
    magic, page_bytes = int.from_bytes(data[:4], "big"), int.from_bytes(data[8:12], "big")
    order = "big" if magic & 1 else "little"
    sums = _summed(data[:24], (0, 0), order)
    if magic & ~1 != _MAGIC or not page_bytes or sums != _sums_at(data, 24):
        return _HEADER_BYTES
    is_whole, size = True, _FRAME_HEADER_BYTES + page_bytes
    for at in range(_HEADER_BYTES, len(data) - size + 1, size):
        salts = data[at + 8 : at + 16]
        if is_whole and salts == data[16:24]:
            sums = _summed(data[at : at + 8] + data[at + 24 : at + size], sums, order)
            if sums == _sums_at(data, at + 16):
                continue
        is_whole = False
        # frames from before the last checkpoint share neither of the two numbers
        if salts[:4] == data[16:20] or salts[4:] == data[20:24]:
            return at + size
    return 0


def _sums_at(data: bytes, at: int) -> _Sums:
    return int.from_bytes(data[at : at + 4], "big"), int.from_bytes(data[at + 4 : at + 8], "big")


def _summed(data: bytes, sums: _Sums, order: str) -> _Sums:
    words = array("I", data)
    if order != byteorder:
        words.byteswap()
    first, second = sums
    pairs = iter(words)
    for one, two in zip(pairs, pairs, strict=True):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + two + first) & 0xFFFFFFFF
    return first, second

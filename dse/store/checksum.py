"""Checksums: of every row, and of all rows of a table together.

A row's own checksum tells a value that has changed; the total of a table, which is kept in its
``seal``, tells rows that are missing, old or too many. Both find accidents, not forgers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from marshal import dumps
from typing import Any
from zlib import crc32

Row = tuple[Any, ...]
"""Of any table: its second value is the checksum of the others."""


_FORM = 2
"""Of ``marshal``: types and values, floats as their 8 bytes; the same since Python 2.5."""


def sealed_row(table: str, values: Row) -> Row:
    """The row of *table* with *values*: texts, integers, floats and nothing."""
    return values[0], _checksum(table, values[:1], values[1:]), *values[1:]


def is_sound(table: str, row: Row) -> bool:
    """Whether a row of *table* is as it was written."""
    return bool(row[1] == _checksum(table, row[:1], row[2:]))


def _checksum(table: str, first: Row, rest: Row) -> int:
    """CRC-32: tells any three flipped bits, any 32 in a row, and of all else 1 in 2^32 not."""
    return crc32(dumps((table, *first, *rest), _FORM))


@dataclass(frozen=True, slots=True)
class Total:
    """What the rows of a table come to, in whatever order.

    Attributes:
        rows: Their number.
        checksums: The sum of their checksums.
    """

    rows: int = 0
    checksums: int = 0

    def plus(self, rows: Sequence[Row]) -> "Total":
        """With more rows."""
        return Total(self.rows + len(rows), self.checksums + sum(row[1] for row in rows))

    def minus(self, rows: Sequence[Row]) -> "Total":
        """Without some of its rows."""
        return Total(self.rows - len(rows), self.checksums - sum(row[1] for row in rows))

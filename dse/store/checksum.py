"""Checksums: of every row, and of all rows of a table together.

A row's own checksum tells a value that has changed; the total of a table, which is kept in its
``seal``, tells rows that are missing, old or too many. Both find accidents, not forgers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from marshal import dumps
from typing import Any
from zlib import crc32

Row = tuple[Any, ...]
"""Row of any table: its first value is the checksum of the others."""

_FORM = 2
"""Form of ``marshal``: types and values, floats as their 8 bytes; equal since Python 2.5."""


def sealed_row(table: str, values: Row) -> Row:
    """The row of *table* with *values*: texts, integers, floats and nothing.

    Its checksum is a CRC-32, which tells any three flipped bits, any 32 in a row, and of all other
    changes all but 1 in 2^32.
    """
    return crc32(dumps(values, _FORM), _start(table)), *values


def unsound_rows(table: str, rows: Iterable[Row]) -> list[Row]:
    """Rows of *table* that are not as they were written."""
    start = _start(table)
    return [row for row in rows if row[0] != crc32(dumps(row[1:], _FORM), start)]


def _start(table: str) -> int:
    """What checksums of *table* start from, so that no row passes in another one."""
    return crc32(table.encode())


@dataclass(frozen=True, slots=True)
class Total:
    """Checksum of the rows of a table, in any order.

    Attributes:
        rows: Their number.
        checksums: The sum of their checksums.
    """

    rows: int = 0
    checksums: int = 0

    def plus(self, rows: Sequence[Row]) -> "Total":
        """With more rows."""
        return Total(self.rows + len(rows), self.checksums + sum(row[0] for row in rows))

    def minus(self, rows: Sequence[Row]) -> "Total":
        """Without some of its rows."""
        return Total(self.rows - len(rows), self.checksums - sum(row[0] for row in rows))

"""Rows of many trials in one compressed value, which a store takes without looking into it."""

import json
import zlib
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.store.rows import Row, Total, sealed_row
from dse.store.texts import encode
from dse.study.kept import Named

LEAST, MOST = 16, 1024
"""Rows of one value: fewer take as little time one by one, more much memory at once."""

MOST_BYTES = 1 << 23
"""Longest text that is packed, so that a stranger's file cannot fill the memory."""

_LEVEL = 1
"""Level of compression: a higher one saves a sixth, and takes three times as long."""

_COLUMN, _VALUE = "\x1e", "\x1f"
"""Ends of columns, and what texts of one begin with; rows with such texts are not packed."""

_decode = json.JSONDecoder().decode


class Packed(NamedTuple):
    """Rows of trials as one row of the table ``packed``.

    Attributes:
        row: That row: least and greatest number, count and checksums of them, and these as a text,
            compressed: column by column, numbers as JSON, texts one behind the other.
        numbers: (N,) of the trials.
        checksums: (N,) of their rows.
    """

    row: Row
    numbers: NDArray[np.int64]
    checksums: NDArray[np.uint32]

    @property
    def total(self) -> Total:
        """Number and checksum of the rows."""
        return Total(*self.row[3:5])


@dataclass(frozen=True, slots=True)
class ManyRows:
    """Rows of many trials, packed where that pays.

    Attributes:
        plain: Those that stay as they are.
        packed: The others.
        named: Names of the constraints and metrics of all, each with the part that it belongs to.
    """

    plain: Sequence[Row]
    packed: Sequence[Packed]
    named: Named

    def __len__(self) -> int:
        return len(self.plain) + sum(one.total.rows for one in self.packed)

    def only(self, numbers: Container[int]) -> "ManyRows":
        """Rows with such *numbers* alone, none of them packed."""
        every = chain(self.plain, unpack_rows(one.row for one in self.packed))
        return replace(self, plain=[row for row in every if row[1] in numbers], packed=())


def pack_rows(rows: Sequence[Row], named: Named) -> ManyRows:
    """Pack all *rows* but those that are few, or odd.

    Args:
        rows: The rows.
        named: Names of their constraints and metrics.
    """
    plain, packed = list[Row](), list[Packed]()
    for first in range(0, len(rows), MOST):
        part = rows[first : first + MOST]
        columns = zip(*part, strict=True) if len(part) >= LEAST else ()
        text = _COLUMN.join(map(_column, columns)).encode()
        if 0 < len(text) <= MOST_BYTES and _are_ends(text, part):
            packed.append(_packed(part, text))
        else:
            plain += part
    return ManyRows(plain, packed, named)


def _are_ends(text: bytes, rows: Sequence[Row]) -> bool:
    """True if no text of *rows* holds what ends columns, or begins texts, in the *text* of all."""
    texts = len(rows) * sum(value.__class__ is str for value in rows[0])
    ends = text.count(_COLUMN.encode()), text.count(_VALUE.encode())
    return ends == (len(rows[0]) - 1, texts)


def _column(values: Sequence[Any]) -> str:
    """Texts, or numbers and nothing, of some rows as one text."""
    if values[0].__class__ is str:
        return _VALUE + _VALUE.join(values)
    return encode(values)


def _values(column: str) -> list[Any]:
    """Values that a text of ``_column`` is of."""
    found: list[Any] = column.split(_VALUE)[1:] or _decode(column)
    return found


def _packed(rows: Sequence[Row], text: bytes) -> Packed:
    numbers, total = [row[1] for row in rows], Total().plus(rows)
    header = min(numbers), max(numbers), total.rows, total.checksums
    row = sealed_row("packed", (*header, zlib.compress(text, _LEVEL)))
    checksums = np.array([row[0] for row in rows], np.uint32)
    return Packed(row, np.array(numbers, np.int64), checksums)


def unpack_rows(packed: Iterable[Row]) -> Iterator[Row]:
    """Rows of trials that rows of the table ``packed`` hold.

    Raises:
        ValueError: One of these holds something else.
    """
    for _, first, last, count, checksums, data in packed:
        try:
            columns = _text(data).split(_COLUMN)
            rows = list(zip(*map(_values, columns), strict=True))
            numbers = [row[1] for row in rows]
            is_told = (min(numbers), max(numbers)) == (first, last)
            is_told = is_told and Total().plus(rows) == Total(count, checksums)
        except (TypeError, IndexError, RecursionError, zlib.error) as error:
            raise ValueError(f"packed rows: {error}") from None
        if not is_told:
            raise ValueError("packed rows that are not those told")
        yield from rows


def _text(data: bytes) -> str:
    """Text that is compressed, if that is all and not too long."""
    unpacking = zlib.decompressobj()
    text = unpacking.decompress(data, MOST_BYTES)
    if not unpacking.eof or unpacking.unused_data:
        raise ValueError("packed rows that are too long, or cut off")
    return text.decode()

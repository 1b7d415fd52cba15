"""Reads a store; what is not as it was written is told, never passed on."""

import sqlite3
import time
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from heapq import merge
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from sys import byteorder
from typing import TypeVar

from dse.store.database import MAX_FIELDS, open_to_read
from dse.store.errors import LOG_RULE, damaged, told_of_store
from dse.store.rows import Row, Total, end_of, trials_of, unsound_rows
from dse.store.unpacked import Unpacked
from dse.study.trials import Trial
from simcore import ConfigError, no_collection

_TOGETHER = 256
"""Rows that are decoded at once."""

_LEAST_NUMBER = -(2**63)

T = TypeVar("T")


class StoreReader:
    """One state of a store, whatever a driver writes meanwhile; packed rows are as all others."""

    def __init__(self, connection: sqlite3.Connection, path: Path, unpacked: Unpacked) -> None:
        self._connection, self._path = connection, path
        self._unpacked, self._is_unpacked = unpacked, False
        connection.execute("BEGIN")
        self._totals = {}
        for seal in connection.execute("SELECT * FROM seal").fetchall():
            if unsound_rows("seal", [seal]):
                raise damaged(path, f"a seal of the table {seal[1]} that is not as it was written")
            self._totals[seal[1]] = Total(*seal[2:])

    def values(self) -> dict[str, str]:
        """Notes on the study as a whole, by name."""
        return {name: value for _, name, value in self._whole("study")}

    def fields(self) -> list[tuple[str, str]]:
        """Parts and names of constraints and metrics, in the order of the names."""
        if self._total("field").rows > MAX_FIELDS:
            what = f"more than {MAX_FIELDS} names of constraints and metrics"
            raise damaged(self._path, what)
        found = [(part, name) for _, part, name in self._whole("field")]
        return sorted(found, key=lambda field: field[1])

    def count(self) -> int:
        """Number of trials."""
        return self._total("trial").rows

    def trials(
        self, table: str = "trial", where: Callable[[Row], bool] | None = None
    ) -> Iterator[Trial]:
        """Trials of *table* in ask order, those with *where*; all rows are checked."""
        for part in self._sound_rows(table):
            if chosen := part if where is None else list(filter(where, part)):
                with no_collection():
                    trials = list(trials_of(chosen))
                yield from trials

    def total(self, table: str = "trial") -> Total:
        """Number and checksum of the rows of *table*: they change with every row."""
        return self._total(table)

    def rows_from(self, number: int) -> list[Row]:
        """Rows of trials from *number* on, each checked by itself, in ask order."""
        rows = list(self._trial_rows(number))
        self._check("trial", rows)
        return rows

    def refined_rows(self) -> list[Row]:
        """Rows of designs that were judged again, in the order of judging."""
        return self._whole("refined")

    def numbers(self) -> Iterator[int]:
        """Numbers of all trials that are no repeats, in ask order; not checked by themselves."""
        if self._total("packed").rows:
            yield from (row[1] for row in self._trial_rows(0) if row[-2] is None)
            return
        statement = "SELECT number FROM trial WHERE repeats IS NULL ORDER BY number"
        for row in self._connection.execute(statement):
            yield row[0]

    def numbered(self, numbers: Iterable[int]) -> Iterator[tuple[Trial, float]]:
        """The trials with *numbers*, in their order, and the Unix times at which they came in."""
        statement = "SELECT * FROM trial WHERE number = ?"
        for number in numbers:
            rows = self._connection.execute(statement, (number,)).fetchall()
            rows = rows or self._with_unpacked().row(number)
            if len(rows) != 1:
                raise damaged(self._path, f"no trial {number}")
            self._check("trial", rows)
            yield next(trials_of(rows)), end_of(rows[0])

    def check(self) -> None:
        """See whether the store can be built upon: what is not rows of trials is checked here.

        Raises:
            ConfigError: It is damaged.
        """
        if self._connection.execute("PRAGMA freelist_count").fetchone()[0]:
            # rows that come are written to free pages, which nobody reads and no checksum covers
            found = self._connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if found != "ok":
                raise damaged(self._path, found)
        for table in ("study", "field", "event"):
            self._whole(table)

    def _total(self, table: str) -> Total:
        if table not in self._totals:
            raise damaged(self._path, f"no seal of the table {table}")
        return self._totals[table]

    def _with_unpacked(self) -> Unpacked:
        """Rows of trials that the store holds packed."""
        if not self._is_unpacked:
            self._unpacked.update(self._connection, self._path, self._total("packed"))
            self._is_unpacked = True
        return self._unpacked

    def _trial_rows(self, number: int) -> Iterator[Row]:
        """Rows of trials from *number* on, in ask order, packed or not."""
        statement = "SELECT * FROM trial WHERE number >= ? ORDER BY number"
        plain = self._connection.execute(statement, (number,))
        packed = self._with_unpacked().rows(number)
        if not self._total("packed").rows:
            return plain
        every = groupby(merge(plain, packed, key=itemgetter(1)), key=itemgetter(1))
        return (next(rows) for _, rows in every)  # packed ones come behind those by themselves

    def _sound_rows(self, table: str) -> Iterator[list[Row]]:
        """All rows of ``trial`` or ``refined``, part by part."""
        if table == "trial":
            rows = self._trial_rows(_LEAST_NUMBER)
        else:
            rows = self._connection.execute(f"SELECT * FROM {table} ORDER BY number")
        total, last = Total(), -1
        while part := list(islice(rows, _TOGETHER)):
            self._check(table, part)
            numbers = [last, *(row[1] for row in part)]
            if numbers != sorted(numbers):  # pages have changed places
                raise damaged(self._path, f"rows of the table {table} out of order")
            last = numbers[-1]
            total = total.plus(part)
            yield part
        self._compare(table, total)

    def _check(self, table: str, rows: Iterable[Row]) -> None:
        if unsound := unsound_rows(table, rows):
            raise damaged(self._path, f"trial {unsound[0][1]} is not as it was written")

    def _whole(self, table: str) -> list[Row]:
        """All rows of one of the small tables."""
        rows = self._connection.execute(f"SELECT * FROM {table}").fetchall()
        if unsound_rows(table, rows):
            what = f"a row of the table {table} that is not as it was written"
            raise damaged(self._path, what)
        self._compare(table, Total().plus(rows))
        return rows

    def _compare(self, table: str, found: Total) -> None:
        sealed = self._total(table)
        if found != sealed:
            what = f"{found.rows} rows of the table {table}, of which {sealed.rows} were written"
            if found.rows == sealed.rows:
                what = f"rows of the table {table} that are not the last ones written"
            raise damaged(self._path, what)


@contextmanager
def reading(
    path: Path, unpacked: Unpacked | None = None, *, to_mend: bool = False
) -> Iterator[StoreReader]:
    """The store at *path*, to be read.

    Args:
        path: The store.
        unpacked: Keeps what was packed, for those who read again; None: nobody does.
        to_mend: Whether what a damaged log has lost will be evaluated again.

    Raises:
        ConfigError: There is none, or it is damaged, no store or of another format.
    """
    with told_of_store(path):
        connection = open_to_read(path)
        try:
            if not to_mend:
                check_log(path)
            yield StoreReader(connection, path, unpacked or Unpacked())
        except ConfigError:
            raise
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise damaged(path, str(error)) from None
        finally:
            connection.close()


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
    """End of a frame that should follow those before it, but does not; 0: none."""
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

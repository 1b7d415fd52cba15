"""Reads a store; what is not as it was written is told, never passed on."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from dse.garbage import no_collection
from dse.store.checksum import Row, Total, unsound_rows
from dse.store.database import MAX_FIELDS, open_to_read
from dse.store.errors import damaged, told_of_store
from dse.store.log import check_log
from dse.store.rows import trials_of
from dse.study.trials import Trial
from simcore import ConfigError

_TOGETHER = 256
"""Rows that are decoded at once."""

T = TypeVar("T")


class StoreReader:
    """One state of a store, whatever a driver writes meanwhile."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self._path = connection, path
        connection.execute("BEGIN")
        self._totals = {}
        for seal in connection.execute("SELECT * FROM seal").fetchall():
            if unsound_rows("seal", [seal]):
                raise damaged(path, f"a seal of the table {seal[1]} that is not as it was written")
            self._totals[seal[1]] = Total(*seal[2:])

    def values(self) -> dict[str, str]:
        """What is noted of the study as a whole, by name."""
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

    def numbers(self) -> Iterator[int]:
        """Numbers of all trials that are no repeats, in ask order; not checked by themselves."""
        statement = "SELECT number FROM trial WHERE repeats IS NULL ORDER BY number"
        for row in self._connection.execute(statement):
            yield row[0]

    def numbered(self, numbers: Iterable[int]) -> Iterator[Trial]:
        """The trials with *numbers*, in their order."""
        statement = "SELECT * FROM trial WHERE number = ?"
        for number in numbers:
            rows = self._connection.execute(statement, (number,)).fetchall()
            if len(rows) != 1:
                raise damaged(self._path, f"no trial {number}")
            self._check("trial", rows)
            yield from trials_of(rows)

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

    def _sound_rows(self, table: str) -> Iterator[list[Row]]:
        """All rows of ``trial`` or ``refined``, part by part."""
        rows = self._connection.execute(f"SELECT * FROM {table} ORDER BY number")
        total, last = Total(), -1
        while part := rows.fetchmany(_TOGETHER):
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
def reading(path: Path, *, to_mend: bool = False) -> Iterator[StoreReader]:
    """The store at *path*, to be read.

    Args:
        path: The store.
        to_mend: Whether what a damaged log has lost will be evaluated again.

    Raises:
        ConfigError: There is none, or it is damaged, no store or of another format.
    """
    with told_of_store(path):
        connection = open_to_read(path)
        try:
            if not to_mend:
                check_log(path)
            yield StoreReader(connection, path)
        except ConfigError:
            raise
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise damaged(path, str(error)) from None
        finally:
            connection.close()

"""Packed rows of a store that somebody reads, each unpacked once."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from dse.store.database import TRIALS_BY_THEMSELVES
from dse.store.errors import StoreError, damaged
from dse.store.packed import unpack_rows
from dse.store.rows import Row, Total, unsound_rows

_UNFIT = (sqlite3.IntegrityError, sqlite3.InterfaceError, sqlite3.ProgrammingError)
"""Errors of SQLite over rows that are none of trials."""

_FAST = "PRAGMA journal_mode = MEMORY; PRAGMA cache_size = -32768; PRAGMA page_size = 16384;"
"""Settings of a database that nobody has to find again; its cache in kB."""


class Unpacked:
    """Rows of trials that a store holds packed, in the order of their numbers.

    They lie in a temporary file, which SQLite makes where there are many. Those who read a store
    again and again keep it: what has been unpacked stays.
    """

    def __init__(self) -> None:
        self._rows: sqlite3.Connection | None = None
        self._held: dict[int, int] = {}  # checksums of packed values, by the numbers of their rows

    def update(self, store: sqlite3.Connection, path: Path, sealed: Total) -> None:
        """Take in what is packed in *store* now, which is *sealed*.

        Raises:
            ConfigError: That is damaged.
            StoreError: There is no room for it.
        """
        every = dict(store.execute("SELECT rowid, checksum FROM packed").fetchall())
        if Total(len(every), sum(every.values())) != sealed:
            what = f"{len(every)} packed values that are not the {sealed.rows} that were written"
            raise damaged(path, what)
        gone = [one for one, checksum in self._held.items() if every.get(one) != checksum]
        if gone and self._rows is not None:
            listed = ", ".join(map(str, gone))
            self._rows.execute(f"DELETE FROM trial WHERE value IN ({listed})")
        for one in gone:
            del self._held[one]
        for one in every.keys() - self._held.keys():
            self._take(store, path, one)
            self._held[one] = every[one]

    def _take(self, store: sqlite3.Connection, path: Path, one: int) -> None:
        found = store.execute("SELECT * FROM packed WHERE rowid = ?", (one,)).fetchall()
        if unsound_rows("packed", found):
            first, last = found[0][1:3]
            what = f"packed trials from {first} to {last} that are not as they were written"
            raise damaged(path, what)
        if self._rows is None:
            # a temporary database: nobody else sees it, and it goes with the connection
            self._rows = sqlite3.connect("", isolation_level=None, check_same_thread=False)
            self._rows.executescript(_FAST + TRIALS_BY_THEMSELVES)
        self._rows.execute("BEGIN")
        try:
            rows = [(*row, one) for row in unpack_rows(found)]
            places = ", ".join("?" * len(rows[0]))
            self._rows.executemany(f"INSERT INTO trial VALUES ({places})", rows)
            self._rows.execute("COMMIT")
        except (*_UNFIT, OverflowError) as error:
            raise damaged(path, f"packed rows: {error}") from None
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_ERROR:  # another number of columns
                raise damaged(path, f"packed rows: {error}") from None
            rule = "must name a folder with room for the packed rows of a store that is read"
            raise StoreError("TMPDIR", rule, got=str(error)) from None
        finally:
            if self._rows.in_transaction:
                self._rows.execute("ROLLBACK")

    def rows(self, number: int) -> Iterator[Row]:
        """All rows from *number* on."""
        if self._rows is None or not self._held:
            return iter(())
        statement = "SELECT * FROM trial WHERE number >= ? ORDER BY number"
        return (row[:-1] for row in self._rows.execute(statement, (number,)))

    def row(self, number: int) -> list[Row]:
        """The row with this number, or none."""
        if self._rows is None:
            return []
        statement = "SELECT * FROM trial WHERE number = ?"
        return [row[:-1] for row in self._rows.execute(statement, (number,))]

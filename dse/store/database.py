"""The SQLite file of a study: its tables, and how it is opened."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dse.plain_files import check_database
from dse.store.errors import damaged, told_of_store
from dse.store.rows import sealed_row
from simcore import ConfigError

_APPLICATION = 0x64736573
FORMAT = 8
"""Format of the tables below; a file of another one is refused."""

_PAGE_BYTES = 16384
"""Page of a new store: its rows of 2 to 3 kB fill pages of the usual 4 kB badly, a third of which
stays empty, and each page costs the writer two calls."""

MAX_TEXT_BYTES = 16 * 1024 * 1024
"""Longest text or blob that a store may hold, so that a stranger's file cannot fill the memory."""

MAX_FIELDS = 4096
"""Most names of constraints and metrics, each a column of every table."""

_OUTCOME = """  params TEXT NOT NULL,
  state TEXT NOT NULL,
  objectives TEXT NOT NULL,
  constraints TEXT NOT NULL,
  metrics TEXT NOT NULL,
  fidelity TEXT NOT NULL,
  notes TEXT NOT NULL,
  failure TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  reason TEXT NOT NULL,
  worker TEXT NOT NULL,
  duration_s REAL NOT NULL,
  finished_unix_s REAL NOT NULL,
  repeats INTEGER,
  provenance INTEGER NOT NULL"""
"""Outcome of a design; in ``refined``, of one that was judged again at a finer level."""

_COLUMNS = {
    "study": "name TEXT NOT NULL, value TEXT NOT NULL",
    "trial": f"number INTEGER NOT NULL, {_OUTCOME}",
    "refined": f"number INTEGER NOT NULL, {_OUTCOME}",
    "field": "part TEXT NOT NULL, name TEXT NOT NULL",
    "packed": "first INTEGER NOT NULL, last INTEGER NOT NULL, count INTEGER NOT NULL, "
    "checksums INTEGER NOT NULL, rows BLOB NOT NULL",
    "event": "unix_s REAL NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL",
    "seal": "name TEXT NOT NULL, rows INTEGER NOT NULL, checksums INTEGER NOT NULL",
}
"""Columns of each table, behind the checksum of a row.

``packed`` holds rows of ``trial``, many in one row of its own, until a driver that has nothing else
to do turns them into rows by themselves; one that ``trial`` has stands in the place of a packed one
with its number. ``seal`` holds the totals of the others; that of ``trial`` counts packed rows, too.
"""

_SCHEMA = {
    name: f"CREATE TABLE {name} (checksum INTEGER NOT NULL, {columns})"
    for name, columns in _COLUMNS.items()
}

_SCHEMA["trial_by_number"] = "CREATE UNIQUE INDEX trial_by_number ON trial (number)"
"""Order of the trials, whose rows lie as they came: those of many islands at once have numbers far
apart, and a page that was to hold them in order would be written once for each."""

TRIALS_BY_THEMSELVES = f"""
CREATE TABLE trial (checksum INTEGER NOT NULL, {_COLUMNS["trial"]}, value INTEGER NOT NULL);
CREATE UNIQUE INDEX trial_by_number ON trial (number)"""
"""Rows of trials out of packed values, with the number of theirs."""

SEALED = tuple(name for name in _COLUMNS if name != "seal")


def open_to_write(path: Path) -> sqlite3.Connection:
    """The store at *path*, made if there is none.

    Readers never wait for the writer nor it for them: the write-ahead log is on. A committed row
    survives the death of the process at any instant; the file stays sound if the machine dies.

    Raises:
        ConfigError: It is damaged, no store, of another format, or a link.
        StoreError: It cannot be written.
    """
    check_database(path, to_write=True)
    with told_of_store(path):
        connection = sqlite3.connect(path, isolation_level=None)
        try:
            if _is_empty(connection):
                connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
                _create(connection)
            _check(connection, path)  # before anything of another program's file is changed
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            # nothing of a transaction that was cut off stays in the log behind what comes
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except BaseException:
            connection.close()
            raise
        return connection


def _is_empty(connection: sqlite3.Connection) -> bool:
    found: int = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    return not found and not connection.execute("PRAGMA application_id").fetchone()[0]


def _create(connection: sqlite3.Connection) -> None:
    header = f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {FORMAT}"
    connection.executescript(f"BEGIN; {'; '.join(_SCHEMA.values())}; {header}")
    for name in SEALED:
        seal = sealed_row("seal", (name, 0, 0))
        connection.execute("INSERT INTO seal VALUES (?, ?, ?, ?)", seal)
    connection.execute("COMMIT")


def open_to_read(path: Path) -> sqlite3.Connection:
    """The store at *path*, for reading only; works beside a driver and in read-only folders.

    Raises:
        ConfigError: There is none, or it is damaged, no store, of another format, or a link.
    """
    check_database(path, to_write=False)
    if not path.exists():
        raise ConfigError(str(path), "must be the store of a study", got="no file")
    address = path.resolve().as_uri()
    with told_of_store(path):
        connection = sqlite3.connect(f"{address}?mode=ro", uri=True, isolation_level=None)
        try:
            connection.execute("SELECT count(*) FROM sqlite_schema")
        except sqlite3.OperationalError:
            # without a log that is being written, a file in a read-only folder does not change
            connection.close()
            connection = sqlite3.connect(f"{address}?immutable=1", uri=True, isolation_level=None)
        try:
            _check(connection, path)
        except BaseException:
            connection.close()
            raise
        return connection


def _check(connection: sqlite3.Connection, path: Path) -> None:
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_TEXT_BYTES)
    found = [
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("application_id", "user_version")
    ]
    if found != [_APPLICATION, FORMAT]:
        rule = f"must be a store of format {FORMAT} (export another one with the version of "
        rule += "simcore-dse that wrote it, or start anew with --out)"
        raise ConfigError(str(path), rule, got=f"format {found[1]} of application {found[0]:#x}")
    schema: Sequence[Any] = connection.execute("SELECT name, sql FROM sqlite_schema").fetchall()
    if dict(schema) != _SCHEMA or len(schema) != len(_SCHEMA):
        raise damaged(path, "other tables")
    encoding = connection.execute("PRAGMA encoding").fetchone()[0]
    if encoding != "UTF-8":
        raise damaged(path, f"texts in {encoding}")

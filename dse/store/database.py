"""The SQLite file of a study: its tables, and how it is opened."""

import sqlite3
from pathlib import Path

from dse.store.errors import told_of_store
from simcore import ConfigError

_APPLICATION = 0x64736573
FORMAT = 3
"""Of the tables below; a file of another format is refused."""

MAX_TEXT_BYTES = 16 * 1024 * 1024
"""Longest text or blob that a store may hold, so that a stranger's file cannot fill the memory."""

MAX_FIELDS = 4096
"""Most names of constraints and metrics, each a column of every table."""

_OUTCOME = """
  key BLOB NOT NULL,
  params TEXT NOT NULL,
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
  repeats INTEGER
"""
"""What became of a design; in ``refined``, of one that was judged again at a finer level."""

_TABLES = f"""
CREATE TABLE study (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE trial (number INTEGER PRIMARY KEY, {_OUTCOME});
CREATE TABLE refined (number INTEGER, {_OUTCOME}, PRIMARY KEY (fidelity, number));
CREATE UNIQUE INDEX one_result_per_design ON trial (key) WHERE repeats IS NULL;
CREATE TABLE field (part TEXT, name TEXT, PRIMARY KEY (part, name));
CREATE TABLE event (unix_s REAL NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL);
"""


def open_to_write(path: Path) -> sqlite3.Connection:
    """The store at *path*, made if there is none.

    Readers never wait for the writer nor it for them: the write-ahead log is on. A committed row
    survives the death of the process at any instant; the file stays sound if the machine dies.

    Raises:
        ConfigError: It is damaged, no store, or of another format.
        StoreError: It cannot be written.
    """
    with told_of_store(path):
        connection = sqlite3.connect(path, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            if not connection.execute("PRAGMA user_version").fetchone()[0]:
                header = f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {FORMAT};"
                connection.executescript(f"BEGIN; {_TABLES} {header} COMMIT;")
            _check(connection, path)
        except BaseException:
            connection.close()
            raise
        return connection


def open_to_read(path: Path) -> sqlite3.Connection:
    """The store at *path*, for reading only; works beside a driver and in read-only folders.

    Raises:
        ConfigError: There is none, or it is damaged, no store, or of another format.
    """
    if not path.is_file():
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
        rule = f"must be a store of format {FORMAT}"
        raise ConfigError(str(path), rule, got=f"format {found[1]} of application {found[0]:#x}")

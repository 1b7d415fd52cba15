"""Writes trials and events in batches, so that storing costs next to nothing."""

import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from dse.store.errors import told_of_store
from dse.store.rows import INSERT, INSERT_REFINED, row_of
from dse.trials import Trial

BATCH_S = 0.05
"""The most that a row waits while others come in."""

BATCH_ROWS = 100


class StoreWriter:
    """The only one that writes to a store."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self._path = connection, path
        self._fields: set[tuple[str, str]] = set(
            connection.execute("SELECT part, name FROM field").fetchall()
        )
        self._rows: list[tuple[Any, ...]] = []
        self._news: list[tuple[str, tuple[Any, ...]]] = []
        self._oldest_s = 0.0

    def add(self, trial: Trial) -> None:
        """Write a trial down, now or within ``BATCH_S`` if ``flush_if_due`` is called.

        Raises:
            StoreError: The store cannot be written any more.
        """
        if not self._rows:
            self._oldest_s = time.monotonic()
        self._rows.append(row_of(trial))
        self._note_fields("constraints", trial.evaluation.constraints)
        self._note_fields("metrics", trial.evaluation.metrics)
        if len(self._rows) >= BATCH_ROWS:
            self.flush()
        else:
            self.flush_if_due()

    def add_refined(self, trial: Trial) -> None:
        """Write down what became of a trial at a finer level: these are few, and take long.

        Raises:
            StoreError: The store cannot be written any more.
        """
        self._news.append((INSERT_REFINED, row_of(trial)))
        self._note_fields("constraints", trial.evaluation.constraints)
        self._note_fields("metrics", trial.evaluation.metrics)
        self.flush()

    def forget_refined(self, trial: Trial) -> None:
        """Drop what became of a trial at a finer level: it is not among the best any more."""
        statement = "DELETE FROM refined WHERE fidelity = ? AND number = ?"
        self._news.append((statement, (trial.evaluation.fidelity, trial.number)))

    def event(self, kind: str, text: str) -> None:
        """Write down what happened to the study, its workers or its machines."""
        values = (time.time(), kind, text)
        self._news.append(("INSERT INTO event (unix_s, kind, text) VALUES (?, ?, ?)", values))

    def note(self, name: str, value: str) -> None:
        """Set one value of the study as a whole."""
        self._news.append(
            ("INSERT OR REPLACE INTO study (name, value) VALUES (?, ?)", (name, value))
        )

    def forget_failures(self) -> None:
        """Drop all failed trials, to be evaluated again."""
        for table in ("trial", "refined"):
            self._news.append((f"DELETE FROM {table} WHERE state = 'failed'", ()))

    def flush_if_due(self) -> None:
        """Commit rows that have waited long enough."""
        if self._rows and time.monotonic() - self._oldest_s >= BATCH_S:
            self.flush()

    def flush(self) -> None:
        """Commit everything.

        Raises:
            StoreError: The store cannot be written any more.
        """
        if not self._rows and not self._news:
            return
        with told_of_store(self._path):
            self._connection.execute("BEGIN")
            try:
                for statement, values in self._news:
                    self._connection.execute(statement, values)
                self._connection.executemany(INSERT, self._rows)
                self._connection.execute("COMMIT")
            except sqlite3.Error:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
        self._rows, self._news = [], []

    def close(self) -> None:
        """Commit and close; the log is folded into the store, so that one file can be copied."""
        try:
            self.flush()
            self._connection.execute("PRAGMA busy_timeout = 0")
            with suppress(sqlite3.OperationalError):  # a reader holds it open: the log stays
                self._connection.execute("PRAGMA journal_mode = DELETE")
        finally:
            self._connection.close()

    def abandon(self) -> None:
        """Close without writing what has not been committed."""
        self._connection.close()

    def _note_fields(self, part: str, names: Any) -> None:
        for name in names:
            if (part, name) not in self._fields:
                self._fields.add((part, name))
                self._news.append(("INSERT OR IGNORE INTO field VALUES (?, ?)", (part, name)))

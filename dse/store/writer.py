"""Writes trials and events in batches, so that storing costs next to nothing."""

import sqlite3
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dse.evaluate.metrics import Metrics
from dse.store.errors import told_of_store
from dse.store.rows import Row, Total, row_of, sealed_row
from dse.study.trials import Trial

BATCH_S = 0.05
"""The most that a row waits while others come in."""

BATCH_ROWS = 400


@dataclass(frozen=True, slots=True)
class _Change:
    """Rows that take the place of others.

    Attributes:
        table: Where.
        gone: Which rows go, as a condition in SQL.
        given: Its values.
        rows: Those that come.
    """

    table: str
    gone: str
    given: Sequence[Any]
    rows: Sequence[Row] = ()


class StoreWriter:
    """The only one that writes to a store."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self._path = connection, path
        self._fields: set[tuple[str, str]] = set(
            connection.execute("SELECT part, name FROM field").fetchall()
        )
        self._noted: dict[str, tuple[str, ...]] = {}
        self._totals = {
            name: Total(rows, checksums)
            for name, rows, checksums in connection.execute(
                "SELECT name, rows, checksums FROM seal"
            )
        }
        self._rows: list[Row] = []
        self._news: list[_Change] = []
        self._oldest_s = 0.0

    def add(self, trial: Trial) -> None:
        """Write a trial down, now or within ``BATCH_S`` if ``flush_if_due`` is called.

        Raises:
            StoreError: The store cannot be written any more.
        """
        self.add_row(trial, row_of("trial", trial))

    def add_row(self, trial: Trial, row: Row) -> None:
        """Write a trial down whose *row*, as of ``row_of``, somebody else has made; see ``add``."""
        if not self._rows:
            self._oldest_s = time.monotonic()
        self._rows.append(row)
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
        self._change_refined(trial, [row_of("refined", trial)])
        self._note_fields("constraints", trial.evaluation.constraints)
        self._note_fields("metrics", trial.evaluation.metrics)
        self.flush()

    def forget_refined(self, trial: Trial) -> None:
        """Drop what became of a trial at a finer level: it is not among the best any more."""
        self._change_refined(trial, [])

    def _change_refined(self, trial: Trial, rows: Sequence[Row]) -> None:
        given = (trial.evaluation.fidelity, trial.number)
        self._news.append(_Change("refined", "fidelity = ? AND number = ?", given, rows))

    def event(self, kind: str, text: str, *, now: bool = False) -> None:
        """Write down what happened to the study, its workers or its machines.

        Args:
            kind: Of what happened.
            text: What it was.
            now: Whether to commit it at once, where no row may follow for long.
        """
        self._put("event", "0", (), (time.time(), kind, text))
        if now:
            self.flush()

    def note(self, name: str, value: str) -> None:
        """Set one value of the study as a whole."""
        self._put("study", "name = ?", (name,), (name, value))

    def forget_failures(self) -> None:
        """Drop all failed trials, to be evaluated again."""
        for table in ("trial", "refined"):
            self._news.append(_Change(table, "state = 'failed'", ()))

    def forget_from(self, number: int) -> None:
        """Drop the trials from *number* on, to be proposed anew."""
        for table in ("trial", "refined"):
            self._news.append(_Change(table, "number >= ?", (number,)))

    def _put(self, table: str, gone: str, given: Sequence[Any], values: Row) -> None:
        self._news.append(_Change(table, gone, given, [sealed_row(table, values)]))

    def flush_if_due(self) -> None:
        """Commit rows that have waited long enough."""
        if self._rows and time.monotonic() - self._oldest_s >= BATCH_S:
            self.flush()

    def flush(self) -> None:
        """Commit everything.

        Raises:
            StoreError: The store cannot be written any more.
        """
        if self._rows:
            latest = {row[1]: row for row in self._rows}
            numbers = f"number IN ({', '.join('?' * len(latest))})"
            self._news.append(_Change("trial", numbers, list(latest), list(latest.values())))
            self._rows = []
        if not self._news:
            return
        with told_of_store(self._path):
            self._connection.execute("BEGIN")
            try:
                totals = self._changed()
                self._connection.execute("COMMIT")
            except sqlite3.Error:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
        self._totals, self._news = totals, []

    def _changed(self) -> dict[str, Total]:
        """Make all changes.

        Returns:
            What the tables come to then.
        """
        totals = dict(self._totals)
        execute, many = self._connection.execute, self._connection.executemany
        for change in self._news:
            table = change.table
            gone = execute(f"SELECT checksum FROM {table} WHERE {change.gone}", change.given)
            if old := gone.fetchall():
                execute(f"DELETE FROM {table} WHERE {change.gone}", change.given)
            if change.rows:
                places = ", ".join("?" * len(change.rows[0]))
                many(f"INSERT INTO {table} VALUES ({places})", change.rows)
            totals[table] = totals[table].minus(old).plus(change.rows)
        for name, total in totals.items():
            if total != self._totals[name]:
                seal = sealed_row("seal", (name, total.rows, total.checksums))
                execute("DELETE FROM seal WHERE name = ?", (name,))
                execute("INSERT INTO seal VALUES (?, ?, ?, ?)", seal)
        return totals

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

    def _note_fields(self, part: str, values: Mapping[str, float]) -> None:
        # names of metrics are one object as a rule, which is then not compared name by name
        names = values.names if values.__class__ is Metrics else tuple(values)
        if not names or names == self._noted.get(part):
            return
        self._noted[part] = names
        for name in names:
            if (part, name) not in self._fields:
                self._fields.add((part, name))
                self._put("field", "part = ? AND name = ?", (part, name), (part, name))

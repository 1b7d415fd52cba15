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
from dse.study.kept import Named
from dse.study.trials import Trial

BATCH_S = 0.05
"""The most that a row waits while others come in."""

BATCH_ROWS = 400
"""Rows of single trials at most that wait."""

MOST_ROWS = 1 << 13
"""Rows of many trials at once at most that wait: as many as come within ``BATCH_S`` from thousands
of workers. Numbers of islands lie far apart, and a page that takes several rows is written once."""


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

    @classmethod
    def of_trials(cls, rows: Sequence[Row]) -> "_Change":
        """Rows of trials that take the place of those with the same numbers, the latest ones."""
        latest = {row[1]: row for row in rows}
        numbers = f"number IN ({', '.join('?' * len(latest))})"
        return cls("trial", numbers, list(latest), list(latest.values()))


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
        self._new_rows: list[Row] = []  # whose numbers the store has not
        self._news: list[_Change] = []
        self._oldest_s = 0.0

    def add(self, trial: Trial) -> None:
        """Write a trial down, now or within ``BATCH_S`` if ``flush_if_due`` is called.

        Raises:
            StoreError: The store cannot be written any more.
        """
        self._begin_wait()
        self._rows.append(row_of("trial", trial))
        self._note_fields("constraints", trial.evaluation.constraints)
        self._note_fields("metrics", trial.evaluation.metrics)
        if len(self._rows) >= BATCH_ROWS:
            self.flush()
        else:
            self.flush_if_due()

    def add_rows(self, rows: Sequence[Row], named: Named) -> None:
        """Write down trials whose *rows*, as of ``row_of``, somebody else has made; see ``add``.

        Args:
            rows: The rows, of numbers that were not written before, as a rule.
            named: Names of their constraints and metrics.
        """
        self._begin_wait()
        self._new_rows += rows
        for part, names in named:
            self._note_names(part, names)
        if len(self._new_rows) >= MOST_ROWS:
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
        self._drop("state = 'failed'", ())

    def forget_from(self, number: int) -> None:
        """Drop the trials from *number* on, to be proposed anew."""
        self._drop("number >= ?", (number,))

    def forget(self, numbers: Sequence[int]) -> None:
        """Drop the trials with *numbers*."""
        self._drop(f"number IN ({', '.join('?' * len(numbers))})", numbers)

    def _drop(self, gone: str, given: Sequence[Any]) -> None:
        """Drop trials at once, with those that wait: later ones may have the same numbers."""
        self.flush()
        for table in ("trial", "refined"):
            self._news.append(_Change(table, gone, given))
        self.flush()

    def _put(self, table: str, gone: str, given: Sequence[Any], values: Row) -> None:
        self._news.append(_Change(table, gone, given, [sealed_row(table, values)]))

    def _begin_wait(self) -> None:
        if not self._rows and not self._new_rows:
            self._oldest_s = time.monotonic()

    def flush_if_due(self) -> None:
        """Commit rows that have waited long enough."""
        if (self._rows or self._new_rows) and time.monotonic() - self._oldest_s >= BATCH_S:
            self.flush()

    def flush(self) -> None:
        """Commit everything.

        Raises:
            StoreError: The store cannot be written any more.
        """
        if self._rows:
            self._news.append(_Change.of_trials(self._rows))
            self._rows = []
        if not self._news and not self._new_rows:
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
        self._totals, self._news, self._new_rows = totals, [], []

    def _changed(self) -> dict[str, Total]:
        """Make all changes.

        Returns:
            What the tables come to then.
        """
        totals, execute, news = dict(self._totals), self._connection.execute, self._news
        if self._new_rows and self._are_added():
            totals["trial"] = totals["trial"].plus(self._new_rows)
        elif self._new_rows:
            news = [_Change.of_trials(self._new_rows), *news]
        for change in news:
            table = change.table
            gone = execute(f"SELECT checksum FROM {table} WHERE {change.gone}", change.given)
            if old := gone.fetchall():
                execute(f"DELETE FROM {table} WHERE {change.gone}", change.given)
            self._insert(table, change.rows)
            totals[table] = totals[table].minus(old).plus(change.rows)
        for name, total in totals.items():
            if total != self._totals[name]:
                seal = sealed_row("seal", (name, total.rows, total.checksums))
                execute("DELETE FROM seal WHERE name = ?", (name,))
                execute("INSERT INTO seal VALUES (?, ?, ?, ?)", seal)
        return totals

    def _are_added(self) -> bool:
        """Add rows of new trials; False: the number of one of them is taken."""
        self._connection.execute("SAVEPOINT new")
        try:
            self._insert("trial", self._new_rows)
        except sqlite3.IntegrityError:
            self._connection.execute("ROLLBACK TO new")
            return False
        return True

    def _insert(self, table: str, rows: Sequence[Row]) -> None:
        if rows:
            places = ", ".join("?" * len(rows[0]))
            self._connection.executemany(f"INSERT INTO {table} VALUES ({places})", rows)

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
        self._note_names(part, values.names if values.__class__ is Metrics else tuple(values))

    def _note_names(self, part: str, names: tuple[str, ...]) -> None:
        if not names or names == self._noted.get(part):
            return
        self._noted[part] = names
        for name in names:
            if (part, name) not in self._fields:
                self._fields.add((part, name))
                self._put("field", "part = ? AND name = ?", (part, name), (part, name))

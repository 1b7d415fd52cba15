"""Writes trials and events in batches, so that storing costs next to nothing."""

import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from dse.evaluate.metrics import Metrics
from dse.store.errors import damaged, told_of_store
from dse.store.packed import ManyRows, Packed, unpack_rows
from dse.store.rows import Row, Total, row_of, sealed_row, unsound_rows
from dse.store.taken import Numbers, Taken
from dse.study.trials import Trial

BATCH_S = 0.05
"""The most that a row waits while others come in."""

BATCH_ROWS = 400
"""Rows of single trials at most that wait."""

MOST_ROWS = 1 << 13
"""Rows of many trials at once at most that wait: as many as come within ``BATCH_S`` from thousands
of workers. Numbers of islands lie far apart, and a page that takes several rows is written once."""

MOST_PACKED = 1 << 7
"""Packed values at most that wait."""

_TURNED = 32
"""Packed values that become rows by themselves in one transaction."""


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
    """The only one that writes to a store.

    Of many trials at once the rows are packed at first, and become rows by themselves when the
    store is closed; what a driver that was killed has left packed, when it is opened. A row by
    itself stands in the place of a packed one with its number.
    """

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
        self._new_packed: list[Packed] = []
        self._taken: Taken | None = None  # once rows are packed
        self._hidden = Total()  # packed rows that others are to take the place of
        self._news: list[_Change] = []
        self._oldest_s = 0.0
        try:
            self._turn()
        except BaseException:  # nobody goes on with it: its log must not stay beside it
            connection.close()
            raise

    def add(self, trial: Trial) -> None:
        """Write a trial down, now or within ``BATCH_S`` if ``flush_if_due`` is called.

        Raises:
            StoreError: The store cannot be written any more.
        """
        row = row_of("trial", trial)
        self._take([trial.number])
        self._begin_wait()
        self._rows.append(row)
        self._note_fields("constraints", trial.evaluation.constraints)
        self._note_fields("metrics", trial.evaluation.metrics)
        if len(self._rows) >= BATCH_ROWS:
            self.flush()
        else:
            self.flush_if_due()

    def add_many(self, many: ManyRows) -> None:
        """Write down trials whose rows somebody else has made; see ``add``.

        Their numbers were not written before, as a rule.
        """
        self._add_rows(many.plain)
        if many.packed and self._taken is None:
            self._taken = self._numbers_now()
        for one in many.packed:
            self._add_packed(one)
        for part, names in many.named:
            self._note_names(part, names)
        if len(self._new_rows) >= MOST_ROWS or len(self._new_packed) >= MOST_PACKED:
            self.flush()
        else:
            self.flush_if_due()

    def _add_rows(self, rows: Sequence[Row]) -> None:
        self._take([row[1] for row in rows])
        self._begin_wait()
        self._new_rows += rows

    def _add_packed(self, one: Packed) -> None:
        if self._taken is not None and self._taken.are_free(one.numbers):
            self._begin_wait()
            self._taken.add_packed(one.numbers, one.checksums)
            self._new_packed.append(one)
        else:
            self._add_rows(list(unpack_rows([one.row])))

    def _numbers_now(self) -> Taken:
        """Numbers of all rows, none of which is packed yet."""
        self.flush()
        with told_of_store(self._path):
            found = self._connection.execute("SELECT number FROM trial")
            return Taken(np.fromiter((number for (number,) in found), np.int64))

    def _take(self, numbers: Numbers) -> None:
        """Take numbers for rows by themselves."""
        if self._taken is not None:
            self._hidden = self._hidden.with_total(self._taken.add(numbers))

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
        if self._taken is not None:
            self._taken.forget_from(number)

    def forget(self, numbers: Sequence[int]) -> None:
        """Drop the trials with *numbers*, all of which are stored."""
        self._drop(f"number IN ({', '.join('?' * len(numbers))})", numbers)

    def _drop(self, gone: str, given: Sequence[Any]) -> None:
        """Drop trials at once, with those that wait: later ones may have the same numbers."""
        self.flush()
        self._turn()
        for table in ("trial", "refined"):
            self._news.append(_Change(table, gone, given))
        self.flush()

    def _put(self, table: str, gone: str, given: Sequence[Any], values: Row) -> None:
        self._news.append(_Change(table, gone, given, [sealed_row(table, values)]))

    @property
    def _has_waiting(self) -> bool:
        return bool(self._rows or self._new_rows or self._new_packed)

    def _begin_wait(self) -> None:
        if not self._has_waiting:
            self._oldest_s = time.monotonic()

    def flush_if_due(self) -> None:
        """Commit rows that have waited long enough."""
        if self._has_waiting and time.monotonic() - self._oldest_s >= BATCH_S:
            self.flush()

    def flush(self) -> None:
        """Commit everything.

        Raises:
            StoreError: The store cannot be written any more.
        """
        if self._rows:
            self._news.append(_Change.of_trials(self._rows))
            self._rows = []
        if not self._news and not self._new_rows and not self._new_packed:
            return
        self._commit(self._changed, self._wait_for_nothing)

    def _wait_for_nothing(self) -> None:
        self._news, self._new_rows, self._new_packed, self._hidden = [], [], [], Total()

    def _commit(
        self, change: Callable[[dict[str, Total]], None], made: Callable[[], None] = lambda: None
    ) -> None:
        """Make a change, which brings the totals of the tables up to date, whole or not at all.

        Ctrl-C comes through when SQLite has just committed, as a rule: then all is *made*, too.
        """
        totals, execute, is_made = dict(self._totals), self._connection.execute, False
        with told_of_store(self._path):
            try:
                execute("BEGIN")
                change(totals)
                self._seal(totals)
                is_made = True
                execute("COMMIT")
            except sqlite3.Error:
                is_made = False
                raise
            finally:
                if self._connection.in_transaction:
                    execute("ROLLBACK")
                elif is_made:
                    self._totals = totals
                    made()

    def _seal(self, totals: Mapping[str, Total]) -> None:
        """Write down the *totals* that have changed."""
        for name, total in totals.items():
            if total != self._totals[name]:
                seal = sealed_row("seal", (name, total.rows, total.checksums))
                self._connection.execute("DELETE FROM seal WHERE name = ?", (name,))
                self._connection.execute("INSERT INTO seal VALUES (?, ?, ?, ?)", seal)

    def _turn(self) -> None:
        """Make rows by themselves of all that are packed, some values after another.

        Raises:
            ConfigError: These are damaged.
            StoreError: The store cannot be written any more.
        """
        if not self._totals["packed"].rows and not self._new_packed:
            return
        self.flush()
        with told_of_store(self._path):
            found = self._connection.execute("SELECT rowid FROM packed ORDER BY first").fetchall()
        if len(found) != self._totals["packed"].rows:
            raise damaged(self._path, "packed trials that are not all that were written")
        for first in range(0, len(found), _TURNED):
            part = [one for (one,) in found[first : first + _TURNED]]
            self._commit(partial(self._turn_some, part))
        if self._taken is not None:
            self._taken.unpack()

    def _turn_some(self, values: Sequence[int], totals: dict[str, Total]) -> None:
        """Make rows by themselves of *values*; the total of all trials stays as it is."""
        where = f"FROM packed WHERE rowid IN ({', '.join('?' * len(values))})"
        packed = self._connection.execute(f"SELECT * {where}", values).fetchall()
        if len(packed) != len(values) or unsound_rows("packed", packed):
            raise damaged(self._path, "packed trials that are not as they were written")
        try:
            rows = sorted(unpack_rows(packed), key=itemgetter(1))
        except ValueError as error:
            raise damaged(self._path, str(error)) from None
        self._insert("trial", rows, "ON CONFLICT (number) DO NOTHING")
        self._connection.execute(f"DELETE {where}", values)
        totals["packed"] = totals["packed"].minus(packed)

    def _changed(self, totals: dict[str, Total]) -> None:
        """Make all changes."""
        execute, news = self._connection.execute, self._news
        self._insert("packed", packed := [one.row for one in self._new_packed])
        totals["packed"] = totals["packed"].plus(packed)
        for one in self._new_packed:
            totals["trial"] = totals["trial"].with_total(one.total)
        totals["trial"] = totals["trial"].without_total(self._hidden)
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

    def _are_added(self) -> bool:
        """Add rows of new trials; False: the number of one of them is taken."""
        self._connection.execute("SAVEPOINT new")
        try:
            self._insert("trial", self._new_rows)
        except sqlite3.IntegrityError:
            self._connection.execute("ROLLBACK TO new")
            return False
        return True

    def _insert(self, table: str, rows: Sequence[Row], otherwise: str = "") -> None:
        if rows:
            places = ", ".join("?" * len(rows[0]))
            statement = f"INSERT INTO {table} VALUES ({places}) {otherwise}"
            self._connection.executemany(statement, rows)

    def close(self) -> None:
        """Commit and close; the log is folded into the store, so that one file can be copied."""
        try:
            self.flush()
            self._turn()
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

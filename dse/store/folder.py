"""The folder of a study."""

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from dse.config import Study
from dse.garbage import no_collection
from dse.store.database import MAX_FIELDS, open_to_read, open_to_write
from dse.store.errors import damaged, told_of_store
from dse.store.lock import DriverLock
from dse.store.rows import FEASIBLE, read_numbered, read_numbers, read_refined, read_rows
from dse.store.study_text import check_same, study_text
from dse.store.writer import StoreWriter
from dse.tables import Columns, write_csv, write_parquet
from dse.trials import Trial
from simcore import ConfigError, is_there

STORE = "study.db"
"""The truth: frozen study, trials, events. The other files are exports of it."""

STUDY, TRIALS, PARETO = "study.yaml", "trials.parquet", "pareto.csv"
SUMMARY, REPORT = "summary.json", "report.html"

T = TypeVar("T")


class StudyFolder:
    """A folder that holds one study; as a context, for the one process that may write it.

    A finished evaluation is committed to the store within a twentieth of a second, so that a study
    can be resumed wherever it was cut off. All other files are written whole or not at all.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = DriverLock(path)
        self._writer: StoreWriter | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._writer is not None:
            self._writer.abandon()
        self._lock.release()

    @property
    def holds_study(self) -> bool:
        """Whether a study has been started here."""
        return any(is_there(self.path / name) for name in (STUDY, STORE, TRIALS))

    def known_trials(self, study: Study, *, resume: bool) -> list[Trial]:
        """The trials that the folder holds already; writes nothing but the lock.

        Raises:
            ConfigError: It holds a study and *resume* is false, it holds another study, or
                another process runs it.
            StoreError: It cannot be written.
        """
        if not self.holds_study:
            return []
        if not resume:
            rule = "the folder must not hold a study yet (--resume goes on with it, --out names"
            raise ConfigError("--out", f"{rule} another)", got=str(self.path))
        check_same(self.study_file(), study)
        with told_of_store(self.path / STORE):
            self._lock.acquire()
        if not (self.path / STORE).exists():
            return []
        self._check_sound()
        with no_collection():
            return list(self.read_trials())

    def _check_sound(self) -> None:
        """See whether all pages of the store belong together, before more is built on them."""
        path = self.path / STORE
        with told_of_store(path), closing(open_to_read(path)) as connection:
            found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise damaged(path, found)

    def open(self, study: Study) -> None:
        """Make the folder ready for more trials.

        Raises:
            ConfigError: Another process runs a study here.
            StoreError: It cannot be written.
        """
        store = self.path / STORE
        with told_of_store(store):
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
            self._writer = StoreWriter(open_to_write(store), store)
            text = study_text(study)
            self._writer.note("study", text)
            self._writer.flush()
            self.write_text(STUDY, text)

    @property
    def writer(self) -> StoreWriter:
        """Where trials and events go; there is one once the folder is open."""
        assert self._writer is not None, "the folder is open"
        return self._writer

    def close(self) -> None:
        """Commit everything and close the store."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def study_file(self) -> Path:
        """The study as run; written anew from the store where it is missing.

        Raises:
            ConfigError: There is neither.
        """
        path, store = self.path / STUDY, self.path / STORE
        if not path.exists() and store.exists():
            with told_of_store(store), closing(open_to_read(store)) as connection:
                row = connection.execute("SELECT value FROM study WHERE name = 'study'").fetchone()
            if row is not None:
                self.write_text(STUDY, row[0])
        return path

    def read_trials(self) -> Iterator[Trial]:
        """The trials of the store in ask order, as they are asked for; beside a driver too.

        Raises:
            ConfigError: There is no store, or it is damaged.
        """
        return self._read(read_rows)

    def count_trials(self) -> int:
        """Number of trials in the store.

        Raises:
            ConfigError: There is no store, or it is damaged.
        """
        path = self.path / STORE
        with told_of_store(path), closing(open_to_read(path)) as connection:
            count: int = connection.execute("SELECT count(*) FROM trial").fetchone()[0]
        return count

    def read_feasible(self) -> Iterator[Trial]:
        """Those of ``read_trials`` that may be on the front."""
        return self._read(lambda store: read_rows(store, FEASIBLE))

    def read_refined(self, study: Study) -> list[Trial]:
        """The designs that were judged again, level by level, in the order of their numbers.

        Raises:
            ConfigError: There is no store, or it is damaged.
        """
        finer = study.levels[1:]
        if not finer or not (self.path / STORE).exists():
            return []
        rows = list(self._read(read_refined))
        return [row for level in finer for row in rows if row.evaluation.fidelity == level]

    def read_numbered(self, numbers: Iterable[int]) -> Iterator[Trial]:
        """Those with *numbers*, in that order."""
        return self._read(lambda store: read_numbered(store, numbers))

    def read_numbers(self) -> Iterator[int]:
        """Numbers of all trials that are no repeats, in ask order."""
        return self._read(read_numbers)

    def _read(self, read: Callable[[sqlite3.Connection], Iterator[T]]) -> Iterator[T]:
        path = self.path / STORE
        with told_of_store(path), closing(open_to_read(path)) as connection:
            try:
                yield from read(connection)
            except (ValueError, TypeError) as error:
                raise damaged(path, str(error)) from None

    def columns(self, study: Study) -> Columns:
        """What the trials of the store are shown with.

        Raises:
            ConfigError: There is no store, or it is damaged.
        """
        path = self.path / STORE
        with told_of_store(path), closing(open_to_read(path)) as connection:
            fields = connection.execute(
                f"SELECT part, name FROM field ORDER BY name LIMIT {MAX_FIELDS + 1}"
            ).fetchall()
        if len(fields) > MAX_FIELDS:
            raise damaged(path, f"more than {MAX_FIELDS} names of constraints and metrics")
        names = {
            part: tuple(name for of, name in fields if of == part)
            for part in ("constraints", "metrics")
        }
        return Columns(study=study, **names)

    def write_text(self, name: str, text: str) -> None:
        """Write a file whole or not at all.

        Raises:
            StoreError: It cannot be written.
        """
        with self._whole(name) as partial:
            partial.write_text(text, encoding="utf-8")

    def write_exports(
        self,
        columns: Columns,
        rows: Iterable[Trial],
        front: Sequence[Trial],
        summary: Mapping[str, Any],
    ) -> None:
        """Write trials, front and summary.

        Raises:
            StoreError: They cannot be written; the store holds everything still.
        """
        with self._whole(TRIALS) as partial:
            write_parquet(columns, rows, partial)
        with self._whole(PARETO) as partial, partial.open("w", encoding="utf-8") as out:
            write_csv(columns, front, out)
        self.write_text(SUMMARY, json.dumps(summary, indent=2) + "\n")

    @contextmanager
    def _whole(self, name: str) -> Iterator[Path]:
        partial = self.path / f".{name}.part"
        with told_of_store(self.path / name):
            try:
                yield partial
                os.replace(partial, self.path / name)
            finally:
                partial.unlink(missing_ok=True)

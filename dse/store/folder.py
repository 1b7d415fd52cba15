"""The folder of a study."""

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import yaml

from dse.code_digests import versions
from dse.plain_files import open_plain, written_whole
from dse.provenance import Provenance
from dse.store.database import open_to_write
from dse.store.errors import STORE, told_of_store
from dse.store.reader import reading
from dse.store.rows import may_be_on_front
from dse.store.tables import Columns, write_csv, write_parquet
from dse.store.writer import StoreWriter
from dse.study.compile import Study
from dse.study.trials import Trial
from simcore import ConfigError, files_kept, is_there, no_collection, read_yaml

STUDY, TRIALS, PARETO = "study.yaml", "trials.parquet", "pareto.csv"
SUMMARY, REPORT = "summary.json", "report.html"
PROVENANCE = "provenance {}"
"""Name under which the store notes what trials come from, by number."""


class StudyFolder:
    """A folder that holds one study; as a context, for the one process that may write it.

    A finished evaluation is committed to the store within a twentieth of a second, so that a study
    can be resumed wherever it was cut off. All other files are written whole or not at all.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._store = path / STORE
        self._lock = DriverLock(path)
        self._writer: StoreWriter | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._writer is not None:
            self._writer.abandon()
        self._lock.release()

    @property
    def holds_study(self) -> bool:
        """True if a study has been started here."""
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
            raise ConfigError("--out", f"{rule} another, --force deletes it)", got=str(self.path))
        if not self._store.exists():
            rule = "must be there for the study to go on (give it back, or start anew with --out)"
            raise ConfigError(str(self._store), rule, got="no file")
        check_same(self.study_file(to_mend=True), study)
        with told_of_store(self._store):
            self._lock.acquire()
        with no_collection(), reading(self._store, to_mend=True) as store:
            store.check()
            return list(store.trials())

    def read_provenances(self, *, to_mend: bool = False) -> list[Provenance]:
        """Origins of the trials of the store, in the order of ``Trial.provenance``.

        Raises:
            ConfigError: The store is damaged.
        """
        if not self._store.exists():
            return []
        with reading(self._store, to_mend=to_mend) as store:
            noted = store.values()
            names = map(PROVENANCE.format, range(len(noted)))
            return [Provenance.from_text(noted[name]) for name in names if name in noted]

    def rows_to_keep(self, study: Study) -> int:
        """Trials, from the first on, that *study* has in common with the one that is stored.

        The last proposals of a study round off its front. With another number of trials they are
        proposed anew.

        Raises:
            ConfigError: The store is damaged.
        """
        trials, first = self._end()
        return int(first) if first and trials != str(study.file.search.trials) else MAX_ROWS

    def has_end(self, study: Study) -> bool:
        """True if the first proposal of the end of *study*, with its number of trials, is noted.

        Raises:
            ConfigError: The store is damaged.
        """
        self.writer.flush()
        return self._end()[0] == str(study.file.search.trials)

    def _end(self) -> tuple[str, str]:
        """Trials of the stored study, and the first proposal of its end; empty: not noted."""
        if not self._store.exists():
            return "", ""
        with reading(self._store) as store:
            trials, _, first = store.values().get(END, "").partition(" ")
        return trials, first

    def first_of_end(self, study: Study) -> int | None:
        """Number of the first proposal of the end of *study*; None: it is not known yet.

        Raises:
            ConfigError: The store is damaged.
        """
        trials, first = self._end()
        return int(first) if first and trials == str(study.file.search.trials) else None

    def note_end(self, study: Study, first: int) -> None:
        """Note the number of the first proposal of the end of *study*."""
        self.writer.note(END, f"{study.file.search.trials} {first}")

    def open(
        self, study: Study, provenance: Provenance, *, number: int = 0, keep: int | None = None
    ) -> None:
        """Make the folder ready for more trials, whose provenance has this *number*.

        Of the trials that it holds stay the first ones, *keep* of them.

        Raises:
            ConfigError: Another process runs a study here.
            StoreError: It cannot be written.
        """
        with told_of_store(self._store):
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
            self._writer = StoreWriter(open_to_write(self._store), self._store)
            text = study_text(study)
            self._writer.note("study", text)
            if keep is not None and keep < MAX_ROWS:
                self._writer.forget_from(keep)
            self._writer.note(PROVENANCE.format(number), provenance.as_text())
            self._writer.flush()
            self.write_text(STUDY, text)

    @property
    def writer(self) -> StoreWriter:
        """Writer of trials and events, there once the folder is open."""
        assert self._writer is not None, "the folder is open"
        return self._writer

    def close(self) -> None:
        """Commit everything and close the store."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def study_file(self, *, to_mend: bool = False) -> Path:
        """The study as run; written anew from the store where it is missing.

        Raises:
            ConfigError: There is neither, or the file is not as the store has it.
        """
        path = self.path / STUDY
        if not self._store.exists():
            return path
        with reading(self._store, to_mend=to_mend) as store:
            text = store.values().get("study")
        if text is not None and not path.exists():
            self.write_text(STUDY, text)
        if text is not None and path.read_bytes() != text.encode():
            rule = f"must be the study as run, as {STORE} has it (remove it to have it back)"
            raise ConfigError(str(path), rule, got="another text")
        return path

    def read_trials(self) -> Iterator[Trial]:
        """The trials of the store in ask order, as they are asked for; beside a driver too.

        Raises:
            ConfigError: There is no store, or it is damaged.
        """
        with reading(self._store) as store:
            yield from store.trials()

    def count_trials(self) -> int:
        """Number of trials in the store.

        Raises:
            ConfigError: There is no store, or it is damaged.
        """
        with reading(self._store) as store:
            return store.count()

    def read_feasible(self) -> Iterator[Trial]:
        """Trials, of ``read_trials``, that may be on the front."""
        with reading(self._store) as store:
            yield from store.trials(where=may_be_on_front)

    def read_refined(self, study: Study) -> list[Trial]:
        """The designs that were judged again, level by level, in the order of their numbers.

        Raises:
            ConfigError: There is no store, or it is damaged.
        """
        if not self._store.exists():
            return []
        with reading(self._store) as store:
            rows = list(store.trials("refined"))
        finer = study.levels[1:]
        return [row for level in finer for row in rows if row.evaluation.fidelity == level]

    def read_numbered(self, numbers: Iterable[int]) -> Iterator[tuple[Trial, float]]:
        """Trials of *numbers*, in this order, and the Unix times at which they came in."""
        with reading(self._store) as store:
            yield from store.numbered(numbers)

    def read_numbers(self) -> Iterator[int]:
        """Numbers of all trials that are no repeats, in ask order."""
        with reading(self._store) as store:
            yield from store.numbers()

    def columns(self, study: Study) -> Columns:
        """Columns that show the trials of the store.

        Raises:
            ConfigError: There is no store, or it is damaged.
        """
        with reading(self._store) as store:
            fields = store.fields()
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
        with told_of_store(self.path / name), written_whole(self.path / name) as partial:
            yield partial


END = "end"
"""Name under which the store notes the trials that were asked for, and where their end began."""

MAX_ROWS = 2**63 - 1
"""More trials than a study can have."""

LOCK = "study.lock"


class DriverLock:
    """An advisory lock on a file that names its owner."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOCK
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Become the driver of the study; may be called again by the one that is.

        Raises:
            ConfigError: Another process is, which is told with its host and start; or the lock is
                a link or no regular file.
            OSError: The folder cannot be written.
        """
        if self._descriptor is not None:
            return
        descriptor = open_plain(self._path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = _owner(descriptor)
            os.close(descriptor)
            rule = "only one process at a time may run a study (wait for it, or stop it first)"
            raise ConfigError(str(self._path.parent), rule, got=owner) from None
        except OSError:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        owner = json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": since})
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, owner.encode(), 0)

    def release(self) -> None:
        """Let another process be the driver."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _owner(descriptor: int) -> str:
    try:
        data = json.loads(os.pread(descriptor, 4096, 0))
        return f"process {data['pid']} on {data['host']} since {data['since']}"
    except (ValueError, KeyError, TypeError):  # it has not written its name yet
        return "another process"


_MAY_DIFFER = ("execution", "versions", "question", "source", "reference_point")


def study_data(study: Study) -> dict[str, Any]:
    """The study as run, as plain data of a study file."""
    data = study.file.model_dump(mode="json", by_alias=True)
    data["folder"] = study.folder or None
    data["versions"] = versions()
    return data


@lru_cache(maxsize=1)  # its store and its page both have it
def study_text(study: Study) -> str:
    """The study as run, as the text of a study file."""
    return yaml.safe_dump(study_data(study), sort_keys=False, allow_unicode=True, width=100)


def check_same(path: Path, study: Study) -> None:
    """A study may go on with more trials or other workers, not with other designs.

    Raises:
        ConfigError: *study* differs from the one in the file at *path*; says where.
    """
    with files_kept({}):
        old, new = read_yaml(path), study_data(study)
    if not isinstance(old, dict) or not isinstance(old.get("search"), dict):
        raise ConfigError(str(path), "must be the study as run", got=old)
    for data in (old, new):
        for key in _MAY_DIFFER:
            data.pop(key, None)
        for key in ("trials", "promote", "controls", "settle"):
            data["search"].pop(key, None)
    at = ""
    was: Any = old
    is_now: Any = new
    while was != is_now and isinstance(was, dict) and isinstance(is_now, dict):
        key = next(key for key in (*is_now, *was) if was.get(key) != is_now.get(key))
        at, was, is_now = f"{at}.{key}" if at else str(key), was.get(key), is_now.get(key)
    if was != is_now:
        raise ConfigError(at, f"must be as in {path} for the study to be resumed", got=is_now)

"""``dse export``: tables of any length, and a journal that optuna-dashboard opens."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from dse.config import load_study_file
from dse.report import write_journal
from dse.result import load_study
from dse.store import StudyFolder
from dse.tables import Columns, write_csv, write_json, write_parquet
from dse.trials import Trial
from simcore import ConfigError


def export_command(folder: Path, *, kind: str, front: bool, out: Path | None) -> None:
    """``dse export``; all trials are streamed, whatever their number."""
    if kind == "parquet" and out is None:
        raise ConfigError("--out", "parquet needs a file", got=None)
    rows: Iterable[Trial]
    if front:
        result = load_study(folder)
        rows = [result.rows[index] for index in result.front]
        columns = Columns.of(result.study, result.rows)
    else:
        store = StudyFolder(folder)
        if not store.holds_study:
            raise ConfigError("DIR", "must be the folder of a study", got=str(folder))
        rows, columns = store.read_trials(), store.columns(load_study_file(store.study_file()))
    if out is None:
        _write(kind, columns, rows, sys.stdout)
        return
    with _writable(out) as partial:
        if kind == "parquet":
            write_parquet(columns, rows, partial)
        else:
            with partial.open("w", encoding="utf-8") as file:
                _write(kind, columns, rows, file)


def _write(kind: str, columns: Columns, rows: Iterable[Trial], out: IO[str]) -> None:
    if kind == "csv":
        write_csv(columns, rows, out)
    else:
        write_json(columns, rows, out)


@contextmanager
def _writable(out: Path) -> Iterator[Path]:
    """A file beside *out* that takes its name once it is whole."""
    partial = out.with_name(f".{out.name}.part")
    try:
        try:
            yield partial
            os.replace(partial, out)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        got = error.strerror or str(error)
        raise ConfigError(str(out), "must be a file that can be written", got=got) from None


def journal_command(folder: Path, *, out: Path | None) -> None:
    """``dse export --optuna-journal``."""
    if out is None:
        raise ConfigError("--out", "a journal needs a file", got=None)
    with _writable(out) as partial:
        write_journal(load_study(folder), partial)

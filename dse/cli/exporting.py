"""``dse export``: tables of any length, a journal for a dashboard, files that start a trial."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

from dse.plain_files import written_whole
from dse.report.optuna.journal import chosen_numbers, write_journal
from dse.results.equals import Discernment
from dse.results.recommended import recommended
from dse.results.result import load_study
from dse.results.summary import non_dominated_rows, study_front
from dse.store.folder import StudyFolder
from dse.store.tables import CHUNK_ROWS, Columns, write_csv, write_json, write_parquet
from dse.study.compile import Study, load_study_file
from dse.study.trials import Trial
from simcore import ConfigError


def export_any(
    folder: Path, trial: int | None, tool: str | None, *, out: Path | None, how: Mapping[str, Any]
) -> None:
    """``dse export`` in each of its forms; *how* holds its other options.

    Raises:
        ConfigError: Options of different forms are mixed, or a value breaks a rule.
    """
    tables = ("kind", "front", "recommended", "optuna_journal")
    if trial is None and (tool or how["pool"]):
        raise ConfigError("TRIAL", "must be given with --as", got=None)
    if trial is not None:
        if any(how[name] for name in tables):
            rule = "must stand without --format, --front, --recommended and --optuna-journal"
            raise ConfigError("TRIAL", rule, got=trial)
        launch_command(folder, trial, tool, pool=how["pool"], out=out)
    elif how["optuna_journal"]:
        journal_command(folder, out=out)
    else:
        kind = how["kind"] or "csv"
        export_command(folder, kind=kind, front=how["front"], short=how["recommended"], out=out)


def launch_command(
    folder: Path, trial: int, tool: str | None, *, pool: str | None, out: Path | None
) -> None:
    """``dse export DIR TRIAL --as TOOL``."""
    from dse.launch.trial import trial_text

    if tool is None:
        raise ConfigError("--as", "must be given with TRIAL, such as --as run", got=None)
    text = trial_text(load_study(folder), trial, tool, pool=pool)
    if out is None:
        sys.stdout.write(text)
        return
    with _writable(out) as partial:
        partial.write_text(text, encoding="utf-8")


def export_command(
    folder: Path, *, kind: str, front: bool, out: Path | None, short: bool = False
) -> None:
    """``dse export``; trials are streamed, whatever their number; *short*: the recommended ones."""
    if kind == "parquet" and out is None:
        raise ConfigError("--out", "parquet needs a file", got=None)
    store, study = _stored(folder)
    columns = store.columns(study)
    rows: Iterable[Trial] = chain(store.read_trials(), store.read_refined(study))
    if front or short:
        rows = streamed_front(store, study)
    if short:
        by_number = {row.number: row for row in rows}
        chosen = recommended(Discernment(study, list(by_number.values())))
        rows = [by_number[one.trial] for one in chosen]
    if out is None:
        _write(kind, columns, rows, sys.stdout)
        return
    with _writable(out) as partial:
        if kind == "parquet":
            write_parquet(columns, rows, partial)
        else:
            with partial.open("w", encoding="utf-8") as file:
                _write(kind, columns, rows, file)


def _stored(folder: Path) -> tuple[StudyFolder, Study]:
    store = StudyFolder(folder)
    if not store.holds_study:
        raise ConfigError("DIR", "must be the folder of a study", got=str(folder))
    return store, load_study_file(store.study_file())


def streamed_front(store: StudyFolder, study: Study) -> list[Trial]:
    """The front of any number of trials: that of what is not dominated in their parts."""
    rest = chain(store.read_feasible(), store.read_refined(study))
    front: list[Trial] = []
    while part := list(islice(rest, CHUNK_ROWS)):
        rows = front + part
        front = [rows[place] for place in sorted(non_dominated_rows(study, rows).front)]
    return [front[place] for place in study_front(study, front).front]


def _write(kind: str, columns: Columns, rows: Iterable[Trial], out: IO[str]) -> None:
    if kind == "csv":
        write_csv(columns, rows, out)
    else:
        write_json(columns, rows, out)


@contextmanager
def _writable(out: Path) -> Iterator[Path]:
    """A file beside *out* that takes its name once it is whole."""
    try:
        with written_whole(out) as partial:
            yield partial
    except OSError as error:
        got = error.strerror or str(error)
        raise ConfigError(str(out), "must be a file that can be written", got=got) from None


def journal_command(folder: Path, *, out: Path | None) -> None:
    """``dse export --optuna-journal``; holds what it writes, and no more."""
    if out is None:
        raise ConfigError("--out", "a journal needs a file", got=None)
    store, study = _stored(folder)
    front = [trial.number for trial in streamed_front(store, study)]
    chosen = chosen_numbers(store.read_numbers(), front)
    with _writable(out) as partial:
        write_journal(study, store.read_numbered(chosen), partial)

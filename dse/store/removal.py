"""Deleting a study: its own files and no others, while nobody runs it."""

import re
from pathlib import Path

from dse.store.errors import STORE, told_of_store
from dse.store.folder import LOCK, PARETO, REPORT, STUDY, SUMMARY, TRIALS, DriverLock, StudyFolder
from simcore import ConfigError

_ENDINGS = ("-wal", "-shm", "-journal")
"""Ends of the names of files that SQLite keeps beside a store."""

_OWN = {STUDY, STORE, TRIALS, PARETO, SUMMARY, REPORT, LOCK, *(STORE + end for end in _ENDINGS)}

_OF_TRIAL = re.compile(r"trial-\d+(\.trace\.json|\.html)")
"""Pages and timelines of single trials, by the names that they get by themselves."""


def delete_study(folder: Path, file: Path) -> None:
    """Delete the study in *folder*, and the folder if nothing else is there.

    Args:
        folder: Where the study is; left alone where it holds none.
        file: The study file that is to be run there.

    Raises:
        ConfigError: It holds no study, another process runs that study, or *file* is its own.
        StoreError: It cannot be written.
    """
    if folder.is_symlink() or not StudyFolder(folder).holds_study:
        rule = "must be the folder of a study to be replaced by --force"
        raise ConfigError("--out", rule, got=str(folder))
    if file.exists() and file.resolve().parent == folder.resolve() and file.name in _OWN:
        rule = "must not be the folder of the study file itself, which --force would delete"
        raise ConfigError("--out", rule, got=str(folder))
    lock = DriverLock(folder)
    with told_of_store(folder / STORE):
        lock.acquire()
        try:
            for path in [*folder.iterdir()]:
                if path.name in _OWN or _OF_TRIAL.fullmatch(path.name):
                    path.unlink()
            if not any(folder.iterdir()):
                folder.rmdir()
        finally:
            lock.release()

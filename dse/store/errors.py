"""Faults of a store, in sentences."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from simcore import ConfigError, SimcoreError

STORE = "study.db"
"""The truth: frozen study, trials, events. The other files of a study are exports of it."""


class StoreError(SimcoreError):
    """Results could not be written; reads "<place>: <rule>, but got <value>."."""

    def __init__(self, at: str, rule: str, *, got: object) -> None:
        super().__init__(f"{at}: {rule}, but got {got!r}.")


_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}
_DAMAGED |= {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG}


@contextmanager
def told_of_store(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and of the file system into one sentence.

    Raises:
        ConfigError: The file is damaged, or no store.
        StoreError: It cannot be written, or not any more.
    """
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        if code in _DAMAGED:
            raise damaged(path, str(error)) from None
        rule = "must be a file that can be written; what is stored is safe, --resume goes on"
        if code == sqlite3.SQLITE_FULL:
            rule = "must have room on its disk; make room, then --resume goes on"
        raise StoreError(str(path), rule, got=str(error)) from None
    except UnicodeDecodeError:  # SQLite quotes a name in what it complains about
        raise damaged(path, "names that are no text") from None
    except OSError as error:
        rule = "must be a folder that can be written, with room on its disk"
        got = error.strerror or os.strerror(error.errno or 0)
        raise StoreError(str(path.parent), rule, got=got) from None


LOG_RULE = "must be the undamaged log of the store beside it (dse study --resume drops what is "
LOG_RULE += "damaged and evaluates it again)"


def damaged(path: Path | str, what: str) -> ConfigError:
    """The error for a store that does not hold what it should."""
    rule = "must be the undamaged store of a study (take a copy, or start anew with --out)"
    return ConfigError(str(path), rule, got=what)

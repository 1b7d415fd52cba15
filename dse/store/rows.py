"""Trials as rows of the store, and back."""

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from sys import intern
from typing import Any

from dse.evaluate import Evaluation
from dse.evaluate.metrics import Metrics, PackedMetrics, plain
from dse.space import Design, design_digest
from dse.trials import Trial

_COLUMNS = (
    "number, key, params, state, objectives, constraints, metrics, fidelity, notes, failure, "
    "attempts, reason, worker, duration_s, finished_unix_s, repeats"
)
INSERT = f"INSERT OR REPLACE INTO trial ({_COLUMNS}) VALUES ({', '.join('?' * 16)})"
INSERT_REFINED = INSERT.replace("INTO trial", "INTO refined")
_OUTCOME = (
    "SELECT number, '[' || params || ',' || objectives || ',' || constraints || ']', metrics, "
    "state, fidelity, notes, failure, attempts, reason, worker, duration_s, repeats"
)
_SELECT = f"{_OUTCOME} FROM trial"
FEASIBLE = "state = 'complete' AND repeats IS NULL"
"""Condition of the trials that a front is chosen from."""

_TOGETHER = 256
"""Rows that are decoded at once, so that they share the names of knobs in memory."""

_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_decode = json.JSONDecoder().decode


class StoredMetrics(PackedMetrics):
    """Metrics that are decoded when somebody asks for one: resuming needs none of them."""

    __slots__ = ("_packed", "_text")

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise TypeError("metrics that are no text")
        self._text = text
        self._packed: Metrics | None = None

    def plain(self) -> dict[str, float]:
        return self._decoded().plain()

    def __getitem__(self, name: str) -> float:
        return self._decoded()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._decoded())

    def __len__(self) -> int:
        return len(self._decoded())

    def _decoded(self) -> Metrics:
        if self._packed is None:
            self._packed = Metrics.of(_decode(self._text))
            self._text = ""
        return self._packed


def row_of(trial: Trial) -> tuple[Any, ...]:
    """What ``INSERT`` takes.

    Raises:
        ValueError: A number of the trial is not finite.
    """
    found = trial.evaluation
    return (
        trial.number,
        bytes.fromhex(design_digest(trial.design)),
        _encode(trial.design),
        found.state,
        _encode(found.objectives),
        _encode(found.constraints),
        _encode(plain(found.metrics)),
        found.fidelity,
        _encode(found.notes),
        found.failure,
        found.attempts,
        found.reason,
        trial.worker,
        found.duration_s,
        time.time(),
        trial.repeats,
    )


def read_rows(connection: sqlite3.Connection, where: str = "1") -> Iterator[Trial]:
    """Trials in ask order, one after the other; *where*: a condition in SQL, ours and nobody's.

    Raises:
        ValueError: A row holds something else than a trial.
    """
    rows = connection.execute(f"{_SELECT} WHERE {where} ORDER BY number")
    while part := rows.fetchmany(_TOGETHER):
        yield from _trials(part)


def read_refined(connection: sqlite3.Connection) -> Iterator[Trial]:
    """The designs that were judged again, in the order of their numbers.

    Raises:
        ValueError: A row holds something else than a trial.
    """
    yield from _trials(connection.execute(f"{_OUTCOME} FROM refined ORDER BY number").fetchall())


def read_numbered(connection: sqlite3.Connection, numbers: Iterable[int]) -> Iterator[Trial]:
    """The trials with these numbers, in their order.

    Raises:
        ValueError: A row holds something else than a trial.
    """
    for number in numbers:
        yield from _trials(connection.execute(f"{_SELECT} WHERE number = ?", (number,)).fetchall())


def read_numbers(connection: sqlite3.Connection) -> Iterator[int]:
    """Numbers of all trials that are no repeats, in ask order."""
    for row in connection.execute("SELECT number FROM trial WHERE repeats IS NULL ORDER BY number"):
        yield row[0]


def _shared(design: Design) -> Design:
    """*design* with words that are one in memory with those of all others: few, and met often."""
    for name, value in design.items():
        if value.__class__ is str:
            design[name] = intern(value)
    return design


def _notes(text: str) -> tuple[str, ...]:
    """Notes of a row; those that many rows share are one in memory."""
    return tuple([intern(note) for note in _decode(text)])


def _trials(rows: Sequence[tuple[Any, ...]]) -> Iterator[Trial]:
    texts = _decode(f"[{','.join(row[1] for row in rows)}]")
    for row, (params, objectives, constraints) in zip(rows, texts, strict=True):
        number, _, metrics, state, fidelity, notes, failure, attempts, *last = row
        reason, worker, duration_s, repeats = last
        yield Trial(
            number=number,
            design=_shared(params),
            evaluation=Evaluation(
                state=state,
                objectives=objectives,
                constraints=constraints,
                metrics=StoredMetrics(metrics),
                fidelity=fidelity,
                notes=_notes(notes),
                failure=failure,
                attempts=attempts,
                reason=reason,
                duration_s=duration_s,
            ),
            worker=worker,
            repeats=repeats,
        )

"""Trials as rows of the store, and back."""

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

from dse.evaluate import Evaluation
from dse.space import design_key
from dse.trials import Trial

_COLUMNS = (
    "number, key, params, state, objectives, constraints, metrics, fidelity, failure, attempts, "
    "reason, worker, duration_s, finished_unix_s, repeats"
)
INSERT = f"INSERT OR REPLACE INTO trial ({_COLUMNS}) VALUES ({', '.join('?' * 15)})"
_SELECT = (
    "SELECT number, '[' || params || ',' || objectives || ',' || constraints || ']', metrics, "
    "state, fidelity, failure, attempts, reason, worker, duration_s, repeats FROM trial"
)
_encode = json.JSONEncoder(separators=(",", ":")).encode
_decode = json.JSONDecoder().decode


class StoredMetrics(Mapping[str, float]):
    """Metrics that are decoded when somebody asks for one: resuming needs none of them."""

    __slots__ = ("_text", "_values")

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise TypeError("metrics that are no text")
        self._text = text
        self._values: dict[str, float] | None = None

    def __getitem__(self, name: str) -> float:
        return self._decoded()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._decoded())

    def __len__(self) -> int:
        return len(self._decoded())

    def _decoded(self) -> dict[str, float]:
        if self._values is None:
            self._values = _decode(self._text)
            self._text = ""
        return self._values


def row_of(trial: Trial) -> tuple[Any, ...]:
    """What ``INSERT`` takes."""
    found = trial.evaluation
    return (
        trial.number,
        blake2b(design_key(trial.design).encode(), digest_size=16).digest(),
        _encode(trial.design),
        found.state,
        _encode(found.objectives),
        _encode(found.constraints),
        _encode(dict(found.metrics)),
        found.fidelity,
        found.failure,
        found.attempts,
        found.reason,
        trial.worker,
        found.duration_s,
        time.time(),
        trial.repeats,
    )


def read_rows(connection: sqlite3.Connection) -> Iterator[Trial]:
    """All trials in ask order, one after the other.

    Raises:
        ValueError: A row holds something else than a trial.
    """
    for row in connection.execute(f"{_SELECT} ORDER BY number"):
        number, data, metrics, state, fidelity, failure, attempts, *last = row
        reason, worker, duration_s, repeats = last
        params, objectives, constraints = _decode(data)
        yield Trial(
            number=number,
            design=params,
            evaluation=Evaluation(
                state=state,
                objectives=objectives,
                constraints=constraints,
                metrics=StoredMetrics(metrics),
                fidelity=fidelity,
                failure=failure,
                attempts=attempts,
                reason=reason,
                duration_s=duration_s,
            ),
            worker=worker,
            repeats=repeats,
        )

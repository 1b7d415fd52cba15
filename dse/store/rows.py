"""Trials as rows of the store, and back."""

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from marshal import dumps
from sys import intern
from typing import Any
from zlib import crc32

from dse.evaluate import Evaluation
from dse.evaluate.metrics import Metrics, PackedMetrics
from dse.space import Design
from dse.store.errors import STORE, damaged
from dse.store.texts import encode, encode_metrics
from dse.study.trials import Trial

Row = tuple[Any, ...]
"""Row of any table: its first value is the checksum of the others."""

_FORM = 2
"""Form of ``marshal``: types and values, floats as their 8 bytes; equal since Python 2.5."""


def sealed_row(table: str, values: Row) -> Row:
    """The row of *table* with *values*: texts, integers, floats and nothing.

    Its checksum is a CRC-32, which tells any three flipped bits, any 32 in a row, and of all other
    changes all but 1 in 2^32.
    """
    return crc32(dumps(values, _FORM), _start(table)), *values


def unsound_rows(table: str, rows: Iterable[Row]) -> list[Row]:
    """Rows of *table* that are not as they were written."""
    start = _start(table)
    return [row for row in rows if row[0] != crc32(dumps(row[1:], _FORM), start)]


def _start(table: str) -> int:
    """Start of the checksums of *table*, so that no row passes in another one."""
    return crc32(table.encode())


@dataclass(frozen=True, slots=True)
class Total:
    """Checksum of the rows of a table, in any order.

    Attributes:
        rows: Their number.
        checksums: The sum of their checksums.
    """

    rows: int = 0
    checksums: int = 0

    def plus(self, rows: Sequence[Row]) -> "Total":
        """With more rows."""
        return Total(self.rows + len(rows), self.checksums + sum(row[0] for row in rows))

    def with_total(self, further: "Total") -> "Total":
        """With the rows that *further* is of."""
        return Total(self.rows + further.rows, self.checksums + further.checksums)

    def without_total(self, gone: "Total") -> "Total":
        """Without the rows that *gone* is of."""
        return Total(self.rows - gone.rows, self.checksums - gone.checksums)

    def minus(self, rows: Sequence[Row]) -> "Total":
        """Without some of its rows."""
        return Total(self.rows - len(rows), self.checksums - sum(row[0] for row in rows))


_decode = json.JSONDecoder().decode
_encode_notes = lru_cache(1024)(encode)  # of rows by the thousand few differ


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
            try:
                self._packed = Metrics.of(_decode(self._text))
            except (ValueError, TypeError, AttributeError) as error:
                raise damaged(STORE, f"metrics: {error}") from None
            self._text = ""
        return self._packed


def row_of(table: str, trial: Trial) -> Row:
    """Row of a trial in *table*, ``trial`` or ``refined``.

    Raises:
        ValueError: A number of the trial is not finite.
    """
    found = trial.evaluation
    values = (
        trial.number,
        encode(trial.design),
        found.state,
        encode(found.objectives),
        encode(found.constraints) if found.constraints else "{}",
        encode_metrics(found.metrics),
        found.fidelity,
        _encode_notes(found.notes),
        found.failure,
        found.attempts,
        found.reason,
        trial.worker,
        float(found.duration_s),
        time.time(),
        trial.repeats,
        trial.provenance,
    )
    return sealed_row(table, values)


def end_of(row: Row) -> float:
    """Unix time, in seconds, at which the evaluation of a trial came in."""
    return float(row[-3])


def may_be_on_front(row: Row) -> bool:
    """True if a front may be chosen from the trial in *row*."""
    return row[3] == "complete" and row[-2] is None


def _share_words(designs: Sequence[Design]) -> None:
    """Make words of *designs* one in memory with those of all others: few, and met often."""
    first = designs[0] if designs else {}
    knobs = [name for name, value in first.items() if value.__class__ is str]
    for design in designs:
        for name in knobs:
            if (value := design.get(name)).__class__ is str:
                design[name] = intern(value)


def trials_of(rows: Sequence[Row]) -> Iterator[Trial]:
    """The trials in *rows*, decoded together, so that they share names of knobs in memory.

    Raises:
        ValueError: A row holds something else than a trial.
    """
    parts = [f"[{row[2]},{row[4]},{row[5]},{row[8]}]" for row in rows]
    texts = _decode(f"[{','.join(parts)}]")
    _share_words([params for params, *_ in texts])
    for row, (params, objectives, constraints, notes) in zip(rows, texts, strict=True):
        _, number, _, state, _, _, metrics, fidelity, _, *others = row
        failure, attempts, reason, worker, duration_s, _, repeats, provenance = others
        yield Trial(
            number=number,
            design=params,
            evaluation=Evaluation(
                state=state,
                objectives=objectives,
                constraints=constraints,
                metrics=StoredMetrics(metrics),
                fidelity=fidelity,
                notes=tuple([intern(note) for note in notes]),
                failure=failure,
                attempts=attempts,
                reason=reason,
                duration_s=duration_s,
            ),
            worker=worker,
            repeats=repeats,
            provenance=provenance,
        )

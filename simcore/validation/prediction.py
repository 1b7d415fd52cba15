"""Prediction for one row of a table."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from simcore.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """Prediction for one row.

    Attributes:
        id: Of the row.
        status: ``ok``, ``unsupported`` or ``error``.
        reason: Why not ``ok``.
        time_s: Of one iteration, or of one collective; None if not ``ok``.
        memory_bytes: Of the fullest NPU; None for collectives.
    """

    id: str
    status: str
    reason: str = ""
    time_s: float | None = None
    memory_bytes: float | None = None


def write_training(path: Path, predictions: Iterable[Prediction]) -> dict[str, int]:
    """Write one line per prediction; returns how many have which status."""
    header = ["id", "status", "reason", "iter_time_s", "memory_bytes"]
    lines = (
        [p.id, p.status, p.reason, _cell(p.time_s), _cell(p.memory_bytes)] for p in predictions
    )
    return _write(path, header, lines)


def write_collectives(path: Path, predictions: Iterable[Prediction]) -> dict[str, int]:
    """Write one line per prediction of a collective; returns how many have which status."""
    lines = ([p.id, p.status, p.reason, _cell(p.time_s)] for p in predictions)
    return _write(path, ["id", "status", "reason", "time_s"], lines)


def _write(path: Path, header: list[str], lines: Iterable[list[str]]) -> dict[str, int]:
    counts: dict[str, int] = {}
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(header)
            for line in lines:
                writer.writerow(line)
                counts[line[1]] = counts.get(line[1], 0) + 1
    except OSError as error:
        raise ConfigError(str(path), "must be writable", got=error.strerror) from None
    return counts


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.9g}"

"""Errors of predictions against measured times: by source, by accelerator, and as a ranking."""

import csv
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simcore.errors import ConfigError
from simcore.validation.bands.band import Band
from simcore.validation.rows import MeasuredRow
from simcore.validation.served.batches import BatchPrediction
from simcore.validation.served.predict import ServedPrediction


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """Prediction for one row.

    Attributes:
        id: Of the row.
        status: ``ok``, ``unsupported`` or ``error``.
        reason: Why not ``ok``.
        time_s: Of one iteration, or of one collective; None if not ``ok``.
        memory_bytes: Of the fullest NPU; None for collectives.
        band: Of the iteration time; None if not ``ok``, and for collectives.
    """

    id: str
    status: str
    reason: str = ""
    time_s: float | None = None
    memory_bytes: float | None = None
    band: Band | None = None


def write_training(path: Path, predictions: Iterable[Prediction]) -> dict[str, int]:
    """Write one line per prediction; returns how many have which status."""
    header = ["id", "status", "reason", "iter_time_s", "memory_bytes"]
    header += ["iter_time_low_s", "iter_time_high_s", "trust"]
    lines = (
        [
            *(p.id, p.status, p.reason, _cell(p.time_s), _cell(p.memory_bytes)),
            *_ends(p.band, p.time_s),
            p.band.trust if p.band else "",
        ]
        for p in predictions
    )
    return _write(path, header, lines)


def write_collectives(path: Path, predictions: Iterable[Prediction]) -> dict[str, int]:
    """Write one line per prediction of a collective; returns how many have which status."""
    lines = ([p.id, p.status, p.reason, _cell(p.time_s)] for p in predictions)
    return _write(path, ["id", "status", "reason", "time_s"], lines)


def write_serving(path: Path, predictions: "Iterable[ServedPrediction]") -> dict[str, int]:
    """Write one line per prediction of a load test; returns how many have which status."""
    header = ["id", "status", "reason", "ttft_ms", "tpot_ms", "tok_s_per_gpu"]
    header += ["tpot_low_ms", "tpot_high_ms"]

    def line(p: "ServedPrediction") -> list[str]:
        times = [None if time is None else 1e3 * time for time in (p.ttft_s, p.tpot_s)]
        cells = [_cell(cell) for cell in (*times, p.tokens_per_s_per_npu)]
        return [p.id, p.status, p.reason, *cells, *_ends(p.band, times[1])]

    return _write(path, header, map(line, predictions))


def write_batches(path: Path, predictions: "Iterable[BatchPrediction]") -> dict[str, int]:
    """Write one line per prediction of a batch; returns how many have which status."""
    header = ["id", "status", "reason", "ttft_ms", "tpot_ms", "tok_s_per_gpu"]
    header += ["tpot_low_ms", "tpot_high_ms", "tok_s_low", "tok_s_high"]

    def line(p: "BatchPrediction") -> list[str]:
        times = [None if time is None else 1e3 * time for time in (p.ttft_s, p.tpot_s)]
        rate, (low, high) = p.tokens_per_s_per_npu, p.band
        token = [None if times[1] is None else times[1] / part for part in (high, low)]
        rates = [None if rate is None else rate * part for part in (low, high)]
        return [p.id, p.status, p.reason, *(_cell(c) for c in (*times, rate, *token, *rates))]

    return _write(path, header, map(line, predictions))


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


def _ends(band: Band | None, time: float | None) -> list[str]:
    """Both ends of a band, in the unit of *time*."""
    ends = band.of(time) if band is not None and time is not None else (None, None)
    return [_cell(end) for end in ends]


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.9g}"


LAYOUT_GROUP = (
    *("source", "model", "layers", "hidden", "seq_len"),
    *("global_batch", "precision", "gpu", "num_gpus"),
)
"""Rows that agree in these columns differ in their layout alone."""
LEAST_LAYOUTS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A row with a measured time, and what was predicted for it.

    Attributes:
        predicted_s: None where the row was not predicted.
    """

    row: MeasuredRow
    measured_s: float
    predicted_s: float | None

    @property
    def error(self) -> float:
        """(predicted - measured) / measured; not a number where there is no prediction."""
        if self.predicted_s is None:
            return float("nan")
        return self.predicted_s / self.measured_s - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """Errors of a group of rows, as fractions.

    Attributes:
        rows: With a measured time.
        covered: Of these, how many were predicted.
    """

    name: str
    rows: int
    covered: int
    mean_absolute: float
    median_absolute: float
    largest: float
    bias: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Quality of the order in which predictions put the layouts of one model on one machine.

    Attributes:
        groups: Of at least ``LEAST_LAYOUTS`` rows.
        spearman: Mean rank correlation.
        extra_time: Mean of how much longer the layout predicted to be fastest takes than the best.
        largest_extra_time: Over all groups.
        least_extra_time: The mean where the best of the predicted times is always chosen, rows with
            equal predictions counting as the slowest of them: no better order of these is possible.
        least_largest_extra_time: Likewise, over all groups.
        exact: Groups in which it is the best.
    """

    groups: int
    spearman: float
    extra_time: float
    largest_extra_time: float
    least_extra_time: float
    least_largest_extra_time: float
    exact: int


def compare(
    rows: Sequence[MeasuredRow],
    predictions: Sequence[Prediction],
    measured: Callable[[MeasuredRow], float | None],
) -> list[Compared]:
    """Rows with a *measured* time, in s, with their predictions."""
    by_id = {prediction.id: prediction for prediction in predictions}
    found = []
    for row in rows:
        measured_s = measured(row)
        if measured_s is not None:
            predicted_s = by_id[row.id].time_s if row.id in by_id else None
            found.append(Compared(row=row, measured_s=measured_s, predicted_s=predicted_s))
    return found


def errors_by(compared: Sequence[Compared], column: str) -> list[Errors]:
    """Errors by the content of *column*, the largest groups first."""
    groups: dict[str, list[float]] = defaultdict(list)
    for one in compared:
        groups[one.row.text(column)].append(one.error)
    found = [_errors(name, np.array(errors)) for name, errors in groups.items()]
    return sorted(found, key=lambda errors: (-errors.rows, errors.name))


def _errors(name: str, errors: NDArray[np.float64]) -> Errors:
    known = errors[~np.isnan(errors)]
    size = np.abs(known) if known.size else np.array([np.nan])
    return Errors(
        name=name,
        rows=int(errors.size),
        covered=int(known.size),
        mean_absolute=float(size.mean()),
        median_absolute=float(np.median(size)),
        largest=float(size.max()),
        bias=float(known.mean()) if known.size else float("nan"),
    )


def ranking(compared: Sequence[Compared]) -> Ranking:
    """Quality of the predicted order."""
    groups: dict[tuple[str, ...], list[tuple[float, float]]] = defaultdict(list)
    for one in compared:
        if one.predicted_s is not None:
            key = tuple(one.row.text(column) for column in LAYOUT_GROUP)
            groups[key].append((one.predicted_s, one.measured_s))
    correlations, extra, least = [], [], []
    for pairs in groups.values():
        if len(pairs) < LEAST_LAYOUTS:
            continue
        predicted, measured = np.array(pairs).T
        first = measured[predicted == predicted.min()].max()  # a tie does not count as knowing
        extra.append(float(first / measured.min() - 1))
        told_apart = [measured[predicted == value].max() for value in set(predicted)]
        least.append(float(min(told_apart) / measured.min() - 1))
        ranks = _ranks(predicted), _ranks(measured)
        if all(np.ptp(rank) > 0 for rank in ranks):
            correlations.append(float(np.corrcoef(*ranks)[0, 1]))
    return Ranking(
        groups=len(extra),
        spearman=float(np.mean(correlations)) if correlations else float("nan"),
        extra_time=float(np.mean(extra)) if extra else float("nan"),
        largest_extra_time=max(extra, default=float("nan")),
        least_extra_time=float(np.mean(least)) if least else float("nan"),
        least_largest_extra_time=max(least, default=float("nan")),
        exact=sum(value == 0 for value in extra),
    )


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks from 0, equal values sharing the mean of theirs."""
    below = (values[None, :] < values[:, None]).sum(axis=1)
    equal = (values[None, :] == values[:, None]).sum(axis=1)
    return np.asarray(below + (equal - 1) / 2, np.float64)

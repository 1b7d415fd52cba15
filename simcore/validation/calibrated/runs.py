"""Runs of one's own: rows of a table, their measured times, and what is predicted for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from simcore.config import Run
from simcore.errors import ConfigError, SimcoreError
from simcore.formats.logs import Observed, read_log
from simcore.simulation import simulate_run
from simcore.validation.bands.classes import SERVING
from simcore.validation.bands.serving import served_size
from simcore.validation.calibrated.file import SiteLoadTest, SiteRun
from simcore.validation.calibrated.place import RunPlace, load_of
from simcore.validation.machine import Machines
from simcore.validation.mapping import run_of
from simcore.validation.report import training_s
from simcore.validation.rows import MeasuredRow
from simcore.validation.served.predict import ServedPredictor
from simcore.workload import TrainingWorkload

_LOADED = frozenset({"tpot_ms", "concurrency", "input_len", "output_len"})
"""Columns that tables of load tests have, and no others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRun:
    """One row.

    Attributes:
        name: Its id.
        run: What it describes.
        predicted_s: Time of one iteration.
        measured_s: None: it is yet to be measured.
    """

    name: str
    run: Run
    predicted_s: float
    measured_s: float | None

    @property
    def place(self) -> RunPlace:
        """Its place among other runs."""
        return RunPlace.of(self.run)

    def as_site_run(self) -> SiteRun:
        """The row for the file of a calibration; it must have been measured."""
        assert self.measured_s is not None
        kind, number_format, npu, layout = self.place.levels
        plan, workload = self.run.plan, self.run.workload
        assert isinstance(workload, TrainingWorkload)
        return SiteRun.build(
            run=self.name,
            kind=kind,
            number_format=number_format,
            npu=npu,
            layout=layout,
            parameters=workload.model.parameters,
            hidden=workload.model.hidden,
            layers=workload.model.layers,
            sequence=workload.sequence,
            npus=self.run.platform.npus,
            tp=plan.tp,
            pp=plan.pp,
            cp=plan.cp,
            ep=plan.ep,
            micro_batch=plan.micro_batch,
            sharded=plan.zero_stage == 3,
            predicted_s=self.predicted_s,
            measured_s=self.measured_s,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnLoadTest:
    """One row of load tests.

    Attributes:
        name: Its id.
        row: What it describes.
        place: Its place among others.
        predicted_s: Time per output token.
        measured_s: None: it is yet to be measured.
    """

    name: str
    row: MeasuredRow
    place: RunPlace
    predicted_s: float
    measured_s: float | None

    def as_site_run(self) -> SiteLoadTest:
        """The row for the file of a calibration; it must have been measured."""
        assert self.measured_s is not None
        parameters, npus = served_size(self.row)
        requests_per_npu, tokens = load_of(self.row)
        return SiteLoadTest.build(
            run=self.name,
            **dict(zip(SERVING.levels, self.place.levels, strict=True)),
            parameters=parameters,
            npus=npus,
            requests_per_npu=requests_per_npu,
            tokens=tokens,
            predicted_s=self.predicted_s,
            measured_s=self.measured_s,
        )


Own = TypeVar("Own", OwnRun, OwnLoadTest)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRuns(Generic[Own]):
    """The rows of a table.

    Attributes:
        measured: With a measured time.
        candidates: Without one.
        skipped: Names of rows that cannot be predicted, with the reason.
    """

    measured: tuple[Own, ...]
    candidates: tuple[Own, ...]
    skipped: tuple[tuple[str, str], ...]


def read_runs(path: Path, logs: Mapping[str, Path]) -> OwnRuns[OwnRun]:
    """Predict the rows of a table of training runs.

    Args:
        path: Table with the columns of published training runs; a row without a time is one that
            could be measured next.
        logs: By the id of a row, the log that tells its time.

    Raises:
        ConfigError: The table or a log cannot be read, a log belongs to no row, ids repeat, or no
            row has both a time and a prediction.
    """
    rows = list(MeasuredRow.all_of(path))
    _check_ids(path, [row.id for row in rows])
    machines, found, skipped = Machines(), [], []
    for row in rows:
        try:
            run = run_of(row, machines)
            predicted_s = simulate_run(run).iteration_time_s
        except ConfigError:
            raise
        except SimcoreError as error:
            skipped.append((row.id, str(error)))
            continue
        measured_s = (
            _logged_s(read_log(logs[row.id]), run, logs[row.id]) if row.id in logs else None
        )
        measured_s = training_s(row) if measured_s is None else measured_s
        found.append(OwnRun(name=row.id, run=run, predicted_s=predicted_s, measured_s=measured_s))
    return _own_runs(path, found, skipped, "iter_time_s")


def is_of_load_tests(path: Path) -> bool:
    """True if the table *path* is one of load tests, by its columns.

    Raises:
        ConfigError: The table cannot be read.
    """
    first = next(iter(MeasuredRow.all_of(path)), None)
    return first is not None and first.cells.keys() >= _LOADED


def read_load_tests(path: Path, logs: Mapping[str, Path]) -> OwnRuns[OwnLoadTest]:
    """Predict the rows of a table of load tests.

    Args:
        path: Table with the columns of published load tests; a row without ``tpot_ms`` is one that
            could be measured next.
        logs: By the id of a row, the result of vLLM's benchmark that tells its time.

    Raises:
        ConfigError: As for ``read_runs``.
    """
    rows, predictor = list(MeasuredRow.all_of(path)), ServedPredictor()
    _check_ids(path, [row.id for row in rows])
    found, skipped = [], []
    for row in rows:
        predicted = predictor.predict(row)
        if predicted.tpot_s is None:
            skipped.append((row.id, predicted.reason))
            continue
        measured_s = _answered_s(row, logs)
        place = RunPlace.of_row(row)
        found.append(
            OwnLoadTest(
                name=row.id,
                row=row,
                place=place,
                predicted_s=predicted.tpot_s,
                measured_s=measured_s,
            )
        )
    return _own_runs(path, found, skipped, "tpot_ms")


def _answered_s(row: MeasuredRow, logs: Mapping[str, Path]) -> float | None:
    """Measured time per output token of a row; None: there is none."""
    if row.id in logs:
        seen = read_log(logs[row.id])
        if seen.per_token_s is None:
            rule = "tells no time per output token: a load test needs a result of vLLM's benchmark"
            raise ConfigError(str(logs[row.id]), rule, got=seen.tool)
        return seen.per_token_s
    measured_ms = row.number("tpot_ms")
    return measured_ms * 1e-3 if measured_ms else None


def _own_runs(
    path: Path, found: list[Own], skipped: list[tuple[str, str]], column: str
) -> OwnRuns[Own]:
    measured = tuple(one for one in found if one.measured_s is not None)
    if not measured:
        rule = f"must hold a row that can be predicted and has {column}, or a log (--log)"
        got = f"{len(found)} predicted rows without a time"
        got += f"; {skipped[0][0]}: {skipped[0][1]}" if skipped else ""
        raise ConfigError(str(path), rule, got=got)
    candidates = tuple(one for one in found if one.measured_s is None)
    return OwnRuns(measured=measured, candidates=candidates, skipped=tuple(skipped))


def _check_ids(path: Path, ids: list[str]) -> None:
    repeated = next((name for name in ids if ids.count(name) > 1), None)
    if repeated is not None:
        raise ConfigError(f"{path}: id", "must name each row once", got=repeated)


def check_logs(paths: Sequence[Path], logs: Mapping[str, Path]) -> None:
    """Refuse a log that belongs to no row, or to two.

    Raises:
        ConfigError: There is one.
    """
    ids = [row.id for path in paths for row in MeasuredRow.all_of(path)]
    tables = " or ".join(map(str, paths))
    for name in logs:
        if ids.count(name) != 1:
            raise ConfigError("--log", f"must name one row of {tables}", got=name)


def _logged_s(seen: Observed, run: Run, path: Path) -> float:
    """Time of one iteration that a log tells of *run*."""
    if seen.step_s is not None:
        return seen.step_s
    if seen.tokens_per_s_per_npu is not None:
        tokens = run.workload.tokens
        return float(tokens / (seen.tokens_per_s_per_npu * run.platform.npus))
    rule = "tells no time of a training iteration"
    raise ConfigError(str(path), rule, got=seen.tool)

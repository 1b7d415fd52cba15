"""Runs of one's own: rows of a table, their measured times, and what is predicted for them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from simcore.config import Run
from simcore.errors import ConfigError, SimcoreError
from simcore.formats.logs import Observed, read_log
from simcore.simulation import simulate_run
from simcore.validation.calibrated.file import SiteRun
from simcore.validation.calibrated.place import RunPlace
from simcore.validation.machine import Machines
from simcore.validation.mapping import run_of
from simcore.validation.report import training_s
from simcore.validation.rows import MeasuredRow


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
        plan = self.run.plan
        return SiteRun.build(
            run=self.name,
            kind=kind,
            number_format=number_format,
            npu=npu,
            layout=layout,
            parameters=self.run.workload.model.parameters,
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
class OwnRuns:
    """The rows of a table.

    Attributes:
        measured: With a measured time.
        candidates: Without one.
        skipped: Names of rows that cannot be predicted, with the reason.
    """

    measured: tuple[OwnRun, ...]
    candidates: tuple[OwnRun, ...]
    skipped: tuple[tuple[str, str], ...]


def read_runs(path: Path, logs: Mapping[str, Path]) -> OwnRuns:
    """Predict the rows of a table.

    Args:
        path: Table with the columns of published training runs; a row without a time is one that
            could be measured next.
        logs: By the id of a row, the log that tells its time.

    Raises:
        ConfigError: The table or a log cannot be read, a log belongs to no row, ids repeat, or no
            row has both a time and a prediction.
    """
    rows = list(MeasuredRow.all_of(path))
    _check_ids(path, [row.id for row in rows], logs)
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
    measured = tuple(one for one in found if one.measured_s is not None)
    if not measured:
        rule = "must hold a row that can be predicted and has iter_time_s, or a log (--log)"
        got = f"{len(found)} predicted rows without a time"
        got += f"; {skipped[0][0]}: {skipped[0][1]}" if skipped else ""
        raise ConfigError(str(path), rule, got=got)
    candidates = tuple(one for one in found if one.measured_s is None)
    return OwnRuns(measured=measured, candidates=candidates, skipped=tuple(skipped))


def _check_ids(path: Path, ids: list[str], logs: Mapping[str, Path]) -> None:
    repeated = next((name for name in ids if ids.count(name) > 1), None)
    if repeated is not None:
        raise ConfigError(f"{path}: id", "must name each row once", got=repeated)
    for name in logs:
        if name not in ids:
            raise ConfigError("--log", f"must name a row of {path}", got=name)


def _logged_s(seen: Observed, run: Run, path: Path) -> float:
    """Time of one iteration that a log tells of *run*."""
    if seen.step_s is not None:
        return seen.step_s
    if seen.tokens_per_s_per_npu is not None:
        tokens = run.workload.tokens
        return float(tokens / (seen.tokens_per_s_per_npu * run.platform.npus))
    rule = "tells no time of a training iteration"
    raise ConfigError(str(path), rule, got=seen.tool)

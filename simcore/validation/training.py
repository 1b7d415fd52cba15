"""Predicts measured training runs row by row, with the simulator."""

from collections.abc import Iterator
from pathlib import Path

from simcore.errors import SimcoreError
from simcore.simulation import simulate_run
from simcore.validation.bands import prediction_band
from simcore.validation.machine import Machines
from simcore.validation.mapping import run_of
from simcore.validation.rows import MeasuredRow, UnsupportedRow
from simcore.validation.score import Prediction


def predict_training(path: Path) -> Iterator[Prediction]:
    """One prediction per row of the training table *path*; equal runs are simulated once.

    Raises:
        ConfigError: The table cannot be read.
    """
    predictor = TrainingPredictor(bands=True)
    for row in MeasuredRow.all_of(path):
        yield predictor.predict(row)


class TrainingPredictor:
    """Predicts rows, and remembers equal runs."""

    def __init__(self, machines: Machines | None = None, *, bands: bool = False) -> None:
        """*bands*: predictions get their bands, for which the tables of residuals must be there."""
        self._machines, self._bands = machines or Machines(), bands
        self._known: dict[str, tuple[float, float]] = {}

    def predict(self, row: MeasuredRow) -> Prediction:
        """Prediction of *row*; never raises for what a row holds."""
        try:
            run = run_of(row, self._machines)
        except UnsupportedRow as error:
            return Prediction(id=row.id, status="unsupported", reason=str(error))
        except SimcoreError as error:
            return Prediction(id=row.id, status="error", reason=str(error))
        key = run.model_dump_json(exclude={"workload": {"model": {"name"}}})
        if key not in self._known:
            try:
                result = simulate_run(run)
            except SimcoreError as error:
                return Prediction(id=row.id, status="unsupported", reason=str(error))
            self._known[key] = result.iteration_time_s, float(result.footprint_bytes)
        time_s, memory_bytes = self._known[key]
        return Prediction(
            id=row.id,
            status="ok",
            time_s=time_s,
            memory_bytes=memory_bytes,
            band=prediction_band(run) if self._bands else None,
        )

"""MLflow: to MLFLOW_TRACKING_URI and MLFLOW_EXPERIMENT_NAME, as for any program that logs to it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from dse.trackers.base import Tracker

_LONGEST = 500
"""Characters of a setting, which every store of MLflow takes."""


class MlflowTracker(Tracker):
    """A run of MLflow.

    Source: MLflow, documentation of ``mlflow.start_run``, ``log_params``, ``log_metrics`` and
    ``log_artifact``.
    """

    package: ClassVar[str] = "mlflow"

    def __init__(self) -> None:
        self._mlflow: Any = self.module()

    def begin(self, name: str, settings: Mapping[str, str | int | float]) -> None:
        self._mlflow.start_run(run_name=name)
        self._mlflow.log_params({key: str(value)[:_LONGEST] for key, value in settings.items()})

    def log(self, values: Mapping[str, float], proposals: int) -> None:
        self._mlflow.log_metrics(dict(values), step=proposals)

    def keep(self, files: Sequence[Path]) -> None:
        for file in files:
            self._mlflow.log_artifact(str(file))

    def end(self, *, failed: bool) -> None:
        self._mlflow.end_run("FAILED" if failed else "FINISHED")

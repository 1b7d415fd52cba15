"""Weights & Biases: to WANDB_PROJECT (dse if it is not set) in WANDB_MODE, online or offline."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from dse.trackers.base import Tracker


class WandbTracker(Tracker):
    """A run of Weights & Biases.

    Source: W&B, documentation of ``wandb.init``, ``Run.log``, ``Artifact`` and ``Run.finish``.
    """

    package: ClassVar[str] = "wandb"

    def __init__(self) -> None:
        self._wandb: Any = self.module()
        self._run: Any = None

    def begin(self, name: str, settings: Mapping[str, str | int | float]) -> None:
        project = os.environ.get("WANDB_PROJECT", "dse")
        self._run = self._wandb.init(project=project, name=name, config=dict(settings))

    def log(self, values: Mapping[str, float], proposals: int) -> None:
        self._run.log(dict(values), step=proposals)

    def keep(self, files: Sequence[Path]) -> None:
        artifact = self._wandb.Artifact("study", type="study")
        for file in files:
            artifact.add_file(str(file))
        self._run.log_artifact(artifact)

    def end(self, *, failed: bool) -> None:
        self._run.finish(exit_code=int(failed))

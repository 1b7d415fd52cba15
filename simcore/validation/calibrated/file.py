"""The file of a calibration: runs of one's own, predicted and measured."""

from math import log
from pathlib import Path
from typing import Self

import yaml
from pydantic import Field, model_validator

from simcore.errors import ConfigError
from simcore.files.yaml_file import FILE_VERSION, read_table
from simcore.schema import Schema, Seconds
from simcore.validation.bands.classes import SERVING
from simcore.validation.calibrated.place import RunPlace

MOST_RUNS = 500
"""Runs of one file; the first twenty do most."""


class SiteRun(Schema):
    """One run of a site.

    Attributes:
        run: Name.
        kind, number_format, npu, layout: Class of its prediction.
        parameters, hidden, layers: Of its model.
        sequence: Tokens of a sequence.
        npus: Of its machine.
        tp, pp, cp, ep, micro_batch: Of its plan.
        sharded: Whether weights are sharded over data parallelism.
        predicted_s, measured_s: Time of one iteration.
    """

    run: str
    kind: str
    number_format: str
    npu: str
    layout: str
    parameters: int = Field(ge=1)
    hidden: int = Field(ge=1)
    layers: int = Field(ge=1)
    sequence: int = Field(ge=1)
    npus: int = Field(ge=1)
    tp: int = Field(ge=1)
    pp: int = Field(ge=1)
    cp: int = Field(ge=1)
    ep: int = Field(ge=1)
    micro_batch: int = Field(ge=1)
    sharded: bool
    predicted_s: Seconds = Field(gt=0, alias="predicted")
    measured_s: Seconds = Field(gt=0, alias="measured")

    @property
    def residual(self) -> float:
        """ln(measured / predicted)."""
        return log(self.measured_s / self.predicted_s)

    @property
    def place(self) -> RunPlace:
        """Its place among other runs."""
        return RunPlace.of_training(
            levels=(self.kind, self.number_format, self.npu, self.layout),
            model=(self.parameters, self.hidden, self.layers),
            npus=self.npus,
            tokens=self.sequence * self.micro_batch,
            degrees=(self.tp, self.pp, self.cp, self.ep),
            sharded=self.sharded,
        )


class SiteLoadTest(Schema):
    """One load test of a site.

    Attributes:
        run: Name.
        mode, kind, engine, npu, number_format, regime: Class of its prediction.
        parameters: Of its model.
        npus: Of its machine.
        requests_per_npu: At once.
        tokens: Mean length of a request while it is answered.
        predicted_s, measured_s: Time per output token.
    """

    run: str
    mode: str
    kind: str
    engine: str
    npu: str
    number_format: str
    regime: str
    parameters: int = Field(ge=1)
    npus: int = Field(ge=1)
    requests_per_npu: float = Field(gt=0)
    tokens: float = Field(gt=0)
    predicted_s: Seconds = Field(gt=0, alias="predicted")
    measured_s: Seconds = Field(gt=0, alias="measured")

    @property
    def residual(self) -> float:
        """ln(measured / predicted)."""
        return log(self.measured_s / self.predicted_s)

    @property
    def place(self) -> RunPlace:
        """Its place among other load tests."""
        return RunPlace.of_load_test(
            levels=tuple(getattr(self, level) for level in SERVING.levels),
            parameters=self.parameters,
            npus=self.npus,
            requests_per_npu=self.requests_per_npu,
            tokens=self.tokens,
        )


class Calibration(Schema):
    """Runs of a site that predictions are to be moved by, each kind those of its own kind.

    Attributes:
        name: Of the site, or of the file.
        simcore_version: That predicted them.
        runs: Of training.
        load_tests: Of services.
    """

    name: str = ""
    simcore_version: str = ""
    runs: tuple[SiteRun, ...] = Field(default=(), max_length=MOST_RUNS)
    load_tests: tuple[SiteLoadTest, ...] = Field(default=(), max_length=MOST_RUNS)

    @model_validator(mode="after")
    def _check_any(self) -> Self:
        if not (self.runs or self.load_tests):
            raise ConfigError("runs", "must hold a run, or load_tests a load test", got=[])
        return self


def load_calibration(path: Path) -> Calibration:
    """Read the file of a calibration.

    Raises:
        ConfigError: It cannot be read, or is none.
    """
    return Calibration.from_file_data(read_table(path), at=str(path))


def write_calibration(path: Path, calibration: Calibration) -> None:
    """Write the file of a calibration.

    Raises:
        ConfigError: *path* cannot be written.
    """
    table: dict[str, object] = {
        "version": FILE_VERSION,
        "name": calibration.name,
        "simcore_version": calibration.simcore_version,
    }
    for key, runs in (("runs", calibration.runs), ("load_tests", calibration.load_tests)):
        if runs:
            table[key] = [_as_table(run) for run in runs]
    text = "# Written by `simcore calibrate`; read by `simcore simulate|serve --calibration`.\n"
    text += yaml.safe_dump(table, sort_keys=False, width=100)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(str(path), "must be writable", got=error.strerror) from None


def _as_table(run: SiteRun | SiteLoadTest) -> dict[str, object]:
    table = run.model_dump(exclude={"predicted_s", "measured_s"})
    return {
        **table,
        "predicted": f"{run.predicted_s:.6g} s",
        "measured": f"{run.measured_s:.6g} s",
    }

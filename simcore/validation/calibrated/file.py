"""The file of a calibration: runs of one's own, predicted and measured."""

from collections.abc import Sequence
from math import log, log2
from pathlib import Path

import yaml
from pydantic import Field

from simcore.errors import ConfigError
from simcore.files.yaml_file import FILE_VERSION, read_table
from simcore.schema import Schema, Seconds
from simcore.validation.calibrated.place import SHARDED, RunPlace

MOST_RUNS = 500
"""Runs of one file; the first twenty do most."""


class SiteRun(Schema):
    """One run of a site.

    Attributes:
        run: Name.
        kind, number_format, npu, layout: Class of its prediction.
        parameters: Of its model.
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
        degrees = (self.tp, self.pp, self.cp, self.ep, self.micro_batch)
        return RunPlace(
            levels=(self.kind, self.number_format, self.npu, self.layout),
            model=(log2(self.parameters), log2(self.npus)),
            layout=(*map(log2, degrees), SHARDED if self.sharded else 0.0),
        )


class Calibration(Schema):
    """Runs of a site that predictions are to be moved by.

    Attributes:
        name: Of the site, or of the file.
        simcore_version: That predicted them.
        runs: The runs.
    """

    name: str = ""
    simcore_version: str = ""
    runs: tuple[SiteRun, ...] = Field(min_length=1, max_length=MOST_RUNS)


def load_calibration(path: Path) -> Calibration:
    """Read the file of a calibration.

    Raises:
        ConfigError: It cannot be read, or is none.
    """
    return Calibration.from_file_data(read_table(path), at=str(path))


def write_calibration(path: Path, name: str, version: str, runs: Sequence[SiteRun]) -> None:
    """Write the file of a calibration.

    Raises:
        ConfigError: *path* cannot be written.
    """
    table = {
        "version": FILE_VERSION,
        "name": name,
        "simcore_version": version,
        "runs": [_as_table(run) for run in runs],
    }
    text = "# Written by `simcore calibrate`; read by `simcore simulate --calibration`.\n"
    text += yaml.safe_dump(table, sort_keys=False, width=100)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(str(path), "must be writable", got=error.strerror) from None


def _as_table(run: SiteRun) -> dict[str, object]:
    table = run.model_dump(exclude={"predicted_s", "measured_s"})
    return {
        **table,
        "predicted": f"{run.predicted_s:.6g} s",
        "measured": f"{run.measured_s:.6g} s",
    }

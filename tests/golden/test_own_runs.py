"""A few runs of a published source, taken for a site, lower the error of its others."""

from math import log
from pathlib import Path

import numpy as np
import pytest

from simcore.validation.bands.classes import TRAINING
from simcore.validation.bands.shipped import shipped, shipped_constants
from simcore.validation.calibrated.place import RunPlace
from simcore.validation.calibrated.posterior import Posterior
from simcore.validation.calibrated.site_runs import SourceRun, left_out_widths, widths_at
from simcore.validation.machine import Machines
from simcore.validation.mapping import run_of
from simcore.validation.report import training_s
from simcore.validation.rows import MeasuredRow
from simcore.validation.training import TrainingPredictor

TABLE = Path(__file__).parents[3] / "shared" / "golden" / "hardware" / "llm_training.csv"
pytestmark = pytest.mark.skipif(
    not TABLE.exists(), reason="the published measurements are not on this machine"
)
SITE = "BigScience BLOOM A100 sweeps"
OWN = 5


def _runs() -> list[SourceRun]:
    machines, found = Machines(), []
    predictor = TrainingPredictor(machines)
    for row in MeasuredRow.all_of(TABLE):
        measured_s = training_s(row) if row.text("source") == SITE else None
        predicted_s = predictor.predict(row).time_s if measured_s else None
        if measured_s and predicted_s:
            place = RunPlace.of(run_of(row, machines))
            residual = log(measured_s / predicted_s)
            found.append(SourceRun(source=SITE, place=place, residual=residual))
    return found


def test_five_runs_chosen_as_advised_lower_the_error_of_the_others_by_a_sixth() -> None:
    """Spreads come from other sources; more is told by ``benchmarks/calibration.py``."""
    runs, judged, likeness = _runs(), shipped(TRAINING), shipped_constants().site
    assert len(runs) > 70
    places, residuals = [run.place for run in runs], np.array([run.residual for run in runs])
    widths = widths_at(runs, left_out_widths(judged.spreads, SITE))
    own: list[int] = []
    while len(own) < OWN:
        gains = Posterior([places[at] for at in own], [0.0] * len(own), likeness).gains(
            places, widths
        )
        gains[own] = -1
        own.append(int(np.argmax(gains)))
    scaled = [float(residuals[at] / widths[at]) for at in own]
    means, _ = Posterior([places[at] for at in own], scaled, likeness).at(places)
    rest = np.setdiff1d(np.arange(len(runs)), own)
    before = np.abs(np.exp(-residuals[rest]) - 1).mean()
    after = np.abs(np.exp(widths[rest] * means[rest] - residuals[rest]) - 1).mean()
    assert after < 5 / 6 * before

"""Studies say how far off predictions like theirs were from measured runs."""

from pathlib import Path
from typing import Any

import pytest

import simcore
from dse.report.front_table import BAND, front_table
from dse.report.measured import front_bands
from dse.results.result import StudyResult
from dse.run.api import run_study
from simcore import Run


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    folder: Path = tmp_path_factory.mktemp("studies") / "gpt"
    few: dict[str, Any] = {"settle": 0, "promote": 1, "controls": 0, "executor": "serial"}
    return run_study("gpt3_175b_1024_networks.yaml", out=folder, trials=20, **few)


def test_every_design_of_the_front_has_a_band(result: StudyResult) -> None:
    bands = front_bands(result)
    assert bands
    assert all("run on a100_80" in band or "on a100_80, 16-bit, dense" in band for band in bands)
    for trial in (result.rows[index] for index in result.front):
        metrics = trial.evaluation.metrics
        low_s, high_s = (metrics[f"iteration_time_{end}_s"] for end in ("low", "high"))
        assert 0 < low_s < metrics["iteration_time_s"] < high_s


def test_the_front_as_a_table_shows_the_interval_of_each_time(result: StudyResult) -> None:
    table = front_table(result)
    at = table.columns.index(BAND)
    assert at == 1 + len(result.study.goals.objectives)
    assert all(" - " in row[at] and len(row) == len(table.columns) for row in table.rows)


def test_answers_that_differ_are_counted_the_commonest_first(
    result: StudyResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0

    def band(run: Run) -> str:
        nonlocal asked
        asked += 1
        return "not validated here" if asked == 1 else "±5%"

    monkeypatch.setattr(simcore, "prediction_band", band)
    designs = len(result.front)
    assert designs > 2
    assert front_bands(result) == [
        f"{designs - 1} of {designs} designs: ±5%",
        f"1 of {designs} designs: not validated here",
    ]

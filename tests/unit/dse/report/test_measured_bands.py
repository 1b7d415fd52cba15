"""Studies say how far off predictions like theirs were from measured runs."""

from pathlib import Path

import pytest

from dse.evaluate import simulator
from dse.report.measured import front_bands
from dse.results.result import StudyResult
from dse.run.api import run_study
from simcore import Run


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    folder: Path = tmp_path_factory.mktemp("studies") / "gpt"
    return run_study("llm_gpt.yaml", out=folder, trials=20, executor="serial")


def test_designs_alike_share_one_answer(result: StudyResult) -> None:
    (band,) = front_bands(result)
    assert band.startswith("±")
    assert "measured runs on a100_80, 16-bit, dense" in band


def test_answers_that_differ_are_counted_the_commonest_first(
    result: StudyResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0

    def band(run: Run) -> str:
        nonlocal asked
        asked += 1
        return "not validated here" if asked == 1 else "±5%"

    monkeypatch.setattr(simulator, "validated_band", band)
    designs = len(result.front)
    assert designs > 2
    assert front_bands(result) == [
        f"{designs - 1} of {designs} designs: ±5%",
        f"1 of {designs} designs: not validated here",
    ]

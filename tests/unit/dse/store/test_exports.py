"""Exports of any length, and the forms in which metrics travel and rest."""

import io
import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dse
from dse.cli.exporting import export_command, journal_command, streamed_front
from dse.evaluate.base import Evaluation
from dse.evaluate.metrics import Metrics, plain
from dse.report.optuna.journal import chosen_numbers
from dse.store.folder import StudyFolder
from dse.store.tables import number_columns, write_json
from dse.study.compile import load_study_file
from dse.study.trials import Trial

STUDY = "p5_vit22b_64.yaml"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("exports") / "study"
    options: dict[str, Any] = {
        "executor": "serial",
        "sampler": "random",
        "evaluator": "model0",
        "trials": 300,
    }
    dse.run_study(STUDY, out=path, seed=8, **options)
    return path


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dse.store.tables.CHUNK_ROWS", 37)
    monkeypatch.setattr("dse.cli.exporting.CHUNK_ROWS", 37)


def test_the_front_of_a_stream_is_the_front_of_the_whole(folder: Path) -> None:
    whole = dse.load_study(folder)
    store = StudyFolder(folder)
    streamed = streamed_front(store, load_study_file(store.study_file()))
    assert [trial.number for trial in streamed] == [whole.rows[i].number for i in whole.front]
    assert len(streamed) > 2


def test_a_table_that_was_streamed_in_parts_is_the_table_of_the_whole(
    folder: Path, tmp_path: Path
) -> None:
    whole = dse.load_study(folder).trials
    out = tmp_path / "all"
    export_command(folder, kind="parquet", front=False, out=out)
    pd.testing.assert_frame_equal(pd.read_parquet(out), whole, check_dtype=False)
    export_command(folder, kind="csv", front=False, out=out)
    assert out.read_text() == whole.to_csv(index=False)
    store = StudyFolder(folder)
    text = io.StringIO()
    write_json(store.columns(load_study_file(store.study_file())), store.read_trials(), text)
    numbers = pd.read_json(io.StringIO(text.getvalue()))["number"]
    assert list(numbers) == list(range(300))


def test_a_journal_holds_the_front_the_newest_and_some_others(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dse.report.optuna.journal.NEWEST", 11)
    monkeypatch.setattr("dse.report.optuna.journal.SAMPLED", 17)
    chosen = chosen_numbers(iter(range(300)), iter([0, 5]))
    assert chosen == sorted(set(chosen))
    assert {0, 5, *range(289, 300)} <= set(chosen)
    assert 28 <= len(chosen) <= 30
    assert chosen_numbers(range(8), []) == list(range(8))
    journal_command(folder, out=tmp_path / "one.log")
    assert (tmp_path / "one.log").stat().st_size < 300_000


def test_the_sample_of_a_journal_favours_no_part_of_a_study(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dse.report.optuna.journal.NEWEST", 10)
    monkeypatch.setattr("dse.report.optuna.journal.SAMPLED", 1000)
    quarters = Counter(number // 2500 for number in chosen_numbers(range(10_010), []))
    assert all(200 < quarters[quarter] < 300 for quarter in range(4))


def test_trials_are_the_same_after_every_journey() -> None:
    evaluation = Evaluation(
        state="failed",
        objectives={"a": 1.0},
        constraints={"b": 2.0},
        metrics={"c_s": 3.0},
        fidelity="model",
        notes=("a note",),
        reason="why",
        failure="crash",
        attempts=2,
        duration_s=4.0,
    )
    trial = Trial(
        number=5, design={"d": 6}, evaluation=evaluation, worker="w", repeats=7, provenance=8
    )
    assert pickle.loads(pickle.dumps(trial)) == trial


def test_metrics_are_those_of_a_dictionary_after_every_journey() -> None:
    given = {"time_s": 0.1, "bytes": 3.0, "nothing": float("inf")}
    packed = Metrics.of(given)
    first, second = pickle.loads(pickle.dumps([packed, Metrics.of({**given, "time_s": 5.0})]))
    for metrics in (packed, first):
        assert dict(metrics) == plain(metrics) == given
        assert list(metrics) == list(given)
        assert metrics["bytes"] == 3.0
    assert second["time_s"] == 5.0
    with pytest.raises(TypeError):
        Metrics.of({"time_s": "fast"})  # type: ignore[dict-item]


def test_columns_of_numbers_have_gaps_where_a_row_has_none() -> None:
    rows = [{"a": 1.0, "b": 2.0}, {}, {"b": 3.0}, {"b": 5.0, "a": 4.0}]
    first, second = number_columns(("a", "b"), rows)
    pd.testing.assert_series_equal(pd.Series(first), pd.Series([1.0, None, None, 4.0]))
    pd.testing.assert_series_equal(pd.Series(second), pd.Series([2.0, None, 3.0, 5.0]))

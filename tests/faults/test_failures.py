"""Evaluations that end their worker, hang, eat memory or return nonsense."""

import os
import sys
from pathlib import Path

import pandas as pd
import pytest
from fault_studies import MANY, POISON, is_poisoned, run_faulty, same_part

import dse
from simcore import SimulationError

TRIALS = 40

TOLD_BY_RAY = {"SIGSEGV": "its worker process has died"}
"""Ray does not know what ended a process."""


@pytest.fixture(scope="module")
def sound() -> dse.StudyResult:
    return run_faulty(trials=TRIALS, executor="serial", window=8)


@pytest.mark.parametrize("executor", ["local", pytest.param("ray", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("kind", "failure", "words"),
    [
        ("segfault", "crash", "SIGSEGV"),
        ("hang", "timeout", "took longer than 1 s"),
        ("memory", "out_of_memory", "MemoryError"),
        ("raise", "model_error", "ValueError: no result"),
        ("nan", "model_error", "finite iteration_time_s"),
    ],
)
def test_designs_that_misbehave_fail_with_their_class_and_nobody_else_does(
    kind: str,
    failure: str,
    words: str,
    executor: str,
    sound: dse.StudyResult,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(POISON, kind)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path]))
    result = run_faulty(
        trials=TRIALS, executor=executor, workers=2, window=8, timeout="1 s", memory="8 GB"
    )
    assert capfd.readouterr() == ("", ""), "nobody but us speaks"
    reached = {row.number for row in sound.rows if row.evaluation.objectives}
    poisoned = {row.number for row in result.rows if is_poisoned(row.design)} & reached
    assert poisoned
    failed = {row.number for row in result.rows if row.state == "failed"}
    assert failed == poisoned
    for number in failed:
        found = result.rows[number].evaluation
        assert found.failure == failure
        told = TOLD_BY_RAY.get(words, words) if executor == "ray" else words
        assert told in found.reason
        # Ray does not tell which design of a chunk ended its worker
        tries = {1} if failure == "model_error" else {2, 2 + (executor == "ray")}
        assert found.attempts in tries
    rest = [number for number in range(TRIALS) if number not in failed]
    pd.testing.assert_frame_equal(
        same_part(result.trials).iloc[rest], same_part(sound.trials).iloc[rest]
    )


def test_a_design_that_ends_its_worker_among_many_at_once_fails_alone(
    sound: dse.StudyResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(POISON, "segfault")
    monkeypatch.setenv(MANY, "yes")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path]))
    reached = [row for row in sound.rows if row.evaluation.objectives]
    poisoned = next(row.number for row in reached if is_poisoned(row.design))
    result = run_faulty(trials=poisoned + 1, executor="local", workers=1, window=4, timeout="1 s")
    assert [row.number for row in result.rows if row.state == "failed"] == [poisoned]
    assert result.rows[poisoned].evaluation.failure == "crash"
    rest = list(range(poisoned))
    pd.testing.assert_frame_equal(
        same_part(result.trials).iloc[rest], same_part(sound.trials).iloc[rest]
    )


def test_three_designs_that_fail_alike_stop_the_study_with_the_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(POISON, "raise")
    monkeypatch.setattr("fault_studies.is_poisoned", lambda design: True)
    with pytest.raises(SimulationError, match=r"3 designs failed alike \(model error\).*no result"):
        run_faulty(tmp_path, trials=TRIALS, executor="serial")
    monkeypatch.setenv(POISON, "")
    again = run_faulty(tmp_path, trials=TRIALS, executor="serial", resume=True, retry_failed=True)
    assert not any(row.state == "failed" for row in again.rows)
    assert len(again.rows) == TRIALS

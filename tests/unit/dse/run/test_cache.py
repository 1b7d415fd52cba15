"""Evaluations that studies share save time and change nothing."""

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from small_study import STUDY, searched

import dse.run.cache
from dse.evaluate import Evaluation
from dse.results.result import StudyResult
from dse.run.cache import FILE, WORKER, EvaluationCache
from simcore import ConfigError


def with_cache(folder: Path, change: dict[str, Any] | None = None, trials: int = 40) -> StudyResult:
    execution = {"executor": "serial", "cache": str(folder)}
    return searched({**STUDY, "execution": execution, **(change or {})}, trials=trials)


def simulated(result: StudyResult) -> int:
    return sum(row.worker not in ("", WORKER) for row in result.rows)


def outcomes(result: StudyResult) -> list[tuple[Any, ...]]:
    return [
        (
            row.number,
            row.design,
            row.state,
            row.repeats,
            dict(row.evaluation.objectives),
            dict(row.evaluation.constraints),
            dict(row.evaluation.metrics),
            row.evaluation.fidelity,
            row.evaluation.reason,
        )
        for row in result.rows
    ]


def same(one: Evaluation, other: Evaluation) -> bool:
    return (one.state, one.objectives, one.constraints, dict(one.metrics), one.reason) == (
        other.state,
        other.objectives,
        other.constraints,
        dict(other.metrics),
        other.reason,
    )


def test_a_full_cache_gives_the_same_rows_and_simulates_nothing(tmp_path: Path) -> None:
    cold, warm = with_cache(tmp_path), with_cache(tmp_path)
    assert simulated(cold) > 20
    assert simulated(warm) == 0
    assert outcomes(warm) == outcomes(cold) == outcomes(searched(STUDY, trials=40))


def test_a_study_with_other_objectives_of_the_same_metrics_shares_it(tmp_path: Path) -> None:
    with_cache(tmp_path, {"search": {**STUDY["search"], "screening": False}})
    other = {
        "objectives": {"time_capital_cost": "minimise"},
        "search": {**STUDY["search"], "screening": False},
    }
    assert simulated(with_cache(tmp_path, other)) == 0


@pytest.mark.parametrize(
    "change",
    [
        {"run": {**STUDY["run"], "system": {"phase_end": "together", "chunks": 2}}},
        {"cost": {"model": "whole_machine", "network": "libra_py"}},
        {"constraints": []},
    ],
    ids=["run", "cost", "memory"],
)
def test_what_an_outcome_depends_on_is_part_of_its_key(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    with_cache(tmp_path, trials=10)
    assert simulated(with_cache(tmp_path, change, trials=10)) > 0


def test_another_version_of_the_code_finds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_cache(tmp_path, trials=10)
    monkeypatch.setattr(dse.run.cache, "code_that_decides", lambda _: {"simcore/system": "another"})
    assert simulated(with_cache(tmp_path, trials=10)) == 10


def test_the_oldest_entries_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dse.run.cache, "MAX_ENTRIES", 7)
    with_cache(tmp_path)
    with closing(sqlite3.connect(tmp_path / FILE)) as cache:
        assert cache.execute("SELECT count(*) FROM evaluation").fetchone()[0] == 7


def test_a_damaged_entry_is_simulated_again(tmp_path: Path) -> None:
    cold = with_cache(tmp_path, trials=10)
    with closing(sqlite3.connect(tmp_path / FILE)) as cache:
        cache.execute("UPDATE evaluation SET outcome = x'00'")
        cache.commit()
    again = with_cache(tmp_path, trials=10)
    assert simulated(again) == simulated(cold)
    assert outcomes(again) == outcomes(cold)


def test_entries_that_have_changed_places_are_not_taken_for_each_other(tmp_path: Path) -> None:
    cold = with_cache(tmp_path, trials=10)
    with closing(sqlite3.connect(tmp_path / FILE)) as cache:
        cache.execute("UPDATE evaluation SET outcome = (SELECT outcome FROM evaluation LIMIT 1)")
        cache.commit()
    assert outcomes(with_cache(tmp_path, trials=10)) == outcomes(cold)


def test_flipped_bits_in_a_cache_change_no_outcome(tmp_path: Path) -> None:
    cold, random = with_cache(tmp_path, trials=10), Random(1)
    sound = (tmp_path / FILE).read_bytes()
    stored = [row for row in cold.rows if row.worker not in ("", WORKER)]
    found = 0
    for _ in range(400):
        damaged = bytearray(sound)
        damaged[random.randrange(len(damaged))] ^= 1 << random.randrange(8)
        (tmp_path / FILE).write_bytes(damaged)
        with suppress(ConfigError), closing(EvaluationCache(tmp_path, cold.study)) as cache:
            for row in stored:
                outcome = cache.find(row.design)
                assert outcome is None or same(outcome, row.evaluation)
                found += outcome is not None
    assert 0 < found < 400 * len(stored)
    assert outcomes(with_cache(tmp_path, trials=10)) == outcomes(cold)


def test_a_file_that_is_no_cache_is_told(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("not a database, but long enough to look like one " * 100)
    with pytest.raises(ConfigError, match=r"execution\.cache: must be a folder for a cache"):
        with_cache(tmp_path)


def test_a_cache_that_another_study_is_writing_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_cache(tmp_path, trials=1)
    monkeypatch.setattr(dse.run.cache, "_BUSY_S", 0.01)
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        result = with_cache(tmp_path)
    assert outcomes(result) == outcomes(searched(STUDY, trials=40))

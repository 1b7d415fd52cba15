"""Islands: the same trials on any workers, and whatever is killed."""

import contextlib
import os
import signal
import sqlite3
import threading
from contextlib import closing
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pytest
from fault_studies import (
    POISON,
    SLOW_S,
    is_poisoned,
    kill_driver,
    kill_drivers_until_done,
    run_faulty,
    same_part,
    start_command,
    start_driver,
    stored,
    wait_for,
    workers_of,
)

import dse
from dse.store.errors import STORE

CHOICES: dict[str, Any] = {"trials": 240, "seed": 5, "window": 8, "islands": 4, "sampler": "design"}


@cache
def whole() -> pd.DataFrame:
    """The trials of an undisturbed study."""
    assert not os.environ.get(POISON)
    return same_part(run_faulty(executor="serial", **CHOICES).trials)


def check_same(result: dse.StudyResult) -> None:
    pd.testing.assert_frame_equal(same_part(result.trials), whole())


@pytest.mark.parametrize("workers", [1, 3])
def test_islands_find_the_same_on_any_number_of_workers(workers: int) -> None:
    check_same(run_faulty(executor="local", workers=workers, **CHOICES))


def kill_now_and_then(victims: Any, out: Path, most: int, done: threading.Event) -> list[int]:
    """SIGKILL to processes, one after another, once there are results."""
    killed: list[int] = []
    random = Random(3)
    wait_for(lambda: stored(out))
    while not done.wait(0.2 + 0.5 * random.random()) and len(killed) < most:
        if found := victims():
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                os.kill(random.choice(found), signal.SIGKILL)
                killed.append(1)
    return killed


def test_islands_that_are_killed_find_the_same_elsewhere_and_nothing_is_written_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SLOW_S, "0.01")
    done, killed = threading.Event(), list[int]()

    def kill() -> None:
        killed.extend(kill_now_and_then(lambda: workers_of(os.getpid()), tmp_path, 4, done))

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        result = run_faulty(tmp_path, executor="local", workers=2, **CHOICES)
    finally:
        done.set()
        thread.join()
    assert len(killed) >= 2
    monkeypatch.setenv(SLOW_S, "0")
    check_same(result)
    rows = dse.load_study(tmp_path).rows
    assert [row.number for row in rows] == list(range(CHOICES["trials"]))


def test_a_driver_of_islands_killed_again_and_again_loses_nothing_and_repeats_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SLOW_S, "0.002")
    options = {**CHOICES, "executor": "serial"}
    assert kill_drivers_until_done(tmp_path / "out", 3, Random(1), **options)
    monkeypatch.setenv(SLOW_S, "0")
    check_same(dse.load_study(tmp_path / "out"))


def test_a_driver_killed_before_rows_are_turned_loses_none_of_those_that_are_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SLOW_S, "0.0005")
    options = {**CHOICES, "trials": 2000, "window": 50, "islands": 2, "executor": "serial"}
    driver = start_driver(tmp_path, **options)
    wait_for(lambda: len(stored(tmp_path)) > 400)
    kill_driver(driver)
    with closing(sqlite3.connect(f"file:{tmp_path / STORE}?mode=ro", uri=True)) as store:
        assert store.execute("SELECT count(*) FROM packed").fetchone()[0]
    before = stored(tmp_path)
    assert [row.number for row in dse.load_study(tmp_path).rows] == sorted(before)
    monkeypatch.setenv(SLOW_S, "0")
    run_faulty(tmp_path, resume=True, **options)
    with closing(sqlite3.connect(tmp_path / STORE)) as store:
        assert not store.execute("SELECT count(*) FROM packed").fetchone()[0]
    resumed, after = dse.load_study(tmp_path), stored(tmp_path)
    repeats = {row.number for row in resumed.rows if row.repeats is not None}  # told anew
    assert all(after[number] == when for number, when in before.items() if number not in repeats)
    undisturbed = run_faulty(**options)
    pd.testing.assert_frame_equal(same_part(resumed.trials), same_part(undisturbed.trials))


@pytest.mark.parametrize(
    "kind",
    ["segfault", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("hang", "memory"))],
)
def test_a_design_that_ends_an_island_fails_alone_and_the_others_go_on(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    choices = {
        **CHOICES,
        "trials": 24,
        "seed": 3,
        "islands": 2,
        "timeout": "0.5 s",
        "sampler": "random",
    }
    sound = run_faulty(executor="serial", **choices)
    poisoned = [row.number for row in sound.rows if is_poisoned(row.design)]
    assert len(poisoned) == 1
    monkeypatch.setenv(POISON, kind)
    result = run_faulty(executor="local", workers=2, **choices)
    for row, other in zip(result.rows, sound.rows, strict=True):
        assert row.design == other.design, "a random sampler learns nothing"
        if row.number in poisoned:
            assert (row.state, row.evaluation.attempts) == ("failed", 2)
        else:
            assert row.evaluation.objectives == other.evaluation.objectives


def test_a_design_that_ends_an_island_fails_alone_where_a_study_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choices = {**CHOICES, "trials": 28, "seed": 17, "islands": 2, "sampler": "random"}
    sound = run_faulty(executor="serial", **choices)
    poisoned = [row.number for row in sound.rows if is_poisoned(row.design)]
    assert poisoned[0] >= 17, "a round before it"
    run_faulty(tmp_path, executor="local", workers=2, **{**choices, "trials": poisoned[0] - 1})
    monkeypatch.setenv(POISON, "segfault")
    result = run_faulty(tmp_path, executor="local", workers=2, resume=True, **choices)
    assert [row.number for row in result.rows if row.state == "failed"] == poisoned
    assert [row.design for row in result.rows] == [row.design for row in sound.rows]


@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_stops_islands_and_the_study_goes_on_as_if_undisturbed(
    presses: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SLOW_S, "0.05")
    process = start_command(tmp_path, executor="local", workers=2, **CHOICES)
    wait_for(lambda: len(stored(tmp_path)) > 20 or process.poll() is not None, 120)
    workers = workers_of(process.pid)
    before = stored(tmp_path)
    assert process.stderr is not None
    for _ in range(presses):
        os.killpg(process.pid, signal.SIGINT)
        process.stderr.readline()
    process.communicate(timeout=60)
    assert process.returncode == (0 if presses == 1 else 130)
    assert before.items() <= stored(tmp_path).items()
    assert len(stored(tmp_path)) < CHOICES["trials"]
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))
    monkeypatch.setenv(SLOW_S, "0")
    check_same(run_faulty(tmp_path, executor="serial", resume=True, **CHOICES))

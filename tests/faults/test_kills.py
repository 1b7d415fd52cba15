"""Processes that are killed: workers, drivers, at random instants."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pytest
from fault_studies import (
    SLOW_S,
    kill_drivers_until_done,
    run_faulty,
    same_part,
    start_driver,
    stored,
    wait_for,
    workers_of,
)

import dse
from simcore import ConfigError


def test_a_study_whose_workers_are_killed_ends_with_the_same_trials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SLOW_S, "0.003")
    whole = run_faulty(trials=600, executor="serial")
    killed: list[int] = []
    done, random = threading.Event(), Random(7)

    def kill_some() -> None:
        wait_for(lambda: stored(tmp_path))
        while not done.wait(0.1 + random.random() / 4) and len(killed) < 5:
            if victims := workers_of(os.getpid()):
                victim = random.choice(victims)
                with contextlib.suppress(ProcessLookupError):  # it has just been replaced
                    os.kill(victim, signal.SIGKILL)
                    killed.append(victim)

    killer = threading.Thread(target=kill_some)
    killer.start()
    try:
        result = run_faulty(tmp_path, trials=600, executor="local", workers=2)
    finally:
        done.set()
        killer.join()
    assert len(killed) >= 2
    pd.testing.assert_frame_equal(same_part(result.trials), same_part(whole.trials))


def test_a_driver_killed_again_and_again_loses_nothing_and_repeats_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SLOW_S, "0.002")
    options: dict[str, Any] = {"trials": 500, "seed": 3, "executor": "serial"}
    recoveries = kill_drivers_until_done(tmp_path / "out", 3, Random(1), **options)
    assert recoveries
    monkeypatch.setenv(SLOW_S, "0")
    whole = run_faulty(**options)
    resumed = dse.load_study(tmp_path / "out")
    pd.testing.assert_frame_equal(same_part(resumed.trials), same_part(whole.trials))


_DIES_BEFORE_COMMIT = """
import os, signal, sys
import dse.store.folder as folder
from pathlib import Path
from fault_studies import run_faulty

class Dying:
    def __init__(self, store):
        self.store, self.commits = store, 0
    def __getattr__(self, name):
        return getattr(self.store, name)
    def execute(self, statement, *values):
        self.commits += statement == "COMMIT"
        if self.commits == 4 and statement == "COMMIT":
            os.kill(os.getpid(), signal.SIGKILL)
        return self.store.execute(statement, *values)

opened = folder.open_to_write
folder.open_to_write = lambda path: Dying(opened(path))
run_faulty(Path(sys.argv[1]), trials=400, executor="serial")
"""


def test_a_driver_that_dies_between_writing_and_committing_loses_that_batch_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path]))
    command = [sys.executable, "-c", _DIES_BEFORE_COMMIT, str(tmp_path)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    before = stored(tmp_path)
    assert 0 < len(before) < 400
    resumed = run_faulty(tmp_path, trials=400, executor="serial", resume=True)
    assert before.items() <= stored(tmp_path).items()
    whole = run_faulty(trials=400, executor="serial")
    pd.testing.assert_frame_equal(same_part(resumed.trials), same_part(whole.trials))


def test_a_second_driver_is_told_who_the_first_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SLOW_S, "0.01")
    first = start_driver(tmp_path, trials=5000, executor="serial")
    try:
        wait_for(lambda: stored(tmp_path))
        with pytest.raises(ConfigError, match=rf"only one process.*process {first.pid} on "):
            run_faulty(tmp_path, trials=5000, executor="serial", resume=True)
        assert len(dse.load_study(tmp_path).trials) > 0, "readers need not wait"
    finally:
        first.kill()
        first.communicate()


def test_workers_end_with_a_driver_that_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SLOW_S, "0.01")
    driver = start_driver(tmp_path, trials=5000, executor="local", workers=2)
    try:
        wait_for(lambda: stored(tmp_path))
        workers = workers_of(driver.pid)
    finally:
        driver.kill()
        driver.communicate()
    assert len(workers) == 2
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))


def test_a_jump_of_the_clock_changes_nothing(tmp_path: Path) -> None:
    whole = run_faulty(trials=80, executor="serial")
    jumps = iter(range(10**9))

    def unix_s() -> float:
        return time.monotonic() + (1e9 if next(jumps) % 2 else -1e9)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("time.time", unix_s)
        jumped = run_faulty(tmp_path, trials=80, executor="serial")
    pd.testing.assert_frame_equal(same_part(jumped.trials), same_part(whole.trials))


def test_a_stopped_worker_is_replaced_at_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SLOW_S, "0.003")
    whole = run_faulty(trials=300, executor="serial")
    stopped: list[int] = []

    def stop_one() -> None:
        wait_for(lambda: stored(tmp_path))
        victim = workers_of(os.getpid())[0]
        os.kill(victim, signal.SIGSTOP)
        stopped.append(victim)

    thread = threading.Thread(target=stop_one)
    thread.start()
    result = run_faulty(tmp_path, trials=300, executor="local", workers=2, timeout="0.5 s")
    thread.join()
    assert stopped
    pd.testing.assert_frame_equal(same_part(result.trials), same_part(whole.trials))
    assert not Path(f"/proc/{stopped[0]}").exists()

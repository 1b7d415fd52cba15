"""Ctrl-C and SIGTERM, sent to real drivers of every executor."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fault_studies import SLOW_S, run_faulty, same_part, start_command, stored, wait_for, workers_of
from warm_drivers import WarmDriver

import dse

pytestmark = pytest.mark.filterwarnings("ignore")

EXECUTORS = ["local", pytest.param("ray", marks=pytest.mark.slow)]
CHOICES: dict[str, Any] = {"trials": 2000, "seed": 6, "window": 32, "workers": 2}
STOPPING = "dse: stopping; Ctrl-C again to leave at once."


def start(out: Path, executor: str) -> WarmDriver:
    """A driver that has results already."""
    process = start_command(out, executor=executor, **CHOICES)
    wait_for(lambda: len(stored(out)) > 20 or process.poll() is not None, 120)
    assert process.poll() is None, process.communicate()
    return process


def press_ctrl_c(process: WarmDriver) -> None:
    """What a terminal does: the signal reaches all processes of the driver's group."""
    os.killpg(process.pid, signal.SIGINT)


def check_resumed(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was stopped goes on to the end of an undisturbed study."""
    monkeypatch.setenv(SLOW_S, "0")
    options = {**CHOICES, "executor": "serial", "workers": None, "trials": 300}
    resumed, whole = run_faulty(out, resume=True, **options), run_faulty(**options)
    pd.testing.assert_frame_equal(same_part(resumed.trials), same_part(whole.trials))


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("how", ["ctrl-c", "sigterm"])
def test_the_first_signal_lets_come_in_what_is_under_way(
    executor: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SLOW_S, "0.02")
    process = start(tmp_path, executor)
    before = len(stored(tmp_path))
    if how == "ctrl-c":
        press_ctrl_c(process)
    else:
        process.terminate()
    _, told = process.communicate(timeout=60)
    assert process.returncode == 0
    assert told.splitlines() == [STOPPING]
    numbers = sorted(stored(tmp_path))
    assert before <= len(numbers) < CHOICES["trials"]
    assert numbers == list(range(len(numbers))), "all that had been proposed came in"
    assert {"pareto.csv", "summary.json", "trials.parquet"} <= set(os.listdir(tmp_path))
    check_resumed(tmp_path, monkeypatch)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_the_second_signal_stops_and_loses_nothing(
    executor: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SLOW_S, "0.3")
    monkeypatch.setitem(CHOICES, "window", 64)
    process = start(tmp_path, executor)
    workers = workers_of(process.pid)
    press_ctrl_c(process)
    assert process.stderr is not None
    assert process.stderr.readline().strip() == STOPPING
    before, start_s = stored(tmp_path), time.monotonic()
    press_ctrl_c(process)
    _, told = process.communicate(timeout=60)
    assert time.monotonic() - start_s < 64 / 2 * 0.3, "it did not wait for what was under way"
    assert process.returncode == 130
    assert told.splitlines() == ["dse: stopped; the results so far are written."]
    assert before.items() <= stored(tmp_path).items()
    assert len(dse.load_study(tmp_path).rows) >= len(before)
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))
    check_resumed(tmp_path, monkeypatch)


ENDING = """
import os, signal
from dse.cli.running import StopSwitch

class Pressed:
    def __del__(self, kill=os.kill, pid=os.getpid(), number=signal.SIGINT):
        kill(pid, number)  # once Python has put signals back to what they do by themselves

pressed, stop = Pressed(), StopSwitch()
stop.install()
stop.release()
"""


def test_ctrl_c_once_all_is_written_does_not_fail_a_study() -> None:
    ended = subprocess.run([sys.executable, "-c", ENDING], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")

"""Ray: a cluster of two nodes on this machine, of which one dies and another one comes."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fault_studies import (
    SLOW_S,
    STUDY,
    descendants,
    kill_driver,
    run_faulty,
    same_part,
    start_driver,
    stored,
    two_nodes,
    wait_for,
    workers_of,
)

import dse

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

TRIALS = 3000
CHOICES: dict[str, Any] = {"trials": TRIALS, "seed": 4, "window": 64}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Any]]:
    """A cluster and its second node."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path]))
    with two_nodes() as made:
        yield made


@pytest.mark.parametrize(
    "choices",
    [CHOICES, {"trials": 1200, "seed": 4, "window": 16, "islands": 3, "sampler": "design"}],
    ids=["one search", "islands"],
)
def test_a_study_outlives_a_node_and_takes_up_a_new_one(
    choices: dict[str, Any],
    cluster: tuple[Any, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(SLOW_S, "0.02")
    machines_of, second = cluster
    driver = start_driver(tmp_path, executor="ray", address=machines_of.address, **choices)
    wait_for(lambda: len(stored(tmp_path)) > 100, 120)
    machines_of.remove_node(second, allow_graceful=False)
    machines_of.add_node(num_cpus=2)
    _, told = driver.communicate(timeout=240)
    assert driver.returncode == 0, told
    assert told == "", "Ray is quiet"
    result = dse.load_study(tmp_path)
    monkeypatch.setenv(SLOW_S, "0")
    whole = run_faulty(executor="serial", **choices)
    pd.testing.assert_frame_equal(same_part(result.trials), same_part(whole.trials))
    machines = {row.worker.rpartition(".")[0] for row in result.rows if row.worker}
    assert len(machines) == 3


def test_actors_that_are_killed_cost_no_result_and_make_no_noise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path]))
    monkeypatch.setenv(SLOW_S, "0.02")
    killed: list[int] = []
    done = threading.Event()

    def kill() -> None:
        wait_for(lambda: len(stored(tmp_path)) > 100, 120)
        while len(killed) < 6 and not done.wait(1.0):
            for victim in workers_of(os.getpid())[:1]:
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)

    thread = threading.Thread(target=kill)
    thread.start()
    result = run_faulty(tmp_path, executor="ray", workers=2, **CHOICES)
    done.set()
    thread.join()
    assert len(killed) > 1
    printed = capfd.readouterr()
    assert printed.out == printed.err == ""
    monkeypatch.setenv(SLOW_S, "0")
    whole = run_faulty(executor="serial", **CHOICES)
    pd.testing.assert_frame_equal(same_part(result.trials), same_part(whole.trials))
    assert max(row.evaluation.attempts for row in result.rows) >= 2


def test_islands_on_actors_that_are_killed_find_what_one_process_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path]))
    monkeypatch.setenv(SLOW_S, "0.02")
    choices: dict[str, Any] = {
        "trials": 240,
        "seed": 4,
        "window": 8,
        "islands": 3,
        "sampler": "design",
    }
    killed: list[int] = []

    def kill() -> None:
        wait_for(lambda: len(stored(tmp_path)) > 40, 120)
        for victim in workers_of(os.getpid())[:1]:
            os.kill(victim, signal.SIGKILL)
            killed.append(victim)

    thread = threading.Thread(target=kill)
    thread.start()
    result = run_faulty(tmp_path, executor="ray", workers=2, **choices)
    thread.join()
    assert len(killed) == 1
    assert [row.number for row in dse.load_study(tmp_path).rows] == list(range(240))
    monkeypatch.setenv(SLOW_S, "0")
    whole = run_faulty(executor="serial", **choices)
    pd.testing.assert_frame_equal(same_part(result.trials), same_part(whole.trials))


def test_a_ray_of_its_own_ends_with_a_driver_that_was_killed_and_the_study_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SLOW_S, "0.01")
    choices = {**CHOICES, "trials": 600}
    driver = start_driver(tmp_path, executor="ray", workers=2, **choices)
    wait_for(lambda: len(stored(tmp_path)) > 50, 120)
    below = descendants(driver.pid)
    kill_driver(driver)
    before = stored(tmp_path)
    assert len(below) > 4
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in below), 120)
    driver = start_driver(tmp_path, executor="ray", workers=2, resume=True, **choices)
    _, told = driver.communicate(timeout=240)
    assert (driver.returncode, told) == (0, "")
    assert before.items() <= stored(tmp_path).items()
    monkeypatch.setenv(SLOW_S, "0")
    whole = run_faulty(executor="serial", **choices)
    pd.testing.assert_frame_equal(
        same_part(dse.load_study(tmp_path).trials), same_part(whole.trials)
    )


def test_a_ray_that_cannot_start_says_why_and_how_to_do_without(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tight = "import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (20_000, 20_000)); "
    code = tight + "from dse.cli import main; main()"
    command = [sys.executable, "-c", code, "study", STUDY, "--executor", "ray", "--trials", "3"]
    command += ["--evaluator", "model0", "--out", str(tmp_path / "out"), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    (sentence,) = done.stderr.splitlines()
    assert "--executor local does without it; Ray's log: " in sentence
    assert not (tmp_path / "out" / "study.db").exists()

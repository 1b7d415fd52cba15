"""Several studies on one Ray cluster: who gets which core, who waits, and who asks for nodes."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fault_studies import (
    SLOW_S,
    kill_driver,
    run_faulty,
    same_part,
    start_command,
    start_driver,
    stored,
    two_nodes,
    wait_for,
)

import dse

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

CHOICES: dict[str, Any] = {"trials": 300, "seed": 4, "window": 64, "executor": "ray"}
SPENT_S = "0.03"

DEMAND = """
import sys
import ray
from ray._private.worker import global_worker
from ray.autoscaler.v2.sdk import get_cluster_resource_state

ray.init(address=sys.argv[1], log_to_driver=False, logging_level=50)
state = get_cluster_resource_state(global_worker.gcs_client)
print(sum(one.count for one in state.pending_resource_requests))
"""
"""Program that prints for how many cores an autoscaler would bring nodes."""


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A cluster of a node with one core and one with two."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path]))
    monkeypatch.setenv(SLOW_S, SPENT_S)
    with two_nodes() as (made, _):
        yield made


def demanded(address: str) -> int:
    """Cores for which an autoscaler of the cluster would bring nodes."""
    command = [sys.executable, "-c", DEMAND, address]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout)


def events(folder: Path) -> list[str]:
    """Kinds of all that has happened to a study so far."""
    if not (folder / "study.db").exists():
        return []
    with closing(sqlite3.connect(f"file:{folder / 'study.db'}?mode=ro", uri=True)) as store:
        try:
            return [kind for (kind,) in store.execute("SELECT kind FROM event ORDER BY rowid")]
        except sqlite3.OperationalError:  # its tables are not there yet
            return []


def ended(driver: Any) -> None:
    """Wait for a driver, which must end well."""
    _, told = driver.communicate(timeout=100)
    assert (driver.returncode, told) == (0, "")


def same_as_alone(folder: Path, monkeypatch: pytest.MonkeyPatch, **choices: Any) -> None:
    """A study must have the rows that it has with all machines to itself."""
    monkeypatch.setenv(SLOW_S, "0")
    alone = run_faulty(**{**choices, "executor": "serial"})
    rows = same_part(dse.load_study(folder).trials)
    pd.testing.assert_frame_equal(rows, same_part(alone.trials))


def machines(folder: Path) -> set[str]:
    """Machines on which designs of a study were evaluated."""
    return {row.worker.rpartition(".")[0] for row in dse.load_study(folder).rows if row.worker}


def test_a_second_study_waits_for_cores_and_goes_on_when_the_first_has_ended(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    choices = {**CHOICES, "address": cluster.address}
    before = start_command(first, **{**choices, "trials": 8000})
    wait_for(lambda: len(stored(first)) > 20)
    after = start_driver(second, **choices)
    wait_for(lambda: "waiting" in events(second))
    assert demanded(cluster.address) == 0, "nodes are asked for only where --workers says so"
    assert not stored(second)
    os.kill(before.pid, signal.SIGINT)
    _, told = before.communicate(timeout=30)
    assert before.returncode == 0, told
    ended(after)
    turns = [kind for kind in events(second) if kind in ("waiting", "went_on")]
    assert turns == ["waiting", "went_on"]
    assert len(machines(second)) == 2, "it takes all cores that have come free"
    same_as_alone(second, monkeypatch, **CHOICES)


@pytest.mark.parametrize("islands", [1, 2])
def test_a_study_that_waits_says_so_and_can_be_stopped(
    islands: int, cluster: Any, tmp_path: Path
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    choices = {**CHOICES, "address": cluster.address}
    driver = start_command(first, **{**choices, "trials": 8000})
    wait_for(lambda: len(stored(first)) > 20)
    sampler = {"sampler": "design"} if islands > 1 else {}
    waits = start_command(second, **choices, **sampler, islands=islands)
    wait_for(lambda: "waiting" in events(second))
    os.kill(waits.pid, signal.SIGINT)
    _, told = waits.communicate(timeout=30)
    assert waits.returncode == 0, told
    assert driver.poll() is None
    assert (second / "pareto.csv").exists()
    kill_driver(driver)


def test_studies_with_few_workers_share_the_nodes_and_run_side_by_side(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    choices = {**CHOICES, "address": cluster.address}
    one = start_driver(first, **choices, workers=2)
    wait_for(lambda: len(stored(first)) > 20)
    two = start_driver(second, **choices, workers=1)
    wait_for(lambda: len(stored(second)) > 20)
    assert one.poll() is None
    ended(one)
    ended(two)
    assert len(machines(first)) == 2, "workers are spread over the nodes"
    same_as_alone(first, monkeypatch, **CHOICES)


def test_workers_that_are_missing_are_asked_for_and_taken_up_when_a_node_comes(
    cluster: Any, tmp_path: Path
) -> None:
    choices = {**CHOICES, "address": cluster.address, "trials": 8000, "workers": 5}
    driver = start_command(tmp_path, **choices)
    wait_for(lambda: len(stored(tmp_path)) > 20)
    assert demanded(cluster.address) == 2
    assert "asked" in events(tmp_path)
    cluster.add_node(num_cpus=4)
    wait_for(lambda: len(workers(tmp_path)) == 5)
    assert len({worker.rpartition(".")[0] for worker in workers(tmp_path)}) == 3
    assert demanded(cluster.address) == 0
    kill_driver(driver)


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_asked_for_once_the_driver_is_gone(
    end: signal.Signals, cluster: Any, tmp_path: Path
) -> None:
    choices = {**CHOICES, "address": cluster.address, "trials": 8000, "workers": 5}
    driver = start_command(tmp_path, **choices)
    wait_for(lambda: len(stored(tmp_path)) > 20)
    assert demanded(cluster.address) == 2
    os.kill(driver.pid, end)
    driver.communicate(timeout=30)
    wait_for(lambda: demanded(cluster.address) == 0)


def workers(folder: Path) -> set[str]:
    """Workers of the trials that are stored."""
    with closing(sqlite3.connect(f"file:{folder / 'study.db'}?mode=ro", uri=True)) as store:
        return {name for (name,) in store.execute("SELECT worker FROM trial") if name}

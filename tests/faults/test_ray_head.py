"""Ray: its head ends or refuses, and who can reach it."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
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
    start_command,
    stored,
    wait_for,
)

import dse
from dse.evaluate.workers import ray_start
from dse.evaluate.workers.ray_start import RayHead
from simcore import SimulationError

CHOICES: dict[str, Any] = {"trials": 600, "seed": 4, "window": 64}
SENTENCE = "what was finished is stored: start a cluster again, and go on with --resume\n"


class FakeRay:
    """Listens as a head does; a call to it when it is gone never returns."""

    def __init__(self, port: int = 0) -> None:
        self._socket = socket.create_server(("127.0.0.1", port))
        self.port = self._socket.getsockname()[1]
        self.is_gone = False

    def get_runtime_context(self) -> Any:
        return SimpleNamespace(gcs_address=f"127.0.0.1:{self.port}")

    def nodes(self) -> list[dict[str, str]]:
        while self.is_gone:
            time.sleep(0.01)
        return [{"NodeID": "a"}]

    def end(self) -> None:
        self.is_gone = True
        self._socket.close()

    def come_back(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", self.port))
        self.is_gone = False


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeRay]:
    monkeypatch.setattr(ray_start, "LOOK_S", 0.02)
    made = FakeRay()
    yield made
    made.end()
    made.is_gone = False  # lets go of who waits


def test_a_head_that_is_gone_is_told_of_and_holds_nobody(fake: FakeRay) -> None:
    head = RayHead(fake, 0.3)
    assert head.nodes(now=True) == [{"NodeID": "a"}]
    fake.end()
    start_s = time.monotonic()
    assert head.nodes() == [{"NodeID": "a"}], "it may come back"
    with pytest.raises(SimulationError, match=rf"127\.0\.0\.1:{fake.port} has not answered"):
        head.nodes(now=True)
    assert 0.2 < time.monotonic() - start_s < 5.0
    head.leave()


def test_a_head_that_comes_back_in_time_is_not_missed(fake: FakeRay) -> None:
    head = RayHead(fake, 5.0)
    fake.end()
    time.sleep(0.2)
    assert head.nodes()
    fake.come_back()
    assert head.nodes(now=True)
    head.leave()


def test_a_head_that_answers_nothing_is_given_up_later(
    fake: FakeRay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_start, "_SILENT_S", 0.5)
    head = RayHead(fake, 0.1)
    fake.is_gone = True  # but still listens
    time.sleep(0.3)
    assert head.nodes()
    with pytest.raises(SimulationError):
        head.nodes(now=True)
    head.leave()


@pytest.mark.parametrize(
    ("setting", "patience_s"), [(None, 10.0), ("120", 70.0), ("30", 5.0), ("soon", 10.0)]
)
def test_a_cluster_is_given_up_before_ray_ends_the_process(
    setting: str | None, patience_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "RAY_gcs_rpc_server_reconnect_timeout_s"
    monkeypatch.delenv(name, raising=False)
    if setting is not None:
        monkeypatch.setenv(name, setting)
    assert ray_start.grace_s() == patience_s


def heads_of(pid: int) -> list[int]:
    """The GCS below a process."""
    below = {p: Path(f"/proc/{p}/cmdline").read_bytes() for p in descendants(pid)}
    return [p for p, command in below.items() if b"/gcs_server" in command]


def listening(pids: list[int]) -> set[str]:
    """Addresses and ports, in hexadecimal, on which these processes listen."""
    held = {os.readlink(link) for pid in pids for link in Path(f"/proc/{pid}/fd").glob("*")}
    rows = []
    for name in ("tcp", "tcp6"):
        rows += [line.split() for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    own = [row for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in held]
    return {row[1] for row in own}


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path]))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv(SLOW_S, "0.02")
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="reads Linux's list of sockets")
def test_a_ray_of_its_own_is_heard_by_nobody_else_and_its_end_is_one_sentence(
    environment: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = start_command(tmp_path, executor="ray", workers=1, **CHOICES)
    wait_for(lambda: len(stored(tmp_path)) > 20, 120)
    found = listening([driver.pid, *descendants(driver.pid)])
    v4, v6 = "0100007F", "0000000000000000FFFF00000100007F"
    assert found
    assert {place.split(":")[0] for place in found} <= {v4, v6}, "127.0.0.1"
    (head,) = heads_of(driver.pid)
    os.kill(head, signal.SIGKILL)
    _, told = driver.communicate(timeout=100)
    assert driver.returncode == 1
    assert told.startswith("dse: the head of the Ray cluster at 127.0.0.1:")
    assert told.endswith(SENTENCE)
    assert told.count("\n") == 1
    before = stored(tmp_path)
    assert 20 < len(before) < CHOICES["trials"]
    monkeypatch.setenv(SLOW_S, "0")
    resumed = run_faulty(tmp_path, executor="serial", resume=True, **CHOICES)
    whole = run_faulty(executor="serial", **CHOICES)
    assert before.items() <= stored(tmp_path).items()
    pd.testing.assert_frame_equal(same_part(resumed.trials), same_part(whole.trials))


@pytest.mark.slow
@pytest.mark.parametrize("token", [None, "ab" * 32])
def test_who_lacks_the_token_is_refused_in_one_sentence(
    token: str | None, environment: None, tmp_path: Path
) -> None:
    driver = start_command(tmp_path / "own", executor="ray", workers=1, **CHOICES)
    wait_for(lambda: len(stored(tmp_path / "own")) > 20, 120)
    (place,) = listening(heads_of(driver.pid))
    port = int(place.split(":")[1], 16)
    given = {"RAY_AUTH_MODE": "disabled"} if token is None else {"RAY_AUTH_MODE": "token"}
    command = [sys.executable, "-m", "dse", "study", STUDY, "--executor", "ray", "--trials", "3"]
    command += ["--address", f"127.0.0.1:{port}", "--out", str(tmp_path / "other"), "--quiet"]
    given["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # else Ray takes 127.0.0.1 for another address
    stranger = subprocess.run(
        command,
        env={**os.environ, **given, "RAY_AUTH_TOKEN": token or ""},
        capture_output=True,
        text=True,
        check=False,
    )
    kill_driver(driver)
    assert stranger.returncode == 2
    (told,) = stranger.stderr.splitlines()
    assert "RAY_AUTH_MODE=token and its RAY_AUTH_TOKEN" in told


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_outlives_a_driver_that_is_killed_and_its_own_end_is_told(
    environment: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    from ray.cluster_utils import Cluster

    cluster: Any = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    longer = {**CHOICES, "trials": 1200}  # than the head may be gone
    choices = {**longer, "executor": "ray", "address": cluster.address}
    try:
        driver = start_command(tmp_path, **choices)
        wait_for(lambda: len(stored(tmp_path)) > 50, 120)
        kill_driver(driver)
        first = stored(tmp_path)
        driver = start_command(tmp_path, **choices, resume=True)
        wait_for(lambda: len(stored(tmp_path)) > len(first) + 50, 120)
        cluster.head_node.kill_gcs_server()
        _, told = driver.communicate(timeout=100)
        assert (driver.returncode, told.count("\n")) == (1, 1), told
        assert told.endswith(SENTENCE)
    finally:
        cluster.shutdown()
    assert first.items() <= stored(tmp_path).items()
    monkeypatch.setenv(SLOW_S, "0")
    resumed = run_faulty(tmp_path, executor="serial", resume=True, **longer)
    pd.testing.assert_frame_equal(
        same_part(resumed.trials), same_part(run_faulty(executor="serial", **longer).trials)
    )
    assert dse.load_study(tmp_path).rows

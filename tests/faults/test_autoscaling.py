"""A study and Ray's autoscaler, whose nodes are processes of this machine."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fault_studies import (
    SLOW_S,
    descendants,
    run_faulty,
    same_part,
    start_driver,
    wait_for,
)
from pandas.testing import assert_frame_equal

import dse

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

CHOICES: dict[str, Any] = {"trials": 1500, "seed": 4, "window": 64}

_HEAD_ID = "f" * 51 + "00000"  # of the head, for Ray's provider of fake nodes
_LISTS = "cluster_synced_files rsync_exclude rsync_filter initialization_commands setup_commands "
_LISTS += "head_setup_commands worker_setup_commands head_start_ray_commands "
_LISTS += "worker_start_ray_commands"


def settings(address: str) -> dict[str, Any]:
    """Settings of an autoscaler that may bring one node of two cores beside the head."""
    head = {"resources": {"CPU": 1}, "node_config": {}, "max_workers": 0}
    store = {"object_store_memory": 80_000_000}
    more = {"resources": {"CPU": 2, **store}, "node_config": {}, "min_workers": 0, "max_workers": 1}
    return {
        "cluster_name": "fake",
        "max_workers": 1,
        "provider": {
            "type": "fake_multinode",
            "gcs_address": address,
            "disable_node_updaters": True,
            "disable_launch_config_check": True,
        },
        "available_node_types": {"ray.head.default": head, "more": more},
        "head_node_type": "ray.head.default",
        "idle_timeout_minutes": 5,
        "file_mounts_sync_continuously": False,
        **{name: [] for name in _LISTS.split()},
        **{name: {} for name in ("auth", "docker", "file_mounts")},
    }


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A cluster of one core that grows when it is asked to."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path]))
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    file = tmp_path / "autoscaler.yaml"
    file.write_text(json.dumps(settings(f"127.0.0.1:{port}")))
    fake = {"AUTOSCALER_UPDATE_INTERVAL_S": "1", "RAY_FAKE_CLUSTER": "1"}
    fake["RAY_OVERRIDE_NODE_ID_FOR_TESTING"] = _HEAD_ID
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block"]
    command += [f"--port={port}", "--node-ip-address=127.0.0.1", "--num-cpus=1"]
    command += ["--include-dashboard=false", "--object-store-memory=80000000"]
    command += [f"--autoscaling-config={file}"]
    head = subprocess.Popen(
        command,
        env={**os.environ, **fake},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        wait_for(lambda: any(_is_raylet(pid) for pid in descendants(head.pid)))
        yield f"127.0.0.1:{port}"
    finally:
        for pid in [*descendants(head.pid), head.pid]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        head.wait()


def _is_raylet(pid: int) -> bool:
    with suppress(OSError):
        return b"/raylet/raylet" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def test_an_autoscaler_brings_the_node_that_a_study_asks_for(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SLOW_S, "0.03")
    out = tmp_path / "out"
    driver = start_driver(out, executor="ray", address=address, workers=3, **CHOICES)
    _, told = driver.communicate(timeout=100)
    assert (driver.returncode, told) == (0, "")
    result = dse.load_study(out)
    workers = {row.worker for row in result.rows if row.worker}
    assert len(workers) == 3, "two of them on the node that has come"
    monkeypatch.setenv(SLOW_S, "0")
    alone = run_faulty(executor="serial", **CHOICES)
    assert_frame_equal(same_part(result.trials), same_part(alone.trials))

"""Metrics of a study as Prometheus reads them from a node of a Ray cluster."""

import os
import re
import sys
from collections import Counter
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from fault_studies import SLOW_S, start_driver, wait_for

import dse

NEEDED = ("aiohttp", "opentelemetry.exporter", "opencensus", "prometheus_client")


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(not all(map(_is_there, NEEDED)), reason="needs ray[default]"),
]


def metrics(address: str, study: str) -> dict[tuple[str, str], float]:
    """Values of a study, by name and the last of the tags that tell them apart."""
    with urlopen(f"http://{address}/metrics", timeout=5) as answer:
        text = answer.read().decode()
    found = {}
    for name, tags, value in re.findall(r"^ray_(dse_\w+)\{(.*)\} (\S+)$", text, re.MULTILINE):
        told = dict(re.findall(r'(\w+)="([^"]*)"', tags))
        if told["study"] == study:
            own = told.get("state") or told.get("kind") or told.get("objective") or ""
            found[name, own] = float(value)
    return found


def test_a_node_shows_the_trials_workers_and_bests_of_a_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path]))
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    monkeypatch.setenv(SLOW_S, "0.02")
    ray: Any = import_module("ray")
    from ray.cluster_utils import Cluster

    settings = {"metrics_report_interval_ms": 500}
    head = {"num_cpus": 2, "include_dashboard": False, "_system_config": settings}
    cluster: Any = Cluster(initialize_head=True, head_node_args=head)
    try:
        ray.init(address=cluster.address, log_to_driver=False, logging_level=50)
        (node,) = ray.nodes()
        address = f"127.0.0.1:{node['MetricsExportPort']}"
        choices = {"trials": 400, "seed": 4, "window": 64, "address": cluster.address}
        driver = start_driver(tmp_path / "mine", executor="ray", **choices)
        wait_for(lambda: metrics(address, "mine").get(("dse_workers", "ready")) == 2.0)
        wait_for(lambda: any(name == "dse_best" for name, _ in metrics(address, "mine")))
        _, told = driver.communicate(timeout=100)
        assert (driver.returncode, told) == (0, "")
        rows = dse.load_study(tmp_path / "mine").rows
        states = Counter(row.state for row in rows if row.repeats is None)
        for state, count in states.items():
            key = ("dse_trials_total", state)
            wait_for(lambda k=key, n=count: metrics(address, "mine").get(k) == n)
        found = metrics(address, "mine")
        assert found["dse_proposals_total", ""] == len(rows)
        assert found["dse_events_total", "node_joined"] == 1.0
    finally:
        ray.shutdown()
        cluster.shutdown()

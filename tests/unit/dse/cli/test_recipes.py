"""The recipes for clusters, as far as they can be run without one."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from dse.cli import main

RECIPES = Path(__file__).parents[4] / "docs" / "recipes"

STUBS = {
    "scontrol": 'echo "scontrol $*" >> "$CALLS"; if [ "$1" = show ]; then echo n1; echo n2; fi',
    "srun": """while case "$1" in -w | -x) shift 2 ;; --*) shift ;; *) false ;; esac; do :; done
exec "$@" """,
    "ray": 'echo "ray $*" >> "$CALLS"; case "$*" in *--block*) exec sleep 5 ;; esac',
    "dse": """echo "dse $*" >> "$CALLS"
trap 'echo drained >> "$CALLS"; exit 0' TERM
for _ in $(seq "${STEPS:-1}"); do sleep 0.1; done""",
}


@pytest.fixture
def called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand-ins for the commands of SLURM, Ray and ours, which write down how they are called."""
    for name, body in STUBS.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{body}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (tmp_path / "calls").touch()
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-2]")
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "2")
    monkeypatch.setenv("SLURM_JOB_ID", "77")
    return tmp_path / "calls"


def start(out: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(["bash", str(RECIPES / "slurm.sh"), "s.yaml", str(out)])


def test_the_slurm_recipe_starts_head_workers_and_driver_in_turn(called: Path) -> None:
    assert start(called.parent / "new").wait(timeout=30) == 0
    calls = called.read_text().splitlines()
    assert calls[0] == "scontrol show hostnames n[1-2]"
    assert {"ray status --address n1:6379", "ray start --address n1:6379 --block"} <= set(calls)
    (driver,) = (call for call in calls if call.startswith("dse "))
    out = called.parent / "new"
    assert driver == f"dse study s.yaml --executor ray --address n1:6379 --out {out} --quiet"


def test_the_slurm_recipe_drains_at_sigterm_and_asks_to_be_run_again(
    called: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEPS", "200")
    out = called.parent / "old"
    out.mkdir()
    (out / "study.db").touch()
    job = start(out)
    end_s = time.monotonic() + 30
    while time.monotonic() < end_s and "dse study" not in called.read_text():
        time.sleep(0.05)
    time.sleep(0.3)
    job.send_signal(signal.SIGTERM)
    assert job.wait(timeout=30) == 0
    told = called.read_text()
    assert "--quiet --resume" in told
    assert told.splitlines()[-2:] == ["drained", "scontrol requeue 77"]


@pytest.mark.parametrize("name", ["slurm.sh", "run.sh"])
def test_the_scripts_use_options_that_exist(name: str) -> None:
    subprocess.run(["bash", "-n", RECIPES / name], check=True)
    help_text = CliRunner().invoke(main, ["study", "--help"]).output
    (command,) = re.findall(r"dse study .*", (RECIPES / name).read_text())
    for option in re.findall(r"--[a-z-]+", command):
        assert option in help_text


def test_the_kubernetes_manifest_runs_the_driver_beside_its_volume() -> None:
    job, volume = yaml.safe_load_all((RECIPES / "kuberay.yaml").read_text())
    head = job["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]
    mounted = {mount["name"] for mount in head["containers"][0]["volumeMounts"]}
    claims = {v["name"]: v.get("persistentVolumeClaim") for v in head["volumes"]}
    assert mounted == set(claims)
    assert claims["results"]["claimName"] == volume["metadata"]["name"]
    assert job["spec"]["entrypoint"].split()[-1] == "/studies/run.sh"


def test_the_kubernetes_cluster_may_grow_to_what_the_study_asks_for() -> None:
    job, _ = yaml.safe_load_all((RECIPES / "kuberay.yaml").read_text())
    cluster = job["spec"]["rayClusterSpec"]
    assert cluster["enableInTreeAutoscaling"] is True
    (group,) = cluster["workerGroupSpecs"]
    (container,) = group["template"]["spec"]["containers"]
    cores = int(container["resources"]["requests"]["cpu"])
    (asked,) = re.findall(r"WORKERS=(\d+)", job["spec"]["entrypoint"])
    assert group["minReplicas"] <= group["replicas"] < int(asked) / cores <= group["maxReplicas"]


@pytest.mark.parametrize("asked", ["", "64"])
def test_the_script_on_the_head_asks_for_workers_where_it_is_told_to(
    asked: str, called: Path, tmp_path: Path
) -> None:
    environment = {**os.environ, "WORKERS": asked}
    command = ["bash", str(RECIPES / "run.sh"), str(tmp_path / "out"), "study.yaml"]
    subprocess.run(command, env=environment, check=True)
    (line,) = called.read_text().splitlines()
    assert line.endswith(" --quiet --workers 64" if asked else " --quiet")

"""Commands that README and the documentation print run as they stand there.

They run in a folder that holds what they name: a small study in the place of every shipped one, and
its results in the place of every folder of results.
"""

import json
import shutil
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner
from hub_configs import DENSE
from test_docs import COMMANDS, ROOT, _printed_commands

from dse.run.api import run_study

ELSEWHERE = {
    "simcore astra": "tests/golden/test_astra_cases.py",
    "simcore calibrate": "tests/unit/cli/test_calibrate_command.py",
    "simcore diff": "tests/unit/comparison/test_traced_steps.py",
    "simcore flits": "tests/golden/test_flits.py",
    "simcore kernels": "tests/unit/profiling/test_other_programs.py",
    "simcore packets": "tests/golden/test_packets.py",
    "simcore profile": "tests/unit/profiling/test_profile.py",
    "simcore systolic": "tests/golden/test_systolic_rows.py",
    "dse dashboard": "tests/unit/dse/cli/test_dashboard.py",
    "dse gap": "tests/property/test_gap_in_studies.py",
    "dse serve": "tests/unit/dse/cli/test_watch_and_serve.py",
}
"""Commands whose inputs are made where they are tested."""

OPTIONS_ELSEWHERE = {
    "--calibration": "tests/unit/cli/test_calibrate_command.py",
    "--log": "tests/unit/dse/trackers/test_trackers.py",
    "--rows": "tests/golden/test_builds.py",
    "ray": "tests/faults/test_ray_cluster.py",
    "manifest.json": "tests/golden/test_hub_models.py",
}

STUDY = """
version: 1
question: Which plan?
run:
  workload: {model: llama3_8b, sequence: 512, global_batch: 32}
  platform:
    npu: a100_80
    dimensions:
      - {topology: switch, npus: 4, bandwidth: 300 GB/s, latency: 700 ns}
      - {topology: switch, npus: 4, bandwidth: 25 GB/s, latency: 1700 ns}
  plan: {tp: 4, pp: 1, dp: 4}
space:
  products:
    - {of: [plan.tp, plan.pp, plan.dp], equals: npus, limits: {plan.pp: [1, 2, 4]}}
  axes: {plan.micro_batch: {choices: [1, 2]}}
  require: [workload.global_batch % (plan.dp * plan.micro_batch) == 0]
objectives: {iteration_time: minimise, capital_cost: minimise}
constraints: [fits_in_memory]
cost: {model: whole_machine, prices: default}
search: {sampler: exhaustive, trials: 30}
execution: {executor: serial}
"""
SHIPPED = ("llm_gpt.yaml", "p5_vit22b_64.yaml", "p1_cosmic_1024.yaml")


NAMES = {
    "17": "0", "1000": "4", "500": "4", "auto": "4", "8": "1",
    "plan.dp=32": "plan.dp=4",
}  # fmt: skip
"""Words that the small study has others for."""

GPT = "configs/runs/gpt3_175b_1024_a100.yaml"


def _as_run(package: str, words: list[str]) -> tuple[str, ...]:
    """A printed command with names that mean something in the folder."""
    command, *rest = words
    if GPT not in rest:
        names = {**NAMES, "FILE.yaml": "mine.yaml" if package == "dse" else "RUN.yaml"}
        rest = [names.get(word, word) for word in rest]
    elif "--timeline" in rest:
        rest += ["--set", "workload.global_batch=128"]
    if command == "init":
        rest = ["new.yaml" if word == "mine.yaml" else word for word in rest]
    if command in ("study", "enumerate"):
        rest = ["mine.yaml" if word in SHIPPED else word for word in rest]
        rest = ["runs/new" if word.startswith("runs/") else word for word in rest]
    if command in ("study", "enumerate", "init"):
        rest.append("--force")
    return (package, command, *rest)


def _to_run() -> list[tuple[str, ...]]:
    """The printed commands, each once."""
    found: dict[tuple[str, ...], None] = {}
    for _, package, words in _printed_commands():
        name = f"{package} {words[0]}"
        if name not in ELSEWHERE and not set(OPTIONS_ELSEWHERE) & set(words):
            found[_as_run(package, words)] = None
    return list(found)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the commands name."""
    folder = tmp_path_factory.mktemp("printed")
    (folder / "configs").symlink_to(ROOT / "configs")
    (folder / "config.json").write_text(json.dumps(DENSE))
    for name in ("mine.yaml", *SHIPPED):
        (folder / name).write_text(STUDY)
    (folder / "RUN.yaml").write_text(json.dumps(yaml.safe_load(STUDY)["run"]))
    result = run_study(folder / "mine.yaml", out=folder / "runs" / "one")
    assert result.rows[0].is_feasible
    for name in ("llm_gpt", "two", "more"):
        shutil.copytree(folder / "runs" / "one", folder / "runs" / name)
    return folder


@pytest.mark.parametrize("words", _to_run(), ids=lambda words: " ".join(words)[:60])
def test_a_printed_command_runs(
    words: tuple[str, ...], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    command: click.Command = COMMANDS[words[0]]
    done = CliRunner().invoke(command, list(words[1:]))
    assert done.exit_code == 0, done.output


def test_the_other_commands_have_tests_of_their_own() -> None:
    for name, path in ELSEWHERE.items():
        word = name.split()[-1]
        assert word in (ROOT / path).read_text(encoding="utf-8"), f"{path} does not name {word}"
    for path in OPTIONS_ELSEWHERE.values():
        assert (ROOT / path).is_file(), path

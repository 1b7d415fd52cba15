"""Run files of trials, which read back are the runs of the trials, and the command for them."""

import gzip
import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hub_configs import DENSE

from dse.cli.commands import main
from dse.evaluate.designs.runs import DesignRuns
from dse.launch.run_file import run_text
from dse.results.result import load_study
from dse.run.api import run_study
from dse.starter.answers import Answers
from dse.starter.write import write_study
from dse.study.compile import load_study_file
from simcore import load_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study of two accelerators and a ``config.json``, and three trials of it."""
    folder = tmp_path_factory.mktemp("launch")
    (folder / "config.json").write_text(json.dumps(DENSE | {"num_hidden_layers": 4}))
    model = str(folder / "config.json")
    machines = ("h100_80", "a100_80")
    answers = Answers(
        model=model, machines=machines, npus=16, folder=folder, sequence=128, global_batch=64
    )
    write_study(answers, folder / "mine.yaml")
    overrides: dict[str, Any] = {"trials": 3, "executor": "serial", "seed": 0}
    run_study(folder / "mine.yaml", out=folder / "results", **overrides)
    return folder


def test_a_run_file_read_back_is_the_run_of_the_design(folder: Path, tmp_path: Path) -> None:
    study = load_study_file(folder / "mine.yaml")
    filled = DesignRuns(study.evaluator_input)
    for number, design in enumerate(islice(study.space.designs(), 0, 4000, 500)):
        file = tmp_path / f"{number}.yaml"
        file.write_text(run_text(filled, design, "a title", folder))
        assert load_run(file) == filled.run(design)
        assert f"npu: {design['platform.npu']}" in file.read_text()


def test_the_command_writes_files_and_says_what_is_wrong(folder: Path, tmp_path: Path) -> None:
    results, out = str(folder / "results"), tmp_path / "out.yaml"
    call = CliRunner().invoke
    assert call(main, ["export", results, "0", "--as", "run", "--out", str(out)]).exit_code == 0
    assert load_run(out).workload.global_batch == 64
    for wrong, words in {
        ("0",): "--as: must be given",
        ("77", "--as", "run"): "must be one of the trials 0 to",
        ("0", "--as", "megatorn"): "did you mean 'megatron'",
        ("0", "--as", "vllm"): "the study trains",
        ("0", "--as", "run", "--front"): "must stand without",
        ("--as", "run"): "TRIAL: must be given",
    }.items():
        result = call(main, ["export", results, *wrong])
        assert (result.exit_code, words in result.output) == (2, True), result.output


def test_a_long_trace_is_packed_and_holds_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    results, plain = folder / "results", tmp_path / "plain.json"
    monkeypatch.setattr("dse.cli.timelines.MOST_BYTES", 100)
    for more in ([], ["--out", str(plain)]):
        done = CliRunner().invoke(main, ["timeline", str(results), "2", *more])
        assert done.exit_code == 0, done.output
    packed = (results / "trial-2.trace.json.gz").read_bytes()
    assert gzip.decompress(packed) == plain.read_bytes()
    assert len(packed) < plain.stat().st_size / 8


def test_a_trial_is_laid_out_in_time(folder: Path, tmp_path: Path) -> None:
    results, svg = folder / "results", tmp_path / "pipeline.svg"
    done = CliRunner().invoke(main, ["timeline", str(results), "1", "--svg", str(svg)])
    assert done.exit_code == 0, done.output
    events = json.loads((results / "trial-1.trace.json").read_text())["traceEvents"]
    end_us = max(event["ts"] + event["dur"] for event in events if event["ph"] == "X")
    row = next(row for row in load_study(results).rows if row.number == 1)
    assert end_us * 1e-6 == pytest.approx(row.evaluation.metrics["iteration_time_s"], rel=1e-9)
    assert "trial 1 of results" in svg.read_text()
    assert CliRunner().invoke(main, ["timeline", str(results), "77"]).exit_code == 2

"""Study files from a few answers: they load, say what was asked, and lie over nothing."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from every_case import with_every
from hub_configs import DENSE

from dse.cli.commands import main
from dse.evaluate import build_evaluator
from dse.starter.answers import Answers
from dse.starter.write import study_text
from dse.study.compile import load_study_file
from simcore import ConfigError, shipped_names


def _init(*arguments: str, typed: str = "") -> Result:
    return CliRunner().invoke(main, ["init", *arguments], input=typed)


def test_a_study_of_a_config_loads_from_its_own_folder(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "config.json").write_text(json.dumps(DENSE))
    file = tmp_path / "mine.yaml"
    model = str(tmp_path / "net" / "config.json")
    result = _init(str(file), "--model", model, "--machine", "h100_80", "--npus", "16")
    assert result.exit_code == 0, result.output
    study = load_study_file(file)
    assert study.file.run["workload"]["model"] == "net/config.json"
    assert list(study.file.objectives) == ["iteration_time"]


def test_a_file_that_is_there_stays_unless_force_is_given(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("mine")
    asked = (str(file), "--model", "llama3_8b", "--machine", "h100_80", "--npus", "8")
    refused = _init(*asked)
    assert refused.exit_code == 2
    assert "--force" in refused.output
    assert file.read_text() == "mine"
    assert _init(*asked, "--force").exit_code == 0
    assert load_study_file(file).file.run["platform"]["npu"] == "h100_80"


def test_what_no_option_answers_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    assert _init(str(file), typed="llama3_8b\nh100_80\n32\nmfu\n").exit_code == 0
    assert load_study_file(file).file.objectives == {"mfu": "maximise"}
    other = _init(str(tmp_path / "other.yaml"), typed="llama3_8b\n")
    assert other.exit_code == 2
    assert "--machine: must be given" in other.output


def test_machines_to_choose_from_are_a_knob_and_priced(tmp_path: Path) -> None:
    machines = ("h100_80", "gb200")
    text = study_text(Answers(model="mixtral_8x7b", machines=machines, npus=72, folder=tmp_path))
    assert "platform.npu: {choices: [h100_80, gb200]}" in text
    assert "capital_cost: minimise" in text
    assert 'limits: {"platform.dimensions[0].npus": [8, 72]}' in text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"machines": ("h100",)}, "did you mean 'h100_80'"),
        ({"machines": ("v100_16",)}, "--bandwidth: must be given"),
        ({"objectives": ("speed",)}, "--objective: must be one of iteration_time"),
        ({"machines": ("h200", "b300"), "objectives": ("capital_cost",)}, "no prices|none of b300"),
        ({"machines": ("tpu_v4_pod",), "npus": 3}, "--npus: must be the"),
        ({"global_batch": 3}, "--global-batch: must be a multiple"),
    ],
)
def test_an_answer_that_cannot_be_is_told_by_its_option(
    changes: dict[str, object], words: str
) -> None:
    given: dict[str, object] = {"model": "llama3_8b", "machines": ("h100_80",), "npus": 64}
    with pytest.raises(ConfigError, match=words):
        study_text(Answers(**{**given, **changes}))  # type: ignore[arg-type]


@with_every("npu", shipped_names("npus"))
def test_a_study_on_any_accelerator_can_be_searched_or_is_refused(npu: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    asked = ("--model", "llama3_8b", "--machine", npu, "--npus", "64", "--bandwidth", "50 GB/s")
    result = _init(str(file), *asked)
    if result.exit_code:
        assert (result.exit_code, file.exists()) == (2, False)
        assert result.output.startswith("dse: --machine: needs ")
        return
    build_evaluator(load_study_file(file).evaluator_input).check()

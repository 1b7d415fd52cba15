"""Mistakes in study files: each is one sentence with its place, whatever the evaluator."""

import copy
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from dse.cli.commands import main
from dse.results.result import load_study
from dse.run.api import check_study, run_study
from dse.study.compile import find_study
from simcore import ConfigError, read_yaml

Path = tuple[str | int, ...]
BANDWIDTH = "platform.dimensions[0].bandwidth"


def sentence(tmp_path: Any, study: str, path: Path, value: object) -> str:
    content = copy.deepcopy(read_yaml(find_study(study)))
    place = content
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    file = tmp_path / "study.yaml"
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    with pytest.raises(ConfigError) as caught:
        check_study(file)
    return str(caught.value)


@pytest.mark.parametrize(
    ("path", "value", "parts"),
    [
        (("run", "plann"), {}, ["run.plann: unknown key", "did you mean 'plan'?"]),
        (("run", "workload", "model"), "vit_22", ["run.workload.model", "'vit_22b'"]),
        (
            ("run", "platform", "dimensions", 0, "topology"),
            "swich",
            ["run.platform.dimensions[0].topology", "'switch'"],
        ),
        (
            ("run", "platform", "dimensions", 0, "bandwidth"),
            90,
            ["run.platform.dimensions[0].bandwidth", "must have a unit"],
        ),
        (("space", "axes", BANDWIDTH), {"ladder": [45, 90]}, [BANDWIDTH, "must have a unit"]),
        (("space", "axes", BANDWIDTH), {"ladder": ["1e999 GB/s"]}, [BANDWIDTH, "finite"]),
        (("space", "axes", BANDWIDTH), {}, [f"space.axes.{BANDWIDTH}: must hold exactly one"]),
        (("space", "axes", "plan.zz"), {"choices": [1, 2]}, ["plan.zz: unknown key"]),
        (("space", "axes", "plan.micro_batch"), {"choices": ["x"]}, ["like with like"]),
        (("space", "axes", "plan.micro_batch"), {"choices": [1, True]}, ["may stand once", "True"]),
        (("space", "axes", "plan.micro_batch"), {"choices": [1, 1.0]}, ["may stand once", "1.0"]),
        (
            ("space", "axes", "system.chunks"),
            {"low": 1, "high": 4},
            ["chunks: must be a valid int"],
        ),
        (
            ("space", "axes", "plan.micro_batch"),
            {"choices": [1, 2], "when": "plan.micro_batch > 1"},
            ["when", "its own knob"],
        ),
        (("space", "products", 0, "equals"), 2**80, ["equals", "4294967296"]),
        (("space", "products", 0, "limits", "plan.tp"), [], ["limits.plan.tp", "at least 1 item"]),
        (("space", "require"), ["plan.tp > 'a'"], ["like with like"]),
        (("space", "require"), ["-" * 100_000 + "plan.tp > 0"], ["2000 characters"]),
        (("space", "require"), ["plan.tp % 0 == 0"], ["at least one combination"]),
        (("cost", "prices"), "zz", ["cost.prices", "default"]),
        (
            ("reference_point",),
            {"iteration_time": "7 s", "capital_cost": "0 USD"},
            ["reference_point.capital_cost", "above 0"],
        ),
        (("constraints",), [{"capital_cost": 3}], ["constraints[0].capital_cost", "at_most"]),
        (
            ("constraints",),
            [5],
            ["constraints[0]: must be", "or must be a table of keys"],
        ),
        (
            ("constraints",),
            [{"objective": "capital_cost", "at_most": float("inf")}],
            ["constraints[0].at_most", "must be a finite number", "but got inf."],
        ),
    ],
)
def test_a_mistake_is_told_with_its_place(
    tmp_path: Any, path: Path, value: object, parts: list[str]
) -> None:
    told = sentence(tmp_path, "p5_vit22b_64.yaml", path, value)
    assert "study.yaml: " in told
    assert told.count("\n") == 0
    for part in parts:
        assert part in told


def test_a_plan_for_another_number_of_npus_is_refused(tmp_path: Any) -> None:
    path: Path = ("space", "products", 0, "equals")
    assert "1024 NPUs" in sentence(tmp_path, "llm_gpt.yaml", path, 512)


def test_a_precision_that_the_accelerator_lacks_is_refused(tmp_path: Any) -> None:
    path: Path = ("run", "workload", "precision")
    assert "a100_80 computes in" in sentence(tmp_path, "llm_gpt.yaml", path, "fp8")


def test_an_unknown_backend_is_refused_before_the_study_starts(tmp_path: Any) -> None:
    told = sentence(tmp_path, "llm_gpt.yaml", ("run", "backend"), "psychic")
    assert "congestion_unaware" in told


def test_the_closed_form_refuses_any_other_problem(tmp_path: Any) -> None:
    told = sentence(tmp_path, "llm_gpt.yaml", ("evaluator",), "model0")
    assert "simulator" in told


@pytest.mark.parametrize("name", ["study.yaml", "study.db", "summary.json"])
def test_a_folder_whose_files_are_broken_is_told_by_report_and_resume(
    tmp_path: Any, name: str
) -> None:
    options: dict[str, Any] = {"executor": "serial", "trials": 10, "out": tmp_path}
    run_study("p5_vit22b_64.yaml", **options)
    (tmp_path / name).write_bytes(b"\xff\xfe garbage")
    with pytest.raises(ConfigError, match=name):
        load_study(tmp_path)
    (tmp_path / name).write_text("garbage\ngarbage\n")
    with pytest.raises(ConfigError, match=name):
        load_study(tmp_path)
    if name != "summary.json":
        (tmp_path / name).write_bytes(b"\xff\xfe garbage")
        with pytest.raises(ConfigError, match=name):
            run_study("p5_vit22b_64.yaml", **options, resume=True)


def test_a_front_to_start_from_whose_folder_can_be_no_name_is_told() -> None:
    with pytest.raises(ConfigError, match="must be the folder of a study"):
        load_study("9" * 400)


@pytest.mark.parametrize(
    ("study", "changes", "told"),
    [
        (
            "p5_vit22b_64_simulated",
            {"search": {"sampler": "exhaustive", "islands": 2}},
            "islands: must be 1",
        ),
        (
            "p5_vit22b_64_simulated",
            {"search": {"gap": "1%", "sampler": "tpe"}, "objectives": {"mfu": "maximise"}},
            "objectives.mfu: bounds are known",
        ),
        ("p5_vit22b_64", {"search": {"learn_from": ["none"]}}, "search.learn_from[0]: must be"),
        ("p5_vit22b_64", {"search": {"start": ["none"]}}, "search.start[0]: must be the folder"),
        ("p5_vit22b_64", {"search": {"start": [{"plan.tp": 3}]}}, "search.start[0]: must be a de"),
        (
            "p1_cosmic_1024",
            {"search": {"gap": "1%"}, "objectives": {"footprint": "minimise"}},
            "objectives.footprint: bounds are known",
        ),
    ],
)
def test_what_a_search_cannot_do_is_told_by_the_check(
    tmp_path: Any, study: str, changes: dict[str, Any], told: str
) -> None:
    content = {**read_yaml(find_study(f"{study}.yaml")), **changes}
    file = tmp_path / "study.yaml"
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    result = CliRunner().invoke(main, ["check", str(file)])
    assert (result.exit_code, str(file) in result.output) == (2, True)
    assert told in result.output


def test_a_missing_figure_of_an_accelerator_is_told_by_the_check(tmp_path: Any) -> None:
    content: Any = read_yaml(find_study("llama3_70b_accelerators.yaml"))
    content["space"]["axes"]["platform.npu"] = {"choices": ["h100_80", "h200"]}
    content |= {"objectives": {"power": "minimise"}, "cost": {"model": "whole_machine"}}
    file = tmp_path / "study.yaml"
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    with pytest.raises(ConfigError, match="system_power: must be given for h200"):
        check_study(file)

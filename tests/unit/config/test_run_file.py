"""Run files: what is read, and how a mistake is told."""

from pathlib import Path
from typing import Any

import pytest

from simcore import ConfigError, RunTemplate, load_run, set_path
from simcore.files.resources import shipped_folder

TABLE: dict[str, Any] = {
    "version": 1,
    "workload": {"model": "gpt3_13b", "sequence": 2048, "global_batch": 64},
    "platform": {
        "npu": "a100_80",
        "dimensions": [
            {"topology": "switch", "npus": 8, "bandwidth": "300 GB/s", "latency": "700 ns"},
            {"topology": "ring", "npus": 4, "bandwidth": "25 GB/s", "latency": "1.7 us"},
        ],
    },
    "plan": {"tp": 8, "dp": 4},
    "system": {"all_reduce": ["ring", "direct"]},
}


def test_shipped_run_files_load() -> None:
    files = sorted((shipped_folder("configs") / "runs").glob("*.yaml"))
    assert files
    for file in files:
        assert load_run(file).platform.npus > 1


def test_values_by_path_replace_those_of_the_file() -> None:
    template = RunTemplate.from_table(TABLE)
    run = template.with_values(
        {
            "plan.tp": 4,
            "plan.dp": 8,
            "platform.dimensions[1].bandwidth": "50 GB/s",
            "platform.npu": "h100_80",
            "platform.npu.memory": "96 GB",
            "system.all_reduce[1]": "halving_doubling",
        }
    )
    assert run.plan.tp == 4
    assert run.platform.dimensions[1].bandwidth_bytes_per_s == 50e9
    assert run.platform.npu.name == "h100_80"
    assert run.platform.npu.memory_bytes == 96e9
    assert run.system.all_reduce == ("ring", "halving_doubling")
    assert template.with_values({}).plan.tp == 8


@pytest.mark.parametrize(
    ("path", "value", "place", "rule"),
    [
        ("plan.tpp", 4, "plan.tpp", "did you mean 'tp'?"),
        ("workload.modle", "x", "workload.modle", "did you mean 'model'?"),
        ("workload.model", "gpt3_175", "workload.model", "did you mean 'gpt3_175b'?"),
        ("platform", "dgx_h100", "platform", "dgx_h100_superpod"),
        ("platform.npu", "h100", "platform.npu", "h100_80"),
        (
            "platform.dimensions[0].topology",
            "swich",
            "platform.dimensions[0].topology",
            "did you mean 'switch'?",
        ),
        (
            "platform.dimensions[1].bandwidth",
            50,
            "platform.dimensions[1].bandwidth",
            "must have a unit",
        ),
        (
            "platform.dimensions[1].bandwidth",
            "50 GBps",
            "platform.dimensions[1].bandwidth",
            "GB/s",
        ),
        ("platform.dimensions[0].npus", 1, "platform.dimensions[0].npus", "2"),
        ("platform.dimensions[7].npus", 2, "platform.dimensions[7].npus", "at most 2"),
        ("plan.tp", 0, "plan.tp", "1"),
        ("system.all_reduce", ["rinng"], "system.all_reduce[0]", "double_binary_tree"),
        ("system.chunks", "many", "system.chunks", "integer"),
        ("plan.recompute", "some", "plan.recompute", "selective"),
        ("version", 2, "version", "1"),
    ],
)
def test_mistake_is_told_with_place_rule_and_value(
    path: str, value: object, place: str, rule: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        RunTemplate.from_table(set_path(TABLE, path, value)).with_values({})
    message = str(caught.value)
    assert message.startswith(f"{place}: "), message
    assert rule in message
    assert message.endswith(".")
    assert "\n" not in message


def test_missing_file_and_broken_yaml_are_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="must be a readable file"):
        load_run(tmp_path / "none.yaml")
    broken = tmp_path / "broken.yaml"
    broken.write_text("plan: {tp: 1\nworkload: x")
    with pytest.raises(ConfigError, match=r"line 2: must be valid YAML"):
        load_run(broken)
    double = tmp_path / "double.yaml"
    double.write_text("plan: {tp: 1}\nplan: {tp: 2}\n")
    with pytest.raises(ConfigError, match="stands here twice"):
        load_run(double)


def test_error_names_the_file(tmp_path: Path) -> None:
    import yaml

    path = tmp_path / "run.yaml"
    path.write_text(yaml.safe_dump(set_path(TABLE, "plan.tpp", 1)))
    with pytest.raises(ConfigError, match=r"run\.yaml: plan\.tpp: unknown key"):
        load_run(path)


def test_a_prepared_template_fills_in_the_same_runs() -> None:
    prepared, plain = RunTemplate.from_table(TABLE), RunTemplate.from_table(TABLE)
    prepared.prepare(["plan.tp", "plan.pp"])
    values: dict[str, object] = {"plan.tp": 2, "plan.pp": 2}
    assert prepared.with_values(values) == plain.with_values(values)


def test_a_mistake_that_no_value_mends_is_told_with_the_run_not_when_preparing() -> None:
    template = RunTemplate.from_table(set_path(TABLE, "workload.sequence", 0))
    template.prepare(["plan.tp"])
    with pytest.raises(ConfigError, match="workload"):
        template.with_values({"plan.tp": 1})

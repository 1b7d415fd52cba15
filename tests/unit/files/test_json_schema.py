"""JSON Schemas take every shipped file, refuse typos, and are those of the code."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from dse.cli import main
from dse.study.schemas import all_schemas
from simcore import json_schemas, shipped_folder
from simcore.cli.app import cli
from simcore.files.yaml_file import parse_yaml

ROOT = Path(__file__).parents[3]
KEPT = ROOT / "configs" / "schemas"
WITHOUT = ("configs/kernels/", "configs/recipes/", "configs/validation/")
"""Tables of measurements, which programs write."""

FILES = [
    path
    for folder in ("configs", "studies")
    for path in sorted((ROOT / folder).rglob("*.yaml"))
    if not path.relative_to(ROOT).as_posix().startswith(WITHOUT)
]
_LINE = re.compile(r"# yaml-language-server: \$schema=(\S+)\n")


@pytest.fixture(scope="module")
def validators() -> dict[str, Draft202012Validator]:
    schemas = {path.name: json.loads(path.read_text()) for path in KEPT.glob("*.json")}
    for schema in schemas.values():
        Draft202012Validator.check_schema(schema)
    return {name: Draft202012Validator(schema) for name, schema in schemas.items()}


def _wrong(validator: Draft202012Validator, data: object) -> list[str]:
    return [
        f"{list(error.absolute_path)}: {error.message}"[:300]
        for error in validator.iter_errors(data)
    ]


def test_kept_schemas_are_those_of_the_code() -> None:
    made = {f"{name}.schema.json": schema for name, schema in all_schemas().items()}
    kept = {path.name: json.loads(path.read_text()) for path in KEPT.glob("*.json")}
    assert kept == made, "write them anew: python -m dse schema configs/schemas"


def test_every_shipped_file_names_its_schema_and_keeps_to_it(
    validators: dict[str, Draft202012Validator],
) -> None:
    assert len(FILES) > 180
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        line = _LINE.match(text)
        assert line, path.name
        schema = (path.parent / line.group(1)).resolve()
        assert schema.parent == KEPT, path.name
        assert not _wrong(validators[schema.name], parse_yaml(text, path.name)), path.name


STUDY: dict[str, Any] = {
    "version": 1,
    "run": {"workload": {"model": "gpt3_13b"}, "plan": {"tp": 2}},
    "space": {"axes": {"plan.micro_batch": {"choices": [1, 2]}}},
    "objectives": {"iteration_time": "minimise"},
    "scenarios": [{"name": "slow", "bandwidth": "50%", "run": {"plan": {"tp": 4}}}],
}


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("study", ["objectivs"], {}),
        ("study", ["objectives", "iteration_time"], "minimize"),
        ("study", ["search"], {"trails": 10}),
        ("study", ["run", "plan", "tpp"], 2),
        ("study", ["run", "plan", "tp"], "two"),
        ("study", ["scenarios", 0, "run", "plan", "tpp"], 2),
        ("study", ["evaluator"], "service"),
        ("run", ["plan", "tpp"], 2),
        ("run", ["platform", "dimensions", 0, "bandwith"], "1 GB/s"),
        ("run", ["platform", "dimensions", 0, "bandwidth"], 50),
        ("run", ["version"], 2),
        ("npu", ["memroy"], "80 GB"),
        ("prices", ["dat"], "2026-08"),
    ],
)
def test_a_typo_is_refused(
    kind: str, path: list[str | int], value: object, validators: dict[str, Draft202012Validator]
) -> None:
    files = {
        "run": ROOT / "configs" / "runs" / "resnet50_256_v100.yaml",
        "npu": ROOT / "configs" / "npus" / "a100_80.yaml",
        "prices": ROOT / "configs" / "costs" / "default.yaml",
    }
    text = json.dumps(STUDY) if kind == "study" else files[kind].read_text(encoding="utf-8")
    data: Any = parse_yaml(text, kind)
    validator = validators[f"{kind}.schema.json"]
    assert not _wrong(validator, data)
    inner = data
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    assert _wrong(validator, data)


def test_the_commands_write_them(tmp_path: Path) -> None:
    assert CliRunner().invoke(cli, ["schema", str(tmp_path / "one")]).exit_code == 0
    assert CliRunner().invoke(main, ["schema", str(tmp_path / "two")]).exit_code == 0
    one, two = ({path.name for path in (tmp_path / name).iterdir()} for name in ("one", "two"))
    assert one == {f"{name}.schema.json" for name in json_schemas()}
    assert two == one | {"study.schema.json", "prices.schema.json"}
    assert two == {path.name for path in (shipped_folder("configs") / "schemas").iterdir()}

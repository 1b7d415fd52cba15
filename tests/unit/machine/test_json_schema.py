import json

import pytest

from simcore.files.resources import find_config, shipped_names
from simcore.files.yaml_file import read_yaml
from simcore.machine import Dimension, json_schemas


def test_schemas_use_the_keys_of_files_and_text_for_quantities() -> None:
    schemas = json_schemas({"dimension": Dimension})
    assert set(schemas) == {"npu", "platform", "dimension"}
    bandwidth = schemas["dimension"]["properties"]["bandwidth"]
    assert bandwidth["type"] == "string"
    assert "GB/s" in bandwidth["description"]
    assert schemas["npu"]["additionalProperties"] is False


def test_a_platform_schema_takes_the_npu_by_name() -> None:
    npu = json_schemas()["platform"]["properties"]["npu"]
    assert {"type": "string"} in npu["anyOf"]


def test_schemas_are_plain_json() -> None:
    assert json.loads(json.dumps(json_schemas()))["npu"]["$schema"].startswith("https://")


@pytest.mark.parametrize("kind", ["npu", "platform"])
def test_shipped_files_have_the_keys_that_their_schema_asks_for(kind: str) -> None:
    schema = json_schemas()[kind]
    for name in shipped_names(f"{kind}s"):
        data = read_yaml(find_config(f"{kind}s", name, at=kind))
        assert set(schema["required"]) <= set(data) <= set(schema["properties"])

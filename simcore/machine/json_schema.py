"""JSON Schema of the files that people write, for editors and checks outside Python."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from simcore.machine.npu import Npu
from simcore.machine.platform import Platform

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schemas(more: Mapping[str, type[BaseModel]] | None = None) -> dict[str, dict[str, Any]]:
    """One JSON Schema per kind of file: ``npu``, ``platform``, and those of *more* by name.

    Keys are those of files (``bandwidth``) and quantities are text with a unit. Every file starts
    with its version and may leave out its name, which then is the file's own. A platform may give
    its ``npu`` by name or path as well as in place.
    """
    models: dict[str, type[BaseModel]] = {"npu": Npu, "platform": Platform, **(more or {})}
    schemas = {name: _file_schema(model) for name, model in models.items()}
    properties = schemas["platform"]["properties"]
    properties["npu"] = {"anyOf": [{"type": "string"}, properties["npu"]]}
    return schemas


def _file_schema(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema(by_alias=True)
    schema["properties"].setdefault("version", {"const": 1})
    required = [key for key in schema.get("required", []) if key not in ("name", "version")]
    return {"$schema": DIALECT, **schema, "required": ["version", *required]}

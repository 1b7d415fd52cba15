"""JSON Schema of the files that people write, for editors and checks outside Python."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from simcore.config import Run
from simcore.graphs.network_table import NetworkFile
from simcore.jobs.file import JobsFile
from simcore.machine import Npu, Platform
from simcore.machine.fabric import Fabric
from simcore.machine.stack import Stack
from simcore.parts import Part
from simcore.serving import Service
from simcore.validation import Calibration
from simcore.validation.served.checkpoints import Checkpoint
from simcore.validation.served.engine import ServingEngine
from simcore.validation.served.stack import ServingStack
from simcore.workload.kinds import DEFAULT_KIND, KINDS, net_class

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_TEXT = {"type": "string"}
_BY_NAME: Mapping[str, tuple[str, ...]] = {"Platform": ("npu",), "Run": ("platform",)}
_BY_NAME_IN_SERVICES = ("platform",)
_NETWORK = {"anyOf": [_TEXT, {"type": "object"}]}


def json_schemas(more: Mapping[str, type[BaseModel]] | None = None) -> dict[str, dict[str, Any]]:
    """One JSON Schema for each kind of file, by name, and for the models *more*.

    Keys are those of files (``bandwidth``), quantities are text with a unit, and where the name or
    the path of a file may stand for a table, a text is as good. Every file starts with its version
    and may leave out its name, which then is the file's own.
    """
    models: dict[str, type[BaseModel]] = {**_models(), **(more or {})}
    schemas = {name: file_schema(model) for name, model in models.items()}
    schemas["parts"] = _parts_schema()
    return schemas


def file_schema(model: type[BaseModel]) -> dict[str, Any]:
    """JSON Schema of a file that holds a *model*."""
    schema = model.model_json_schema(by_alias=True)
    schema["properties"].setdefault("version", {"const": 1})
    _take_names(model.__name__, schema)
    for name, inner in schema.get("$defs", {}).items():
        _take_names(name, inner)
    required = [key for key in schema.get("required", []) if key not in ("name", "version")]
    return {"$schema": DIALECT, **schema, "required": ["version", *required]}


def _models() -> dict[str, type[BaseModel]]:
    nets = {f"model_{kind}": net_class(workload) for kind, workload in KINDS.items()}
    nets["model"] = nets.pop(f"model_{DEFAULT_KIND}")
    return {
        **{name: net for name, net in nets.items() if name == "model" or net is not nets["model"]},
        "run": Run,
        "jobs": JobsFile,
        "service": Service,
        "npu": Npu,
        "platform": Platform,
        "network": NetworkFile,
        "stack": Stack,
        "fabric": Fabric,
        "engine": ServingEngine,
        "serving_stack": ServingStack,
        "checkpoint": Checkpoint,
        "calibration": Calibration,
    }


def _parts_schema() -> dict[str, Any]:
    """Schema of the files of ``configs/costs/parts``: tables of parts by name."""
    part = file_schema(Part)
    definitions = part.pop("$defs", {})
    del part["$schema"], part["properties"]["version"]
    part["required"].remove("version")
    return {
        "$schema": DIALECT,
        "type": "object",
        "properties": {
            "version": {"const": 1},
            "parts": {"type": "object", "additionalProperties": part},
        },
        "required": ["version", "parts"],
        "additionalProperties": False,
        "$defs": definitions,
    }


def _take_names(name: str, schema: dict[str, Any]) -> None:
    """Let the tables of files stand by their names in the definition *name*."""
    properties = schema.get("properties", {})
    keys = _BY_NAME.get(name, ())
    if "global_batch" in properties or name == "Service":  # a workload, or what is made of some
        keys = ("model", *_BY_NAME_IN_SERVICES)
    for key in keys:
        if key in properties:
            properties[key] = {"anyOf": [_TEXT, *_branches(properties[key])]}
            if key == "model":
                config = {"type": "object", "properties": {"config": _TEXT}, "required": ["config"]}
                properties[key]["anyOf"].append(config)
    if name == "Platform":  # a network may stand in the place of dimensions, or among them
        listed = properties["dimensions"]["items"]
        properties["dimensions"]["items"] = {"anyOf": [listed, _network_level()]}
        properties["network"] = _NETWORK
        schema["required"] = [key for key in schema["required"] if key != "dimensions"]
        schema["anyOf"] = [{"required": ["dimensions"]}, {"required": ["network"]}]


def _network_level() -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"network": _NETWORK},
        "required": ["network"],
        "additionalProperties": False,
    }


def _branches(schema: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = schema.get("anyOf", [schema])
    return [branch for branch in found if branch != _TEXT]

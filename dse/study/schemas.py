"""JSON Schemas of all kinds of files: the simulator's, studies and price books."""

from typing import Any

from dse.costs.prices import PriceBook
from dse.evaluate import EVALUATORS
from dse.study.file import StudyFile
from simcore import JobsTemplate, RunTemplate, ServiceTemplate, json_schemas

STUDY = "study"
_OF_TEMPLATE: dict[object, str] = {
    RunTemplate: "run",
    ServiceTemplate: "service",
    JobsTemplate: "jobs",
}
"""Kinds of files that evaluators read as a study's ``run``."""


def all_schemas() -> dict[str, dict[str, Any]]:
    """JSON Schemas by the kind of file.

    A study's ``run``, and what scenarios change in it, has the keys of the file that its evaluator
    reads, none of which is required: knobs may give them.
    """
    schemas = json_schemas({STUDY: StudyFile, "prices": PriceBook})
    study = schemas[STUDY]
    runs = [(name, one) for name, one in EVALUATORS.items() if one.template in _OF_TEMPLATE]
    for name, evaluator in runs:
        kind = _OF_TEMPLATE[evaluator.template]
        definitions, part = _partly(schemas[kind], kind)
        study["$defs"] |= definitions
        is_default = StudyFile.model_fields["evaluator"].default == name
        chosen: dict[str, Any] = {"properties": {"evaluator": {"const": name}}}
        if not is_default:
            chosen["required"] = ["evaluator"]
        of_scenario = {"items": {"properties": {"run": part}}}
        then = {"properties": {"run": part, "scenarios": of_scenario}}
        study.setdefault("allOf", []).append({"if": chosen, "then": then})
    return schemas


def _partly(schema: dict[str, Any], kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Definitions under names of their own, and the reference to a file with any of its keys."""

    def moved(value: Any) -> Any:
        if isinstance(value, dict):
            kept = {key: moved(one) for key, one in value.items() if not _asks(key, one)}
            if isinstance(kept.get("$ref"), str):
                kept["$ref"] = kept["$ref"].replace("#/$defs/", f"#/$defs/{kind}_")
            return kept
        return [moved(one) for one in value] if isinstance(value, list) else value

    inner = {f"{kind}_{name}": moved(one) for name, one in schema["$defs"].items()}
    own = {key: one for key, one in schema.items() if key not in ("$defs", "$schema")}
    inner[f"{kind}_file"] = moved(own)
    return inner, {"$ref": f"#/$defs/{kind}_file"}


def _asks(key: str, value: Any) -> bool:
    """True if *key* asks for other keys to be there; a property of that name is a table."""
    if key == "required":
        return isinstance(value, list)
    return key == "anyOf" and all(set(one) == {"required"} for one in value)

"""The engines of one accelerator, as its file tells them."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, ValidationInfo, WithJsonSchema

from simcore.errors import ConfigError
from simcore.machine.movers.base import Mover
from simcore.machine.movers.registry import MOVERS


def known_mover(name: str) -> str:
    """*name*, once it is known to be one of a kind of engine.

    Raises:
        ConfigError: There is no such kind.
    """
    if name not in MOVERS:
        raise MOVERS.unknown(name)
    return name


def _read(value: object, info: ValidationInfo) -> dict[str, Mover]:
    if not isinstance(value, Mapping):
        raise ConfigError("", "must be a table of kinds of engines and what each can do", got=value)
    from_file = bool(info.context and info.context.get("from_file"))
    return {str(name): _mover(str(name), given, from_file) for name, given in value.items()}


def _mover(name: str, given: object, from_file: bool) -> Mover:
    kind = MOVERS[known_mover(name)]
    if isinstance(given, kind):
        return given
    if from_file or not isinstance(given, Mapping):
        return kind.from_file_data(given, at=name)
    return kind.build(name, **{str(key): value for key, value in given.items()})


def _told(table: Mapping[str, Mover]) -> dict[str, Any]:
    return {name: mover.model_dump() for name, mover in table.items()}


MoverTable = Annotated[
    dict[str, Mover],
    PlainValidator(_read),
    PlainSerializer(_told),
    WithJsonSchema(
        {
            "type": "object",
            "additionalProperties": {"type": "object"},
            "description": f"engines that move data: {', '.join(MOVERS)}, package.module:Class",
        }
    ),
]
"""Engines by their kinds, names of ``MOVERS``."""

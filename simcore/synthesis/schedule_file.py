"""Schedules as JSON: what they are of, and their sends in columns."""

from collections.abc import Mapping
from json import dumps
from pathlib import Path
from typing import Any

import numpy as np

from simcore.errors import ConfigError
from simcore.files.json_file import read_json
from simcore.graphs.read.link_list import is_number, is_whole
from simcore.synthesis.kinds import KINDS
from simcore.synthesis.schedule import Schedule
from simcore.synthesis.synthesise import Synthesis

FORMAT = "simcore schedule 1"

_OF_CHUNKS = ("owner", "target")
_OF_SENDS = ("chunk", "tail", "head", "link", "joins", "flight", "start")


def schedule_text(found: Synthesis) -> str:
    """The JSON text of a schedule with its bound."""
    schedule, bound = found.schedule, found.bound
    table: dict[str, Any] = {
        "format": FORMAT,
        "collective": schedule.kind,
        "npus": schedule.npus,
        "time": schedule.time,
        "bound": bound.time,
        "bandwidth_bound": bound.bandwidth,
        "latency_bound": bound.latency,
        "bound_by": bound.by,
        "share_of_bound": found.share,
        "made_by": found.by,
        "chunk_size": schedule.part,
    }
    for name in _OF_CHUNKS + _OF_SENDS:
        column = getattr(schedule, name)
        table[name] = column.astype(np.int64).tolist() if name == "joins" else column.tolist()
    return dumps(table)


def read_schedule(path: Path) -> Schedule:
    """The schedule of a file; ``replay.check`` says if it does what it should.

    Raises:
        ConfigError: It cannot be read, or a column is not as it must be.
    """
    data = read_json(path)
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        got = data.get("format") if isinstance(data, Mapping) else data
        raise ConfigError("format", f"must be '{FORMAT}'", got=got).in_file(path)
    try:
        return _schedule(data)
    except ConfigError as error:
        raise error.in_file(path) from None


def _schedule(data: Mapping[str, Any]) -> Schedule:
    if data.get("collective") not in KINDS:
        rule = f"must be one of {', '.join(KINDS)}"
        raise ConfigError("collective", rule, got=data.get("collective"))
    npus = data.get("npus")
    if not is_whole(npus) or not 1 <= npus < 1 << 32:  # type: ignore[operator]
        raise ConfigError("npus", "must be a whole number, 1 or more", got=npus)
    for name in ("time", "chunk_size"):
        if not is_number(data.get(name)) or data[name] < 0:
            raise ConfigError(name, "must be a number, 0 or more", got=data.get(name))
    columns = {name: _column(data, name) for name in _OF_CHUNKS + _OF_SENDS}
    for names in (_OF_CHUNKS, _OF_SENDS):
        for name in names:
            if len(columns[name]) != len(columns[names[0]]):
                rule = f"must be as long as {names[0]}, {len(columns[names[0]])}"
                raise ConfigError(name, rule, got=len(columns[name]))
    _refuse_outside(columns["chunk"], len(columns["owner"]), "chunk")
    columns["joins"] = columns["joins"] != 0
    return Schedule(
        kind=data["collective"],
        npus=int(npus),  # type: ignore[arg-type]
        part=float(data["chunk_size"]),
        time=float(data["time"]),
        **columns,
    )


def _column(data: Mapping[str, Any], name: str) -> Any:
    """A column of numbers, whole ones unless they are times."""
    values = data.get(name)
    fine = is_number if name == "start" else is_whole
    if not isinstance(values, list) or not all(fine(value) for value in values):
        what = "numbers" if name == "start" else "whole numbers"
        raise ConfigError(name, f"must be a list of {what}", got=type(values).__name__)
    if any(abs(value) >= 1 << 62 for value in values):
        raise ConfigError(name, "must hold numbers below 2^62", got=max(values, key=abs))
    return np.array(values, np.float64 if name == "start" else np.int64)


def _refuse_outside(values: Any, count: int, name: str) -> None:
    outside = (values < 0) | (values >= count)
    if outside.any():
        rule = f"must be numbers of chunks, 0 to {count - 1}"
        raise ConfigError(name, rule, got=int(values[np.argmax(outside)]))

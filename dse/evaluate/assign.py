"""From the knobs of a design to the values of a run file."""

from collections.abc import Mapping, Sequence
from typing import Any

from dse.space import Design, Parameter, file_value

NETWORK = "platform.dimensions["
"""Start of the paths that lead into the network's list of dimensions."""


def kept_slots(
    design: Design,
    parameters: Mapping[str, Parameter],
    dimensions: Mapping[int, tuple[int, ...]],
) -> tuple[int, ...]:
    """Positions of the run's list of dimensions that the design keeps."""
    if len(dimensions) == 1:
        return next(iter(dimensions.values()))
    present = {
        slot
        for name in design
        if name.startswith(NETWORK) and (slot := parameters[name].slot) is not None
    }
    return next(slots for slots in dimensions.values() if set(slots) == present)


def trimmed_run(run: Mapping[str, Any], kept: Sequence[int]) -> dict[str, Any]:
    """The run with only the dimensions in *kept*, and one list entry for each of them."""
    platform = run.get("platform")
    if not isinstance(platform, dict) or not isinstance(platform.get("dimensions"), list):
        return dict(run)
    listed = platform["dimensions"]
    result = dict(run)
    result["platform"] = {**platform, "dimensions": [listed[slot] for slot in kept]}
    system = run.get("system")
    if isinstance(system, dict):
        result["system"] = {
            key: [value[slot] for slot in kept] if _is_vector(value, len(listed)) else value
            for key, value in system.items()
        }
    return result


def run_values(
    design: Design,
    parameters: Mapping[str, Parameter],
    kept: Sequence[int],
    run: Mapping[str, Any],
) -> dict[str, Any]:
    """What the design sets, by path into the trimmed run, as a run file would write it.

    A list with one entry per network dimension, such as ``system.all_reduce``, is set as a whole;
    entries that no knob sets are the run's.
    """
    position = {slot: index for index, slot in enumerate(kept)}
    values: dict[str, Any] = {}
    vectors: dict[str, dict[int, Any]] = {}
    for name, value in design.items():
        parameter = parameters[name]
        written = file_value(value, parameter.unit)
        for path in parameter.targets or (name,):
            stem, ending = path.rsplit("[", 1) if path.endswith("]") else (path, "")
            if ending and parameter.slot is not None:
                vectors.setdefault(stem, {})[position[parameter.slot]] = written
            else:
                values[_moved(path, parameter.slot, position)] = written
    for stem, entries in vectors.items():
        values[stem] = _vector(entries, _at(run, stem), len(kept))
    return values


def _moved(path: str, slot: int | None, position: Mapping[int, int]) -> str:
    if slot is None or slot not in position:
        return path
    return path.replace(f"[{slot}]", f"[{position[slot]}]")


def _vector(entries: Mapping[int, Any], fixed: object, length: int) -> list[Any]:
    """A list of *length* entries: those given, else the run's, else the first one given."""
    spare = next(iter(entries.values())) if fixed is None else fixed
    if isinstance(spare, list) and len(spare) == length:
        return [entries.get(index, spare[index]) for index in range(length)]
    return [entries.get(index, spare) for index in range(length)]


def _at(table: Mapping[str, Any], path: str) -> object:
    value: object = table
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _is_vector(value: object, length: int) -> bool:
    return isinstance(value, list) and len(value) == length

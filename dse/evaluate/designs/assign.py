"""From the knobs of a design to the values of a run file."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

from dse.evaluate.base import EvaluatorInput
from dse.space import Design, Parameter, Value, file_value, slot_of
from simcore import DEFAULT_BACKEND

NETWORK = "platform.dimensions["
"""Start of the paths that lead into the network's list of dimensions."""

_TEXTS_KEPT = 4096
"""Quantities kept as texts: more than the values of all ladders of a study."""


def kept_slots(
    names: Sequence[str],
    parameters: Mapping[str, Parameter],
    dimensions: Mapping[int, tuple[int, ...]],
) -> tuple[int, ...]:
    """Positions of the run's list of dimensions that designs with the knobs *names* keep."""
    if len(dimensions) == 1:
        return next(iter(dimensions.values()))
    present = {
        slot
        for name in names
        if name.startswith(NETWORK) and (slot := parameters[name].slot) is not None
    }
    if not present:  # a run as its file has it
        return max(dimensions.values(), key=len)
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
            key: [value[slot] for slot in kept]
            if isinstance(value, list) and len(value) == len(listed)
            else value
            for key, value in system.items()
        }
    return result


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """Places in the trimmed run for the values of designs with the same knobs.

    A list with one entry per network dimension, such as ``system.all_reduce``, is set as a whole;
    entries that no knob sets are the run's.

    Attributes:
        names: Of the knobs, in their order.
        units: Base unit of each knob, or None.
        scalars: Paths that take one value, with the position of their knob.
        vectors: Paths that take a list: per entry the position of its knob, or None and what
            the run holds there.
        write: ``file_value``, with the texts that it has written lately.
    """

    names: tuple[str, ...]
    units: tuple[str | None, ...]
    scalars: Mapping[str, int]
    vectors: Mapping[str, Sequence[tuple[int | None, Any]]]
    write: Callable[[Value, str | None], Value]

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        parameters: Mapping[str, Parameter],
        kept: Sequence[int],
        run: Mapping[str, Any],
    ) -> Self:
        """The assignment of designs with the knobs *names*, in that order."""
        position = {slot: index for index, slot in enumerate(kept)}
        scalars: dict[str, int] = {}
        entries: dict[str, dict[int, int]] = {}
        for knob, name in enumerate(names):
            for path in parameters[name].targets or (name,):
                slot = slot_of(path)
                if slot is not None and slot not in position:
                    continue  # a knob of several dimensions, of which the design lacks this one
                if slot is not None and path.endswith("]") and not path.startswith(NETWORK):
                    stem = path.rsplit("[", 1)[0]
                    entries.setdefault(stem, {})[position[slot]] = knob
                else:
                    scalars[moved_path(path, position)] = knob
        return cls(
            names=tuple(names),
            units=tuple(parameters[name].unit for name in names),
            scalars=scalars,
            vectors={s: _sources(own, _at(run, s), len(kept)) for s, own in entries.items()},
            write=lru_cache(_TEXTS_KEPT, typed=True)(file_value),
        )

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that are set, in the order of ``values``."""
        return (*self.scalars, *self.vectors)

    def values(self, design: Design) -> dict[str, Any]:
        """Values that *design* sets, by path, as in a run file."""
        write = self.write
        written = [
            value if unit is None else write(value, unit)
            for value, unit in zip(design.values(), self.units, strict=True)
        ]
        values: dict[str, Any] = {path: written[knob] for path, knob in self.scalars.items()}
        for stem, sources in self.vectors.items():
            values[stem] = [held if knob is None else written[knob] for knob, held in sources]
        return values


def moved_path(path: str, position: Mapping[int, int]) -> str:
    """*path* where its network dimension has the new *position* of its old one."""
    slot = slot_of(path)
    return path if slot is None else path.replace(f"[{slot}]", f"[{position[slot]}]", 1)


def _sources(
    entries: Mapping[int, int], fixed: object, length: int
) -> tuple[tuple[int | None, Any], ...]:
    """Per entry of a list of *length*: its knob, else what the run holds, else the first knob."""
    spare: tuple[int | None, Any] = (None, fixed)
    if fixed is None:
        spare = (next(iter(entries.values())), None)
    if isinstance(fixed, list) and len(fixed) == length:
        return tuple((entries.get(index), fixed[index]) for index in range(length))
    return tuple((entries[index], None) if index in entries else spare for index in range(length))


def _at(table: Mapping[str, Any], path: str) -> object:
    value: object = table
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


_UNCHECKED = (".bandwidth", ".efficiency", ".latency", ".oversubscription", ".topology")
"""Ends of paths that neither structure nor memory depends on."""


def bears_on_memory(knob: Parameter) -> bool:
    """True if the structure of a design or the memory that it needs depends on *knob*."""
    paths = knob.targets or (knob.name,)
    return not all(path.startswith("system.") or path.endswith(_UNCHECKED) for path in paths)


def backends_of(what: EvaluatorInput) -> frozenset[str]:
    """Names of the network backends that the designs of a study are simulated with."""
    runs = [what.run, *(scenario.run for scenario in what.scenarios)]
    found = {str(run.get("backend", DEFAULT_BACKEND)) for run in runs}
    knobs = [
        knob for knob in what.parameters.values() if "backend" in (knob.targets or (knob.name,))
    ]
    return frozenset(found.union(str(choice) for knob in knobs for choice in knob.choices))

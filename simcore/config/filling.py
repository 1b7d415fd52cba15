"""Fills a run file with the values of one design after another.

The designs of a study differ in some of their tables and share the others: a run is put together
from tables that were checked before with the same values. A run that breaks a rule breaks it here
too; the sentence that tells it is left to the check of the whole file.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from operator import itemgetter
from typing import Any, Self

from simcore.config.names import NAMED, NPU, PLATFORM, resolved
from simcore.config.paths import Steps, parse_path, set_steps
from simcore.config.run import Run
from simcore.errors import ConfigError
from simcore.machine import Dimension, Platform, load_npu, load_platform
from simcore.machine.graph_dimensions import is_network
from simcore.machine.native import is_native
from simcore.machine.system import System
from simcore.schema import Schema
from simcore.workload import ParallelPlan, TrainingWorkload, read_workload

_KEPT = 4096
"""Objects kept of each table of a run; the least recently used goes first."""

Path = tuple[str, Steps]
"""A path as text, and taken apart."""

_TABLES: tuple[Steps, ...] = (("workload",), ("plan",), ("system",))
_DIMENSIONS: Steps = ("platform", "dimensions")
_PLAIN = frozenset({bool, int, float, str})

Part = Schema | Mapping[str, object]
"""Object of a table, or the table itself where its meaning hangs on another part."""


def _dimension(table: object) -> Part:
    """A network dimension; links of the accelerator, and networks, are left to the platform."""
    if isinstance(table, Mapping) and (is_native(table) or is_network(table)):
        return table
    return Dimension.from_file_data(table, at="platform.dimensions")


_BUILDERS: Mapping[Steps, Callable[[object], Part]] = {
    ("workload",): partial(read_workload, at="workload"),
    ("plan",): partial(ParallelPlan.from_file_data, at="plan"),
    ("system",): partial(System.from_file_data, at="system"),
    PLATFORM: partial(load_platform, at="platform"),
    NPU: partial(load_npu, at="platform.npu"),
    _DIMENSIONS: _dimension,
}


@dataclass(frozen=True, slots=True, eq=False)
class RunTable:
    """One table of the run, with the values that belong into it.

    Attributes:
        key: Its key, or its position in the list of dimensions.
        build: From its own values to its object; keeps the last of them.
        own: From the values of a design to its own.
        is_fixed: There are none of its own.
        inner: Tables that it is put together from.
    """

    key: str | int
    build: Callable[..., Part]
    own: Callable[[Sequence[object]], Iterable[object]]
    is_fixed: bool
    inner: tuple["RunTable", ...] = ()

    @classmethod
    def of(cls, table: object, place: Steps, paths: Sequence[Path]) -> Self:
        """The part at *place*, where the file holds *table*."""
        own = [at for at, (_, steps) in enumerate(paths) if steps[: len(place)] == place]
        build: Callable[..., Part] = partial(_build, table, place, [paths[at] for at in own])
        keys = _keys(place, [paths[at][1] for at in own])
        if isinstance(table, dict) and keys is not None:
            build = partial(_with_keys, table, _BUILDERS[_kind(place)], keys)
        return cls(place[-1], lru_cache(_KEPT, typed=True)(build), _picker(own), not own)

    @classmethod
    def of_platform(cls, table: Mapping[str, Any], paths: Sequence[Path]) -> Self:
        """The platform, where the file holds *table* with accelerator and dimensions in place."""
        own = [at for at, (_, steps) in enumerate(paths) if steps[: len(PLATFORM)] == PLATFORM]
        within = [paths[at] for at in own]
        npu = RunTable.of(table["npu"], NPU, within)
        dimensions = tuple(
            RunTable.of(given, (*_DIMENSIONS, at), within)
            for at, given in enumerate(table["dimensions"])
        )
        build = lru_cache(_KEPT, typed=True)(partial(_platform, table, npu, dimensions))
        return cls(PLATFORM[-1], build, _picker(own), not own, (npu, *dimensions))

    def object(self, values: Sequence[object]) -> Part:
        """The object that the values of a design mean.

        Raises:
            ConfigError: One breaks a rule.
        """
        return self.build(*self.own(values))


@dataclass(frozen=True, slots=True, eq=False)
class Filling:
    """A run file for designs that set the same paths.

    Attributes:
        table: What no path sets.
        scalars: Keys of the run that hold a single value, and the positions of these values.
        parts: Tables of the run itself.
    """

    table: Mapping[str, Any]
    scalars: tuple[tuple[str, int], ...]
    parts: tuple[RunTable, ...]

    @classmethod
    def of(cls, table: Mapping[str, Any], paths: tuple[str, ...]) -> Self:
        """The filling of the run file *table* with values for *paths*.

        Raises:
            ConfigError: A path leads nowhere.
        """
        parsed = [(path, parse_path(path)) for path in paths]
        places = [*_TABLES, PLATFORM]
        known = {place[0] for place in places}
        scalars = [(at, *path) for at, path in enumerate(parsed) if path[1][0] not in known]
        for _, path, steps in scalars:
            if len(steps) > 1:
                raise ConfigError(path, "must be a key of the run", got=steps[0])
        touched = {steps[:depth] for _, steps in parsed for depth in range(1, len(steps) + 1)}
        inner = _has_inner_parts(table, parsed)
        return cls(
            table=table,
            scalars=tuple((str(steps[0]), at) for at, _, steps in scalars),
            parts=tuple(
                RunTable.of_platform(table["platform"], parsed)
                if place == PLATFORM and inner
                else RunTable.of(table.get(str(place[0])), place, parsed)
                for place in places
                if place[0] in table or place in touched
            ),
        )

    def prepare(self) -> None:
        """Build the objects that no value changes, with the sums that a model keeps.

        Raises:
            ConfigError: One breaks a rule.
        """
        for part in self.parts:
            for one in (*part.inner, part):
                if one.is_fixed:
                    built = one.build()
                    if isinstance(built, TrainingWorkload):
                        built.model.add_up()

    def part(self, key: str, values: Iterable[object]) -> Part | None:
        """The table *key* of the run with *values*, without the others; None as in ``run``.

        Raises:
            ConfigError: A value breaks a rule of the table.
        """
        plain = _plain(values)
        own = next((part for part in self.parts if part.key == key), None)
        return None if plain is None or own is None else own.object(plain)

    def run(self, values: Iterable[object]) -> Run | None:
        """The run with *values*, in the order of the paths; None if one is no plain value.

        Raises:
            ConfigError: A value breaks a rule.
        """
        plain = _plain(values)
        if plain is None:
            return None
        table = dict(self.table)
        for key, at in self.scalars:
            table[key] = plain[at]
        for part in self.parts:
            table[str(part.key)] = part.object(plain)
        return Run.from_file_data(table, at="")


def _has_inner_parts(table: Mapping[str, Any], paths: Sequence[Path]) -> bool:
    """True if the file has accelerator and dimensions in place, and no path leads beside them."""
    platform = table["platform"]
    listed = platform.get("dimensions")
    if "npu" not in platform or not isinstance(listed, list | tuple):
        return False
    inner: list[Steps] = [NPU, *((*_DIMENSIONS, at) for at in range(len(listed)))]
    return all(
        steps[0] != "platform" or any(steps[: len(place)] == place for place in inner)
        for _, steps in paths
    )


def _platform(
    table: Mapping[str, Any], npu: RunTable, dimensions: Sequence[RunTable], *values: object
) -> Part:
    """The platform of *table* with the accelerator and the dimensions that *values* mean."""
    listed = [one.object(values) for one in dimensions]
    filled = {**table, "npu": npu.object(values), "dimensions": listed}
    return Platform.from_file_data(filled, at="platform")


def _build(table: object, place: Steps, paths: Sequence[Path], *values: object) -> Part:
    """The object of the part at *place*: its *table*, with *values* at *paths*."""
    filled = table
    for (path, steps), value in zip(paths, values, strict=True):
        filled = set_steps(filled, steps[len(place) :], resolved(steps, value), path)
    return _BUILDERS[_kind(place)](filled)


def _kind(place: Steps) -> Steps:
    """The place of the tables that are built like that at *place*."""
    return place[:2] if place[:2] == _DIMENSIONS else place


def _keys(place: Steps, paths: Sequence[Steps]) -> list[str] | None:
    """The keys that the *paths* lead to, if each is one of the table at *place* itself."""
    keys = [path[-1] for path in paths if len(path) == len(place) + 1 and path not in NAMED]
    texts = [key for key in keys if isinstance(key, str)]
    return texts if len(texts) == len(paths) else None


def _with_keys(
    table: Mapping[str, Any],
    build: Callable[[object], Part],
    keys: Sequence[str],
    *values: object,
) -> Part:
    """``_build`` where all values are those of keys of the part itself."""
    return build({**table, **dict(zip(keys, values, strict=True))})


def _picker(positions: Sequence[int]) -> Callable[[Sequence[object]], Iterable[object]]:
    """Takes the values at *positions*; quicker than a loop from two on."""
    if len(positions) > 1:
        return itemgetter(*positions)
    return lambda values: [values[at] for at in positions]


def _plain(values: Iterable[object]) -> list[object] | None:
    """Values that can be told apart by type and value: numbers and texts, and lists of texts."""
    plain: list[object] = []
    for value in values:
        if type(value) in _PLAIN:
            plain.append(value)
        elif isinstance(value, list | tuple) and all(type(entry) is str for entry in value):
            plain.append(tuple(value))
        else:
            return None
    return plain

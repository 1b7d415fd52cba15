"""The placement that a file chooses: a name, a table with options, or a list of NPUs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from simcore.errors import ConfigError
from simcore.placement import AS_IS, PLACEMENTS, Ints, Ranks
from simcore.schema import Schema

_FILES = (".yaml", ".yml", ".json")


class PlacementChoice(Schema):
    """A placement by name.

    Attributes:
        rule: A name of ``PLACEMENTS``, or ``package.module:Object``.
        options: Those of the rule.
    """

    rule: str = AS_IS
    options: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_rule(self) -> Self:
        if self.rule not in PLACEMENTS:
            raise PLACEMENTS.unknown(self.rule, at="rule")
        PLACEMENTS[self.rule].options.from_file_data(self.options, at="options")
        return self

    def __hash__(self) -> int:
        return hash((self.rule, repr(sorted(self.options.items()))))

    @property
    def moves(self) -> bool:
        """True if ranks may run on NPUs of other numbers."""
        return self.rule != AS_IS

    @property
    def weighs_traffic(self) -> bool:
        """True if the rule chooses by what links carry."""
        return PLACEMENTS[self.rule].weighs_traffic

    def place(self, ranks: Ranks, at: str = "placement") -> Ints:
        """(n,) NPU of each rank.

        Raises:
            ConfigError: The rule cannot place them, or gives a NPU twice or one that is not there.
        """
        rule = PLACEMENTS[self.rule]
        options = rule.options.from_file_data(self.options, at=f"{at}.options")
        where = np.asarray(rule.place(ranks, options))
        every = where.shape == (ranks.count,) and where.dtype.kind in "iu"
        if not every or not np.array_equal(np.sort(where), np.arange(ranks.count)):
            told = (
                f"must give each of {ranks.count} ranks an NPU of its own, 0 to {ranks.count - 1}"
            )
            raise ConfigError(at, told, got=_fault(where, ranks.count))
        return where.astype(np.int64)


def _read_short(data: object) -> object:
    """The table that a name, the path of a file with a list, or a list of NPUs stands for."""
    if isinstance(data, str):
        if data.endswith(_FILES):
            return {"rule": "listed", "options": {"file": data}}
        return {"rule": data}
    if isinstance(data, list | tuple):
        return {"rule": "listed", "options": {"npus": list(data)}}
    return data


Placement = Annotated[
    PlacementChoice,
    BeforeValidator(_read_short, json_schema_input_type=str | tuple[int, ...] | PlacementChoice),
]
"""A placement, in a file also its name alone, the path of a file with a list, or the list."""


class _Option(Schema):
    """A placement of a command line as a file would hold it."""

    placement: Placement


def read_placement(text: str, at: str) -> PlacementChoice:
    """The placement that *text* tells in YAML's short form: a name, a list, a table, or a path.

    Raises:
        ConfigError: It tells none; named as the option *at*.
    """
    from simcore.files.yaml_file import parse_yaml  # only command lines have such texts

    try:
        return _Option.from_file_data({"placement": parse_yaml(text, at)}, at="").placement
    except ConfigError as error:
        within = error.at.removeprefix("placement").removeprefix(".")
        place = f"{at}: {within}" if within else at
        raise ConfigError(place, error.rule, got=error.got) from None


def from_folder(given: object, folder: Path | None) -> object:
    """*given* with a path that it names taken from *folder*."""
    if folder is None:
        return given
    if isinstance(given, str) and given.endswith(_FILES):
        return str(folder / given)
    if isinstance(given, Mapping) and isinstance(given.get("options"), Mapping):
        file = given["options"].get("file")
        if isinstance(file, str) and file:
            return {**given, "options": {**given["options"], "file": str(folder / file)}}
    return given


def _fault(where: Any, count: int) -> str:
    """First fault of a list that is no permutation."""
    if where.shape != (count,) or where.dtype.kind not in "iu":
        return f"{where.size} NPUs"
    outside = where[(where < 0) | (where >= count)]
    if outside.size:
        return f"NPU {outside[0]}"
    numbers, times = np.unique(where, return_counts=True)
    return f"NPU {numbers[times > 1][0]} twice"

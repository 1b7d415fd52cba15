"""The parts list: all parts by name, and those that fit a purpose."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from simcore.errors import ConfigError
from simcore.files.resources import find_config, shipped_names
from simcore.files.yaml_file import read_table, text_of_yaml
from simcore.parts.part import Part

_FOLDER = "costs/parts"


class Catalogue:
    """Parts by name, of the shipped files and of a price book that replaces some.

    It keeps what it was asked for: fabrics are wired in hundreds of ways to find the cheapest.

    Args:
        parts: By name.
    """

    def __init__(self, parts: Mapping[str, Part]) -> None:
        self.parts = dict(parts)
        self._kinds: dict[str, list[tuple[str, Part]]] = {}
        self._at_speed: dict[tuple[str, float, str | None], tuple[str, Part]] = {}
        self._cables: dict[tuple[float, float], list[tuple[str, Part]]] = {}

    def __getitem__(self, name: str) -> Part:
        """The part *name*.

        Raises:
            ConfigError: There is none.
        """
        if name not in self.parts:
            raise ConfigError("parts", "must be on the parts list", got=name)
        return self.parts[name]

    def of_kind(self, kind: str) -> Iterator[tuple[str, Part]]:
        """Names and parts of one kind, in the order of the list."""
        if kind not in self._kinds:
            self._kinds[kind] = [both for both in self.parts.items() if both[1].kind == kind]
        return iter(self._kinds[kind])

    def speeds_gbps(self) -> list[float]:
        """Speeds of network cards on the list, rising, Gb/s."""
        return sorted({part.speed_gbps for _, part in self.of_kind("nic")})

    def at_speed(self, kind: str, gbps: float, end: str | None = None) -> tuple[str, Part]:
        """The part of one kind for ports of *gbps*.

        Raises:
            ConfigError: None is on the list.
        """
        asked = (kind, gbps, end)
        if asked in self._at_speed:
            return self._at_speed[asked]
        for name, part in self.of_kind(kind):
            if abs(part.speed_gbps - gbps) < 1e-6 and part.end == end:
                self._at_speed[asked] = name, part
                return name, part
        raise ConfigError("parts", f"must hold a {kind} for ports of {gbps:g} Gb/s", got=None)

    def cables(self, gbps: float, length_m: float) -> list[tuple[str, Part]]:
        """Cables for links of *gbps* that are long enough.

        Raises:
            ConfigError: None is on the list.
        """
        if (gbps, length_m) in self._cables:
            return self._cables[gbps, length_m]
        found = [
            (name, part)
            for name, part in self.of_kind("cable")
            if abs(part.speed_gbps - gbps) < 1e-6 and (part.reach_m or 0) >= length_m
        ]
        if not found:
            rule = f"must hold a cable of {gbps:g} Gb/s that reaches {length_m:g} m"
            raise ConfigError("parts", rule, got=None)
        self._cables[gbps, length_m] = found
        return found

    def server(self, accelerator: str) -> Part | None:
        """Server that *accelerator* (a name of ``configs/npus``) is sold in; None: none listed."""
        found = (p for _, p in self.of_kind("server") if accelerator in p.accelerators)
        return next(found, None)


def shipped_parts() -> dict[str, Part]:
    """All parts of ``configs/costs/parts``, by name.

    The files are read anew each time, so that a study knows them among its own; they are checked
    anew where they have changed.

    Raises:
        ConfigError: A value breaks a rule; the message names file and part.
    """
    paths = [find_config(_FOLDER, file, at="parts") for file in shipped_names(_FOLDER)]
    return dict(_parts_of(tuple((path, text_of_yaml(path)) for path in paths)))


@lru_cache(maxsize=4)
def _parts_of(files: tuple[tuple[Path, str], ...]) -> dict[str, Part]:
    """The parts in *files*, by path and text."""
    parts: dict[str, Part] = {}
    for path, _ in files:
        table: Mapping[str, Any] = read_table(path)["parts"]
        for name, values in table.items():
            try:
                parts[name] = Part.from_file_data(values, at=f"parts.{name}")
            except ConfigError as error:
                raise error.in_file(path) from None
    return parts

"""Metrics as one array each: an eighth of a dictionary's memory, and fast to send."""

from array import array
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Self

_NAMES_KEPT = 64
"""Sets of names: one or two per evaluator."""


class Metrics(Mapping[str, float]):
    """Numbers by name, read-only; those of one evaluator share their names."""

    __slots__ = ("_places", "_values")

    def __init__(self, places: "_Places", values: "array[float]") -> None:
        self._places, self._values = places, values

    @classmethod
    def of(cls, metrics: Mapping[str, float]) -> Self:
        """The same numbers.

        Raises:
            TypeError: One is no number.
        """
        return cls(_places(tuple(metrics)), array("d", metrics.values()))

    def __getitem__(self, name: str) -> float:
        return self._values[self._places[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return f"Metrics({dict(self)})"

    def __reduce__(self) -> tuple[object, ...]:
        """Names travel once per message, numbers as bytes."""
        return _metrics, (self._places.names, self._values.tobytes())


def _metrics(names: tuple[str, ...], data: bytes) -> Metrics:
    return Metrics(_places(names), array("d", data))


class _Places(dict[str, int]):
    """Place of each name, and all names as they are sent."""

    __slots__ = ("names",)

    names: tuple[str, ...]


@lru_cache(_NAMES_KEPT)
def _places(names: tuple[str, ...]) -> _Places:
    places = _Places(zip(names, range(len(names)), strict=True))
    places.names = names
    return places

"""Metrics of evaluations by the thousand: small in memory, and fast to send."""

from abc import abstractmethod
from array import array
from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from functools import lru_cache
from math import inf, isfinite
from typing import Self

from simcore import SimulationError

_NAMES_KEPT = 64
"""Sets of names: one or two per evaluator."""


class PackedMetrics(Mapping[str, float]):
    """Numbers by name, read-only, kept in another form than a dictionary."""

    __slots__ = ()

    @abstractmethod
    def plain(self) -> dict[str, float]:
        """The numbers as a dictionary, which is the fast way to read them all."""

    def keys(self) -> KeysView[str]:
        return self.plain().keys()

    def values(self) -> ValuesView[float]:
        return self.plain().values()

    def items(self) -> ItemsView[str, float]:
        return self.plain().items()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.plain()})"


def plain(metrics: Mapping[str, float]) -> Mapping[str, float]:
    """A dictionary of *metrics*, whatever their form; not to be changed."""
    return metrics.plain() if isinstance(metrics, PackedMetrics) else metrics


def check_metrics(metrics: Mapping[str, float]) -> None:
    """See whether an evaluator's numbers are finite and at least 0.

    Raises:
        SimulationError: One is not.
    """
    for name, value in plain(metrics).items():
        if not 0 <= value < inf:  # written so that NaN fails too
            rule = f"the evaluator must give a finite {name} of at least 0"
            raise SimulationError(f"{rule}, but got {value!r}.")


def check_finite(values: Mapping[str, float]) -> None:
    """See whether all numbers are finite.

    Raises:
        SimulationError: One is not.
    """
    for name, value in values.items():
        if not isfinite(value):
            raise SimulationError(f"{name} must be a finite number, but got {value!r}.")


class Metrics(PackedMetrics):
    """One array of numbers, an eighth of a dictionary; those of one evaluator share their names."""

    __slots__ = ("_places", "_values")

    def __init__(self, places: "_Places", values: "array[float]") -> None:
        self._places, self._values = places, values

    @classmethod
    def of(cls, metrics: Mapping[str, float]) -> Self:
        """Pack the numbers.

        Raises:
            TypeError: One is no number.
        """
        return cls(_places(tuple(metrics)), array("d", metrics.values()))

    @classmethod
    def joined(cls, names: tuple[str, ...], numbers: "array[float]") -> Self:
        """The reverse of ``names`` and ``numbers``."""
        return cls(_places(names), numbers)

    @property
    def names(self) -> tuple[str, ...]:
        """All names; one object for all metrics with the same."""
        return self._places.names

    @property
    def numbers(self) -> "array[float]":
        """The number under each name."""
        return self._values

    def plain(self) -> dict[str, float]:
        return dict(zip(self._places, self._values, strict=True))

    def __getitem__(self, name: str) -> float:
        return self._values[self._places[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __reduce__(self) -> tuple[object, ...]:
        """Names travel once per message, numbers as bytes."""
        return _metrics, (self._places, self._values.tobytes())


def _metrics(places: "_Places", data: bytes) -> Metrics:
    return Metrics(places, array("d", data))


class _Places(dict[str, int]):
    """Place of each name, and all names as they are sent."""

    __slots__ = ("names",)

    names: tuple[str, ...]

    def __reduce__(self) -> tuple[object, ...]:
        return _places, (self.names,)


@lru_cache(_NAMES_KEPT)
def _places(names: tuple[str, ...]) -> _Places:
    places = _Places(zip(names, range(len(names)), strict=True))
    places.names = names
    return places

"""The names that ASTRA-sim's system files give to collective algorithms."""

import re
from collections.abc import Iterable

from simcore.collectives import (
    CollectiveAlgorithm,
    Direct,
    DoubleBinaryTree,
    HalvingDoubling,
    Ring,
    algorithm_name,
)
from simcore.engines.events.input import ChosenAlgorithm
from simcore.errors import ConfigError
from simcore.registry import did_you_mean

_PLAIN: dict[str, CollectiveAlgorithm] = {
    "ring": Ring(),
    "direct": Direct(),
    "halvingDoubling": HalvingDoubling(),
    "doubleBinaryTree": DoubleBinaryTree(),
}
_WHOLE_MACHINE = {
    "oneRing": "ring",
    "oneDirect": "direct",
    "oneHalvingDoubling": "halvingDoubling",
}
_WINDOWED = re.compile(r"(direct|oneDirect)([1-9]\d{0,4})")


def algorithm_of(name: str) -> ChosenAlgorithm:
    """The algorithm behind ASTRA-sim's *name*, such as ``ring``, ``oneRing`` or ``direct4``.

    Raises:
        ConfigError: No such name; lists the names.
    """
    windowed = _WINDOWED.fullmatch(name)
    if windowed:
        direct = Direct(window=int(windowed[2]))
        return ChosenAlgorithm(algorithm=direct, whole_machine=windowed[1] == "oneDirect")
    plain = _WHOLE_MACHINE.get(name, name)
    if plain not in _PLAIN:
        choices = [*_PLAIN, *_WHOLE_MACHINE]
        rule = f"must be one of {', '.join(choices)}, direct<W> or oneDirect<W>"
        raise ConfigError("", rule + did_you_mean(name, choices), got=name)
    return ChosenAlgorithm(algorithm=_PLAIN[plain], whole_machine=name in _WHOLE_MACHINE)


def algorithms_of(names: Iterable[str]) -> tuple[ChosenAlgorithm, ...]:
    """The algorithms behind several names, see ``algorithm_of``."""
    return tuple(algorithm_of(name) for name in names)


def name_of(chosen: ChosenAlgorithm) -> str:
    """ASTRA-sim's name of an algorithm.

    Raises:
        ConfigError: ASTRA-sim has no such algorithm.
    """
    algorithm, window = chosen.algorithm, ""
    if isinstance(algorithm, Direct) and algorithm.window is not None:
        algorithm, window = Direct(), str(algorithm.window)
    for name, known in _PLAIN.items():
        if known == algorithm:
            one = {plain: whole for whole, plain in _WHOLE_MACHINE.items()}
            return (one[name] if chosen.whole_machine else name) + window
    rule = f"must be one that ASTRA-sim has: {', '.join(_PLAIN)}, direct<W>"
    raise ConfigError("algorithm", rule, got=algorithm_name(algorithm))

"""The names that ASTRA-sim's system files give to collective algorithms."""

import re
from dataclasses import dataclass

from simcore.collectives.base import CollectiveAlgorithm
from simcore.collectives.direct import Direct
from simcore.collectives.double_binary_tree import DoubleBinaryTree
from simcore.collectives.halving_doubling import HalvingDoubling
from simcore.collectives.ring import Ring
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


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedAlgorithm:
    """An algorithm, and whether it runs over the whole machine as one dimension (``oneX``)."""

    algorithm: CollectiveAlgorithm
    whole_machine: bool


def astra_algorithm(name: str) -> NamedAlgorithm:
    """The algorithm behind ASTRA-sim's *name*, such as ``ring``, ``oneRing`` or ``direct4``.

    Raises:
        ConfigError: No such name; lists the names.
    """
    windowed = _WINDOWED.fullmatch(name)
    if windowed:
        direct = Direct(window=int(windowed[2]))
        return NamedAlgorithm(algorithm=direct, whole_machine=windowed[1] == "oneDirect")
    plain = _WHOLE_MACHINE.get(name, name)
    if plain not in _PLAIN:
        choices = [*_PLAIN, *_WHOLE_MACHINE]
        rule = f"must be one of {', '.join(choices)}, direct<W> or oneDirect<W>"
        raise ConfigError("algorithm", rule + did_you_mean(name, choices), got=name)
    return NamedAlgorithm(algorithm=_PLAIN[plain], whole_machine=name in _WHOLE_MACHINE)

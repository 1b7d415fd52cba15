"""What moves in a collective: one file per algorithm, and the table of their names."""

import re

from simcore.collectives.base import CollectiveAlgorithm, PeerRule, PhaseProgram
from simcore.collectives.direct import Direct
from simcore.collectives.double_binary_tree import DoubleBinaryTree
from simcore.collectives.halving_doubling import HalvingDoubling
from simcore.collectives.in_network import InNetwork
from simcore.collectives.ring import Ring
from simcore.registry import Registry

ALGORITHMS: Registry[CollectiveAlgorithm] = Registry(
    "algorithm",
    {
        "ring": Ring(),
        "direct": Direct(),
        "halving_doubling": HalvingDoubling(),
        "double_binary_tree": DoubleBinaryTree(),
        "in_network": InNetwork(),
    },
)

_WINDOWED = re.compile(r"direct([1-9]\d{0,4})")


def algorithm_named(name: str) -> CollectiveAlgorithm:
    """The algorithm that *name* means: a name of the table, or ``direct<W>`` with a window.

    Raises:
        ConfigError: No such algorithm; lists the names.
    """
    windowed = None if name in ALGORITHMS else _WINDOWED.fullmatch(name)
    return Direct(window=int(windowed[1])) if windowed else ALGORITHMS[name]


__all__ = ["ALGORITHMS", "CollectiveAlgorithm", "PeerRule", "PhaseProgram", "algorithm_named"]

"""Algorithms of collectives: one file each, and the table of their names."""

import re

from simcore.collectives.base import (
    CollectiveAlgorithm,
    Exchange,
    Offset,
    PeerRule,
    StateMachine,
    Step,
    Switch,
    Table,
    growth,
)
from simcore.collectives.bruck import Bruck
from simcore.collectives.checks import check_algorithm
from simcore.collectives.direct import Direct
from simcore.collectives.double_binary_tree import DoubleBinaryTree
from simcore.collectives.halving_doubling import HalvingDoubling
from simcore.collectives.in_network import InNetwork
from simcore.collectives.pairwise import Pairwise
from simcore.collectives.recursive_doubling import RecursiveDoubling
from simcore.collectives.ring import Ring
from simcore.collectives.synthesised import SYNTHESISED, Synthesised
from simcore.registry import Registry, instance_of
from simcore.terms import CollectiveKind

ALGORITHMS: Registry[CollectiveAlgorithm] = Registry(
    "algorithm",
    {
        "ring": Ring(),
        "direct": Direct(),
        "halving_doubling": HalvingDoubling(),
        "double_binary_tree": DoubleBinaryTree(),
        "in_network": InNetwork(),
        "bruck": Bruck(),
        "recursive_doubling": RecursiveDoubling(),
        "pairwise": Pairwise(),
    },
    check=check_algorithm,
    adapt=instance_of(CollectiveAlgorithm),
    reserved=rf"direct\d+|by_topology|{SYNTHESISED}",
)

_WINDOWED = re.compile(r"direct([1-9]\d{0,4})")


def algorithm_named(name: str) -> CollectiveAlgorithm:
    """The algorithm that *name* means: of the table, ``direct<W>``, or ``synthesised``.

    Raises:
        ConfigError: No such algorithm; lists the names.
    """
    if name == SYNTHESISED:
        return Synthesised()
    windowed = None if name in ALGORITHMS else _WINDOWED.fullmatch(name)
    return Direct(window=int(windowed[1])) if windowed else ALGORITHMS[name]


def runnable(
    algorithm: CollectiveAlgorithm, kind: CollectiveKind, members: int
) -> CollectiveAlgorithm:
    """*algorithm*, or what stands in where it cannot do *kind* among *members*.

    Some need powers of two, or have only some kinds of collective: a ring stands in, for an
    all-to-all the direct algorithm.
    """
    if algorithm.runs(kind, members):
        return algorithm
    return Direct() if kind is CollectiveKind.ALL_TO_ALL else Ring()


def algorithm_name(algorithm: CollectiveAlgorithm) -> str:
    """The name of the table that means *algorithm*; of one that is not in it, its class's."""
    if isinstance(algorithm, Direct) and algorithm.window is not None:
        return f"direct{algorithm.window}"
    if isinstance(algorithm, Synthesised):
        return SYNTHESISED
    return ALGORITHMS.named(algorithm) or type(algorithm).__name__


__all__ = [
    "ALGORITHMS",
    "SYNTHESISED",
    "Bruck",
    "CollectiveAlgorithm",
    "Direct",
    "DoubleBinaryTree",
    "Exchange",
    "HalvingDoubling",
    "InNetwork",
    "Offset",
    "Pairwise",
    "PeerRule",
    "RecursiveDoubling",
    "Ring",
    "StateMachine",
    "Step",
    "Switch",
    "Synthesised",
    "Table",
    "algorithm_name",
    "algorithm_named",
    "check_algorithm",
    "growth",
    "runnable",
]

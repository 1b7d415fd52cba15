"""Algorithms of collectives: one file each, and the table of their names."""

import re
from collections.abc import Callable

from simcore.collectives.base import (
    CollectiveAlgorithm,
    Exchange,
    Offset,
    PeerRule,
    Span,
    StateMachine,
    Step,
    Switch,
    Table,
    growth,
)
from simcore.collectives.bruck import Bruck
from simcore.collectives.checks import check_algorithm
from simcore.collectives.direct import Direct
from simcore.collectives.dissemination import Dissemination
from simcore.collectives.double_binary_tree import DoubleBinaryTree
from simcore.collectives.grouped.blue_connect import BlueConnect
from simcore.collectives.grouped.hierarchical import Hierarchical
from simcore.collectives.grouped.rail_aligned import RailAligned
from simcore.collectives.halving_doubling import HalvingDoubling
from simcore.collectives.in_network import IN_NETWORK, InNetwork
from simcore.collectives.pairwise import Pairwise
from simcore.collectives.rabenseifner import Rabenseifner
from simcore.collectives.recursive_doubling import RecursiveDoubling
from simcore.collectives.ring import Ring
from simcore.collectives.rooted.binomial import Binomial
from simcore.collectives.rooted.chain import Chain
from simcore.collectives.rooted.linear import Linear
from simcore.collectives.rooted.scatter_gather import ScatterGather
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
        IN_NETWORK: InNetwork(),
        "bruck": Bruck(),
        "recursive_doubling": RecursiveDoubling(),
        "pairwise": Pairwise(),
        "rabenseifner": Rabenseifner(),
        "hierarchical": Hierarchical(),
        "rail_aligned": RailAligned(),
        "blue_connect": BlueConnect(),
        "binomial": Binomial(),
        "chain": Chain(),
        "scatter_gather": ScatterGather(),
        "linear": Linear(),
        "dissemination": Dissemination(),
    },
    check=check_algorithm,
    adapt=instance_of(CollectiveAlgorithm),
    reserved=rf"(direct|hierarchical|rail_aligned|blue_connect|chain)\d[\dx]*|by_topology|{SYNTHESISED}",
)

_SIZED = re.compile(r"(direct|hierarchical|rail_aligned|chain)([1-9]\d{0,4})")
_WITH_SIZE: dict[str, Callable[[int], CollectiveAlgorithm]] = {
    "direct": Direct,
    "hierarchical": Hierarchical,
    "rail_aligned": RailAligned,
    "chain": Chain,
}
_FACTORED = re.compile(r"blue_connect((?:[2-9]|[1-9]\d{1,4})(?:x(?:[2-9]|[1-9]\d{1,4}))*)")


def algorithm_named(name: str) -> CollectiveAlgorithm:
    """The algorithm that *name* means: of the table, one with sizes, or ``synthesised``.

    Those with sizes are ``direct<W>`` with a window, ``hierarchical<k>`` and ``rail_aligned<k>``
    with members of a group, ``chain<p>`` with pieces, and ``blue_connect<f>x<f>...`` with factors.

    Raises:
        ConfigError: No such algorithm; lists the names.
    """
    if name == SYNTHESISED:
        return Synthesised()
    if name not in ALGORITHMS and (sized := _SIZED.fullmatch(name)):
        return _WITH_SIZE[sized[1]](int(sized[2]))
    if name not in ALGORITHMS and (factored := _FACTORED.fullmatch(name)):
        return BlueConnect(factors=tuple(map(int, factored[1].split("x"))))
    return ALGORITHMS[name]


def runnable(
    algorithm: CollectiveAlgorithm, kind: CollectiveKind, members: int
) -> CollectiveAlgorithm:
    """*algorithm*, or what stands in where it cannot do *kind* among *members*.

    Some need powers of two, or have only some kinds of collective: a ring stands in, for an
    all-to-all the direct algorithm, for a rooted collective a binomial tree, and for a barrier
    dissemination.
    """
    if algorithm.runs(kind, members):
        return algorithm
    if kind is CollectiveKind.ALL_TO_ALL:
        return Direct()
    if kind is CollectiveKind.BARRIER:
        return Dissemination()
    return Binomial() if kind.rooted else Ring()


def algorithm_name(algorithm: CollectiveAlgorithm) -> str:
    """The name of the table that means *algorithm*; of one that is not in it, its class's."""
    sizes: tuple[int | None, ...] = (None,)
    if isinstance(algorithm, Direct):
        sizes = (algorithm.window,)
    elif isinstance(algorithm, Hierarchical | RailAligned):
        sizes = (algorithm.inner,)
    elif isinstance(algorithm, BlueConnect):
        sizes = algorithm.factors or sizes
    elif isinstance(algorithm, Chain):
        sizes = (algorithm.pieces,)
    if sizes[0] is not None:
        return f"{algorithm_name(type(algorithm)())}{'x'.join(map(str, sizes))}"
    if isinstance(algorithm, Synthesised):
        return SYNTHESISED
    return ALGORITHMS.named(algorithm) or type(algorithm).__name__


__all__ = [
    "ALGORITHMS",
    "IN_NETWORK",
    "SYNTHESISED",
    "Binomial",
    "BlueConnect",
    "Bruck",
    "Chain",
    "CollectiveAlgorithm",
    "Direct",
    "Dissemination",
    "DoubleBinaryTree",
    "Exchange",
    "HalvingDoubling",
    "Hierarchical",
    "InNetwork",
    "Linear",
    "Offset",
    "Pairwise",
    "PeerRule",
    "Rabenseifner",
    "RailAligned",
    "RecursiveDoubling",
    "Ring",
    "ScatterGather",
    "Span",
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

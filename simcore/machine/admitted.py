"""Algorithms that a dimension of a machine admits for a kind of collective."""

from simcore.collectives import ALGORITHMS, SYNTHESISED, CollectiveAlgorithm, algorithm_named
from simcore.collectives.in_network import InNetwork
from simcore.errors import ConfigError
from simcore.machine.system import ALGORITHM_KEYS
from simcore.registry import did_you_mean
from simcore.terms import CollectiveKind
from simcore.topologies import TOPOLOGIES


def admitted_algorithms(
    collective: str, topology: str, npus: int, *, network: bool = False
) -> tuple[str, ...]:
    """Names of algorithms that do *collective* in a dimension themselves: none stands in for them.

    All entries of the registry are asked; forms with sizes, such as ``direct4``, are not listed.

    Args:
        collective: A key of the system layer, such as ``all_reduce`` or ``broadcast``.
        topology: Of the dimension, a name of ``TOPOLOGIES``.
        npus: Of the dimension, all of which take part.
        network: The dimension is a level of a network that is a graph, for which schedules can be
            synthesised.

    Raises:
        ConfigError: No such collective or topology.
    """
    if collective not in ALGORITHM_KEYS:
        rule = (
            f"must be one of {', '.join(ALGORITHM_KEYS)}{did_you_mean(collective, ALGORITHM_KEYS)}"
        )
        raise ConfigError("collective", rule, got=collective)
    kind = CollectiveKind[collective.upper()]
    return tuple(
        name
        for name in (*ALGORITHMS, SYNTHESISED)
        if _admits(algorithm_named(name), name, topology, network)
        and algorithm_named(name).runs(kind, npus)
    )


def _admits(algorithm: CollectiveAlgorithm, name: str, topology: str, network: bool) -> bool:
    if name == SYNTHESISED:
        return network
    return not isinstance(algorithm, InNetwork) or TOPOLOGIES[topology].has_switches

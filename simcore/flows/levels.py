"""Levels of a network as dimensions: what each NPU gets when all send along one of them."""

import numpy as np

from simcore.flows.kept import Level
from simcore.flows.simulate import simulate_at_once
from simcore.graphs.graph import Floats
from simcore.graphs.network_table import NetworkFile
from simcore.graphs.routed import LevelShape, RoutedNetwork, routed
from simcore.graphs.routing import RouteTable
from simcore.topologies import TOPOLOGIES

_SIZE_BYTES = 1e9


def levels_of(network: NetworkFile) -> tuple[Level, ...]:
    """Levels of *network*, innermost first.

    All NPUs send to the next one along the level at once, as in a ring, over the network's own
    routes: the rate at which the slowest message gets through is that of one link of the dimension,
    so that oversubscription and ways that meet are in it; the longest latency is that of a way.

    Raises:
        ConfigError: The network breaks a rule, or two such NPUs have no way.
    """
    over = routed(network)
    found, stride, used = [], 1, set[int]()
    for shape in over.levels:
        rate, latency_ns, passed = _next_along(over, shape, stride)
        kinds = {kind for kind, from_npu in passed if from_npu}
        topology = TOPOLOGIES[shape.topology]
        found.append(
            Level(
                topology=shape.topology,
                npus=shape.npus,
                bandwidth_bytes_per_s=rate * topology.links_per_npu(shape.npus),
                latency_s=latency_ns * 1e-9 / topology.hops(shape.npus, 0, 1),
                shares_ports=kinds <= used,
                cables=frozenset(over.graph.kinds[kind] for kind, _ in passed),
                port_bytes_per_s=over.graph.port_bytes_per_s,
            )
        )
        used |= kinds
        stride *= shape.npus
    return tuple(found)


def _next_along(
    over: RoutedNetwork, shape: LevelShape, stride: int
) -> tuple[float, float, set[tuple[int, bool]]]:
    """Rate of the slowest message, bytes/s, latency of the longest way, ns, kinds of cables passed.

    Of each kind, whether such a cable is left from an NPU stands beside it.

    Raises:
        ConfigError: Two NPUs have no way.
    """
    source = np.arange(over.npus)
    at = source // stride % shape.npus
    if shape.topology == "mesh":  # whose ends are not joined
        source, at = source[at < shape.npus - 1], at[at < shape.npus - 1]
    target = source + ((at + 1) % shape.npus - at) * stride
    routes = over.routes(source, target)
    latency_ns = mean_latency_ns(over, routes)
    last_ns = simulate_at_once(over.graph, routes, _SIZE_BYTES).makespan_ns
    graph = over.graph
    links = np.unique(routes.links)
    kind, from_npu = graph.kind_of[graph.cable_of[links]], graph.link_from[links] < graph.npus
    passed = set(zip(kind.tolist(), from_npu.tolist(), strict=True))
    return _SIZE_BYTES / last_ns * 1e9, float(latency_ns.max()), passed


def mean_latency_ns(over: RoutedNetwork, routes: RouteTable) -> Floats:
    """(R,) latency of each route; of one that is spread, the mean of its ways."""
    at = np.repeat(np.arange(len(routes)), np.diff(routes.offsets))
    weights = over.graph.latency_ns[routes.links] * routes.parts
    return np.bincount(at, weights, len(routes)).astype(np.float64)

"""A network with its routing: ways between NPUs, and the levels that collectives are laid along."""

from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from simcore.errors import ConfigError
from simcore.graphs.families import FAMILIES
from simcore.graphs.graph import Ints, NetworkGraph
from simcore.graphs.network_table import NetworkFile
from simcore.graphs.routing import (
    ROUTINGS,
    Demands,
    RouteTable,
    Routing,
    RoutingOptions,
    check_virtual_channels,
    merged,
)
from simcore.graphs.routing.base import no_way
from simcore.kernels.collectives.topology_codes import TABLE
from simcore.kernels.graphs.distances import walk
from simcore.topologies import TOPOLOGIES
from simcore.topologies.base import MOST_TABLED_NPUS

DEFAULT_RULE = "ecmp_hash"
MOST_LEVELS = 8
MOST_CHECKED_NPUS = 256
"""NPUs of a network whose routes are all looked at for deadlock."""
_MOST_WALKED_NPUS = 4096
_INSIDE = "spray"


@dataclass(frozen=True, slots=True)
class LevelShape:
    """One level of a network: NPUs that differ in one coordinate.

    Attributes:
        topology: A name of ``TOPOLOGIES`` that the level is like.
        npus: NPUs of it, at least 2.
    """

    topology: str
    npus: int


class RoutedNetwork:
    """A network, and the routing that its file names.

    NPU ``i`` has the coordinates ``i % npus[0]``, ``i // npus[0] % npus[1]`` and so on over the
    levels. A pair of NPUs keeps its way, as a connection does: a hash is that of both ends.

    Args:
        network: Its file, with speeds of cables.

    Raises:
        ConfigError: It breaks a rule, has no speeds, or NPUs cannot reach each other.
    """

    def __init__(self, network: NetworkFile) -> None:
        graph = network.graph()
        if not network.has_speeds:
            rule = "must tell the speed of cables, such as '50 GB/s'"
            raise ConfigError("bandwidth", rule, got=None)
        if graph.npus < 2:
            raise ConfigError("params", "a network must have 2 NPUs or more", got=graph.npus)
        self.routing, self.options = _routing_of(network)
        if self.options.npus_forward is not None:
            graph = graph.forwarding(self.options.npus_forward)
        _check_joined(graph)
        self.graph = graph
        self.levels = _levels_of(network, graph.npus)
        self._domain, self._inside = _domains_of(network, graph)
        self._known: dict[int, RouteTable] = {}
        if self.options.virtual_channels is not None:
            self._check_channels(self.options.virtual_channels)

    @property
    def npus(self) -> int:
        """NPUs."""
        return self.graph.npus

    def routes(self, source: Ints, target: Ints) -> RouteTable:
        """Routes of messages between NPUs *source* (F,) and *target* (F,).

        Messages within a scale-up domain stay on its cables, spread over all of its switches, as
        they do over NVSwitches; also where a leaf switch outside is as near.

        Raises:
            ConfigError: A pair has no way by this routing.
        """
        inside = source // self._domain == target // self._domain
        if self._inside is None or not inside.any():
            return self._beyond(source, target)
        graph, numbers = self._inside
        spray = ROUTINGS[_INSIDE]
        demands = self._demands(source[inside], target[inside])
        within = spray.routes(graph, demands, spray.options.build(""))
        within = replace(within, links=numbers[within.links])
        if inside.all():
            return within
        return merged(inside, within, self._beyond(source[~inside], target[~inside]))

    def _beyond(self, source: Ints, target: Ints) -> RouteTable:
        return self.routing.routes(self.graph, self._demands(source, target), self.options)

    def _demands(self, source: Ints, target: Ints) -> Demands:
        return Demands(
            source=source,
            target=target,
            number=source * self.npus + target,
            size_bytes=np.ones(len(source)),
        )

    def way(self, source: int, target: int) -> tuple[Ints, Any]:
        """Links from one NPU to another, and the part of a message that each carries.

        They are in order where the message stays whole, also where a spread one has but one way.
        Messages come in patterns: with a pair, all pairs as far apart are worked out.

        Raises:
            ConfigError: The pair has no way by this routing.
        """
        ahead = (target - source) % self.npus
        table, row = self._known.get(ahead), source
        if table is None:
            sources = np.arange(self.npus)
            try:
                table = self._known[ahead] = self.routes(sources, (sources + ahead) % self.npus)
            except ConfigError:  # of another pair, perhaps, which may never send
                table, row = self.routes(np.array([source]), np.array([target])), 0
        own = slice(table.offsets[row], table.offsets[row + 1])
        links, parts = table.links[own], table.parts[own]
        return (self._in_order(links, source) if (parts == 1.0).all() else links), parts

    def _in_order(self, links: Ints, source: int) -> Ints:
        """Links of one way, from a node on."""
        begins, ends = self.graph.link_from[links], self.graph.link_to[links]
        if (begins == np.concatenate(([source], ends[:-1]))).all():
            return links  # as a way is found, which may come to a node again
        leading = dict(zip(begins.tolist(), links.tolist(), strict=True))
        ordered, node = list[int](), source
        while node in leading:
            ordered.append(leading.pop(node))
            node = int(self.graph.link_to[ordered[-1]])
        return np.array(ordered, np.int64)

    def _check_channels(self, there: int) -> None:
        if self.npus > MOST_CHECKED_NPUS:
            rule = f"can be checked on networks of at most {MOST_CHECKED_NPUS} NPUs: leave it out"
            raise ConfigError("routing.virtual_channels", rule, got=there)
        source, target = np.divmod(np.arange(self.npus**2), self.npus)
        apart = source != target
        check_virtual_channels(self.routes(source[apart], target[apart]), there)


@lru_cache(maxsize=8)
def routed(network: NetworkFile) -> RoutedNetwork:
    """The network of a file with its routing; kept for those met last.

    Raises:
        ConfigError: It breaks a rule.
    """
    return RoutedNetwork(network)


def _routing_of(network: NetworkFile) -> tuple[Routing, RoutingOptions]:
    rest = dict(network.routing)
    rule = rest.pop("rule", DEFAULT_RULE)
    if rule not in ROUTINGS:
        raise ROUTINGS.unknown(rule, at="routing.rule")
    routing = ROUTINGS[rule]
    return routing, routing.options.from_file_data(rest, at="routing")


def _levels_of(network: NetworkFile, npus: int) -> tuple[LevelShape, ...]:
    own = _own_levels(network, npus)
    sizes = tuple(level.npus for level in own)
    if network.shape and tuple(network.shape) != sizes:
        if prod(network.shape) != npus or min(network.shape) < 2:
            rule = f"must be numbers of 2 or more that multiply to the {npus} NPUs"
            raise ConfigError("shape", rule, got=list(network.shape))
        own = tuple(LevelShape("switch", size) for size in network.shape)
    if len(own) > MOST_LEVELS:
        rule = f"must have at most {MOST_LEVELS} levels: give a shape of fewer"
        raise ConfigError("shape", rule, got=[level.npus for level in own])
    return own


def _own_levels(network: NetworkFile, npus: int) -> tuple[LevelShape, ...]:
    """Levels of the family; those of one NPU are left out."""
    sizes: tuple[int, ...] = ()
    topology = "switch"
    if network.family:
        family = FAMILIES[network.family]
        parameters = family.parameters.from_file_data(network.params, at="params")
        sizes, topology = family.levels(parameters), family.level_topology
    sizes = tuple(size for size in sizes if size > 1) or (npus,)
    if prod(sizes) != npus or len(sizes) > MOST_LEVELS:
        return (LevelShape("switch", npus),)
    if TOPOLOGIES[topology].kernel_code == TABLE and max(sizes) > MOST_TABLED_NPUS:
        topology = "switch"
    return tuple(LevelShape(topology, size) for size in sizes)


def _domains_of(
    network: NetworkFile, graph: NetworkGraph
) -> tuple[int, tuple[NetworkGraph, Ints] | None]:
    """NPUs of a scale-up domain; the network of its cables with the numbers of their links."""
    if not network.family:
        return 1, None
    family = FAMILIES[network.family]
    found = family.domain(family.parameters.from_file_data(network.params, at="params"))
    if found is None or found[0] < 2 or network.params.get("failed"):
        return 1, None
    npus, kind = found
    own = np.flatnonzero(graph.kind_of[graph.cable_of] == graph.kinds.index(kind))
    return npus, (graph.with_links(own), own)


def _check_joined(graph: NetworkGraph) -> None:
    """Refuse a network in which two NPUs cannot reach each other.

    Raises:
        ConfigError: Names the first pair.
    """
    offsets, _, to = graph.outward()
    far, queue = np.empty(graph.nodes, np.int64), np.empty(graph.nodes, np.int64)
    npus, forward = graph.npus, graph.npus_forward
    walk(offsets, to, npus, forward, 0, far, queue)
    _refuse_unreached(graph, 0, far)
    if forward:
        return
    for node in sorted(set(to[offsets[0] : offsets[1]].tolist())):
        if node >= npus:  # all NPUs that switches join among themselves reach each other
            walk(offsets, to, npus, forward, node, far, queue)
            if (far[:npus] >= 0).all():
                return
    for npu in range(1, min(npus, _MOST_WALKED_NPUS)):
        walk(offsets, to, npus, forward, npu, far, queue)
        _refuse_unreached(graph, npu, far)


def _refuse_unreached(graph: NetworkGraph, npu: int, far: Ints) -> None:
    unreached = far[: graph.npus] < 0
    if unreached.any():
        error = no_way(graph, npu, int(np.argmax(unreached)))
        raise ConfigError("", error.rule, got=error.got)

"""A case's network as arrays: ports, the buffers of switches, paths, and windows of pairs."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.errors import ConfigError
from simcore.kernels.packets.ways import routes
from simcore.packets.case import Case, Topology
from simcore.packets.parameters import Parameters
from simcore.packets.rules import takes_detours

Ints = NDArray[np.int64]

MOST_PAIRS = 1 << 25
"""Pairs of a host and a node, of each of which some 50 bytes are kept."""


@dataclass(frozen=True)
class Network:
    """Ports of all links, numbered 2 l and 2 l + 1 for link l, and next hops between nodes.

    Attributes:
        owner: (2 L,) node of each port.
        rate: (2 L,) bit/s.
        delay: (2 L,) ns.
        is_switch: (N,) 1 for switches.
        hosts: (H,) hosts towards which there are next hops.
        first: (H N + 1,) first next hop of node n towards host h, at ``h N + n``.
        hops: Ports that are next hops.
        pairs: (H N, 4) delay, sending time, lowest rate and links from node n to host h; -1: none.
    """

    owner: Ints
    rate: Ints
    delay: Ints
    is_switch: Ints
    hosts: Ints
    first: Ints
    hops: Ints
    pairs: Ints

    @property
    def nodes(self) -> int:
        """Number of hosts and switches."""
        return int(self.is_switch.size)

    @property
    def most_links(self) -> int:
        """Links of the longest of all shortest ways."""
        return int(self.pairs[:, routes.LINKS].max(initial=1))

    def index_of_host(self) -> Ints:
        """(N,) position of each node among the hosts; -1 for others."""
        found = np.full(self.nodes, -1, np.int64)
        found[self.hosts] = np.arange(self.hosts.size)
        return found


def build_network(case: Case) -> Network:
    """The network of a case, with next hops towards every host.

    Raises:
        ConfigError: The listed next hops are not those of shortest paths, or a flow has no path.
    """
    topology = case.topology
    ends = np.array(topology.links, np.int64).reshape(-1, 4)
    owner = np.ascontiguousarray(ends[:, :2]).reshape(-1)
    is_switch = np.zeros(topology.nodes, np.int64)
    is_switch[list(topology.switches)] = 1
    hosts = _roots(case, is_switch)
    if hosts.size * topology.nodes > MOST_PAIRS:
        rule = f"must be such that there are at most {MOST_PAIRS:,} pairs of hosts and nodes"
        raise ConfigError("topology.num_nodes", rule, got=topology.nodes)
    network = _network(owner, ends, is_switch, hosts, case.parameters.packet_payload_size)
    _refuse_lost_flows(case, network)
    _order_next_hops(topology, network)
    return network


def _network(owner: Ints, ends: Ints, is_switch: Ints, hosts: Ints, payload: int) -> Network:
    """Next hops and ways over all links that have a rate.

    Args:
        owner: (2 L,) node of each port.
        ends: (L, 4) ends, rate and delay of each link.
        is_switch: (N,) 1 for switches.
        hosts: (H,) hosts towards which there are next hops.
        payload: Of a full packet, in bytes.
    """
    nodes = is_switch.size
    ports, at = _ports_of_nodes(owner, is_switch, ends[:, 2] > 0)
    links = np.empty((len(ends), 3), np.int64)
    links[:, routes.DELAY] = ends[:, 3]
    links[:, routes.SENDING] = 8 * 10**9 * payload // np.maximum(1, ends[:, 2])
    links[:, routes.RATE] = ends[:, 2]
    first = np.zeros(hosts.size * nodes + 1, np.int64)
    hops = np.zeros(max(1, hosts.size * len(ends)), np.int64)
    pairs = np.zeros((hosts.size * nodes, routes.PAIR_WORDS), np.int64)
    routes.find_next_hops(ports, at, owner, is_switch, hosts, first, hops, pairs, links)
    rate, delay = np.repeat(ends[:, 2], 2), np.repeat(ends[:, 3], 2)
    return Network(owner, rate, delay, is_switch, hosts, first, hops[: first[-1]], pairs)


def rerouted(network: Network, rates: Ints, payload: int) -> Network:
    """The network once its links have other *rates*, (L,) in bit/s; one of 0 leads nowhere."""
    ends = np.column_stack([network.owner[::2], network.owner[1::2], rates, network.delay[::2]])
    return _network(network.owner, ends, network.is_switch, network.hosts, payload)


def _roots(case: Case, is_switch: Ints) -> Ints:
    """Hosts of which anything is asked.

    That is all with a link where windows are of the largest pair, or flows come as the run goes.
    """
    run = case.parameters
    if case.topology.ways_told:
        return np.zeros(0, np.int64)
    if (run.has_win and run.global_t) or takes_detours(run) or not case.flows.ids:
        linked = {node for link in case.topology.links for node in link[:2]}
        linked |= {*case.flows.source, *case.flows.target}
        return np.array(sorted(node for node in linked if not is_switch[node]), np.int64)
    return np.array(sorted({*case.flows.source, *case.flows.target}), np.int64)


def _ports_of_nodes(owner: Ints, is_switch: Ints, is_up: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Ports node by node, neighbours that are switches first, those of higher ids before others.

    Only those of links that are up.

    The reference looks at neighbours in the order of the memory that they lie in, which is this
    one for switches; hosts relay nothing, so that their order does not matter.
    """
    numbers = np.flatnonzero(np.repeat(is_up, 2))
    node, neighbour = owner[numbers], owner[numbers ^ 1]
    ports = numbers[np.lexsort((numbers, -neighbour, -is_switch[neighbour], node))]
    at = np.searchsorted(owner[ports], np.arange(is_switch.size + 1))
    return ports, at


def _refuse_lost_flows(case: Case, network: Network) -> None:
    index = network.index_of_host()
    for number, (source, target) in enumerate(
        zip(case.flows.source, case.flows.target, strict=True)
    ):
        base = index[target] * network.nodes + source
        if network.first[base + 1] == network.first[base]:
            rule = f"must be reachable from host {source} over links and switches"
            raise ConfigError(f"flows[{number}].dst", rule, got=target)


def _order_next_hops(topology: Topology, network: Network) -> None:
    """Put next hops into the order that the case lists."""
    index = network.index_of_host()
    for (node, target), listed in topology.next_hops.items():
        if index[target] < 0:
            continue  # of no flow
        base = index[target] * network.nodes + node
        begin, end = network.first[base], network.first[base + 1]
        left = [int(port) for port in network.hops[begin:end]]
        known = [int(network.owner[port ^ 1]) for port in left]
        if sorted(known) != sorted(listed):
            rule = f"must list the next hops of node {node} on shortest paths to {target}, {known}"
            raise ConfigError("ecmp_next_hops", rule, got=list(listed))
        for place, neighbour in enumerate(listed):
            port = next(port for port in left if network.owner[port ^ 1] == neighbour)
            left.remove(port)
            network.hops[begin + place] = port


def windows(
    run: Parameters, network: Network, pairs: Iterable[tuple[int, int]]
) -> tuple[list[int], list[int]]:
    """Window in bytes, 0 for none, and base round-trip time in ns, of each pair of hosts."""
    index = network.index_of_host()
    at = [int(index[target]) * network.nodes + source for source, target in pairs]
    if not run.has_win:
        return [0] * len(at), [_round_trip(network.pairs[pair])[0] for pair in at]
    if run.global_t:
        every = network.pairs[:, : routes.LINKS].reshape(network.hosts.size, network.nodes, -1)
        distinct = np.unique(every[:, network.hosts].reshape(-1, routes.LINKS), axis=0)
        ends = [_round_trip(row) for row in distinct if row[routes.SENDING] > 0]
        longest = (max(end[0] for end in ends), max(end[1] for end in ends))
        return [longest[1] & 0xFFFFFFFF] * len(at), [longest[0]] * len(at)
    found = [_round_trip(network.pairs[pair]) for pair in at]
    return [end[1] & 0xFFFFFFFF for end in found], [end[0] for end in found]


def _round_trip(pair: Ints) -> tuple[int, int]:
    """Base round-trip time of a pair in ns, with one full payload, and its bytes in flight."""
    delay, sending, rate = (int(value) for value in pair[: routes.LINKS])
    time_ns = 2 * delay + sending
    return time_ns, time_ns * rate // 10**9 // 8


def refuse_windows_of_nothing(run: Parameters, flow_windows: list[int]) -> None:
    """Lets pass windows that let anything pass.

    Raises:
        ConfigError: Delay and rate are so low that a window holds no byte.
    """
    if run.has_win and min(flow_windows, default=1) == 0:
        rule = "must be 0 where delay times rate of the network is less than a byte"
        raise ConfigError("params.has_win", rule, got=1)

"""The memory in which a run begins: the arena that ``kernels/packets/layout`` describes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.errors import ConfigError
from simcore.kernels.packets import layout as f
from simcore.kernels.packets.controls.hpcc import RATE_CODES
from simcore.kernels.packets.event_wheel import ENTRY_WORDS, WHEEL_WORDS, WORDS
from simcore.kernels.packets.randoms import STREAM_WORDS, start_of_stream
from simcore.kernels.packets.ways import routes
from simcore.packets.case import Case
from simcore.packets.controls import control_of
from simcore.packets.network import Network, build_network, refuse_windows_of_nothing, windows
from simcore.packets.parameters import Parameters
from simcore.packets.rules import (
    full_packet_bytes,
    record_words,
    takes_detours,
    way_lists,
    write_rules,
)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_FIRST_PACKETS_WORDS = 1 << 14
_LOSS_STREAM = (1 << 63) + 50
"""Stream that every error model of the reference is given, of those that are given out by hand."""


@dataclass
class Image:
    """The arena of a run, and where its tables begin.

    Attributes:
        arena: (W,) int64.
        ports: First port; port p is ``PORT_WORDS`` times p further on.
        flows: First flow, likewise.
        nodes: First node, likewise.
    """

    arena: Ints
    ports: int
    flows: int
    nodes: int
    network: Network

    def take_words(self, count: int) -> int:
        """First of so many new words, all 0."""
        first = int(self.arena[f.NEXT_WORD])
        self.make_room(count)
        self.arena[f.NEXT_WORD] = first + count
        return first

    def make_room(self, count: int) -> None:
        """Let the arena have so many words to spare, beside what one event may take."""
        self.grow(int(self.arena[f.NEXT_WORD]) + count + int(self.arena[f.RESERVE_WORDS]))

    def grow(self, words: int) -> None:
        """Let the arena have so many words at least."""
        arena = self.arena
        if words > arena.size:
            more = np.zeros(max(words, 2 * arena.size) - arena.size, np.int64)
            self.arena = np.concatenate((arena, more))

    @property
    def reals(self) -> Floats:
        """Arena read as numbers of double precision."""
        return self.arena.view(np.float64)

    def table(self, first: int, count: int, words: int) -> Ints:
        """(count, words) records from *first* on, in place."""
        return self.arena[first : first + count * words].reshape(count, words)

    @property
    def port_table(self) -> Ints:
        """(2 L, ``PORT_WORDS``) all ports."""
        return self.table(self.ports, self.network.owner.size, f.PORT_WORDS)

    @property
    def flow_table(self) -> Ints:
        """(F, ``Q_WORDS``) all flows."""
        return self.table(self.flows, int(self.arena[f.QP_COUNT]), f.Q_WORDS)


def build_image(case: Case, seed: int) -> Image:
    """The arena in which *case* begins with the random numbers of *seed*.

    Raises:
        ConfigError: The network cannot be run with these parameters.
    """
    network = build_network(case)
    followers, pairs = _followers(case), _pairs(case)
    count, widest = len(case.flows.ids), max(map(len, followers), default=0)
    reserve = 8 * f.LONG_PACKET_WORDS + 4 * widest + record_words(case.parameters)
    heap = count + reserve + 1024 + 2 * len(case.topology.changes)
    links, ports = _links_of_flows(case, network), network.owner.size
    ways = way_lists(case.parameters)
    sizes = (
        f.FIRST_RECORD, WHEEL_WORDS, WORDS, ENTRY_WORDS * heap, network.nodes * f.NODE_WORDS,
        ports * f.PORT_WORDS, count * f.Q_WORDS, ways * int(links.sum()),
        max(pairs, default=-1) + 1,
        network.first.size + network.hops.size, sum(map(len, followers)), _listed(case, network),
        STREAM_WORDS * len(case.topology.links), network.hosts.size,
        len(case.parameters.lane_weights), _lane_words(case, network),
    )  # fmt: skip
    at = [0, *np.cumsum(sizes).tolist()]
    arena = np.zeros(at[-1] + reserve + _FIRST_PACKETS_WORDS, np.int64)
    image = Image(arena, ports=at[5], flows=at[6], nodes=at[4], network=network)
    arena[[f.WHEEL, f.WHEEL_BITS, f.HEAP, f.HEAP_CAPACITY]] = at[1], at[2], at[3], heap
    arena[[f.NEXT_WORD, f.RESERVE_WORDS, f.QPS, f.QP_COUNT]] = at[-1], reserve, at[6], count
    arena[[f.FLOWS_LEFT, f.LOSS_STREAMS]] = count, at[12]
    write_rules(case.parameters, arena, image.reals)
    _write_nodes(case, image, at[9])
    arena[[f.HOSTS, f.HOST_COUNT]] = at[13], network.hosts.size
    arena[at[13] : at[14]] = image.nodes + f.NODE_WORDS * network.hosts
    _write_ports(case, image, at[11])
    arena[f.LANE_WEIGHTS] = at[14]
    arena[at[14] : at[15]] = case.parameters.lane_weights
    _write_lanes(case, image, at[15])
    _write_randoms(case, image, seed)
    _write_flows(case, image)
    table = image.flow_table
    table[:, f.Q_FORTH] = at[7] + ways * (np.cumsum(links) - links)
    table[:, f.Q_BACK] = table[:, f.Q_FORTH] + links
    table[:, f.Q_PAIR] = at[8] + np.array(pairs, np.int64)
    _write_followers(image, followers, at[10])
    return image


def _write_randoms(case: Case, image: Image, seed: int) -> None:
    """Write the streams of random numbers that the reference draws from in its run *seed*.

    There every node takes nine streams when it is made, and every error model two: one that all
    links share, and one of each link that has a rate of its own.
    """
    arena, links = image.arena, len(case.topology.links)
    own = links if case.parameters.link_error_rate else 0
    taken = 9 * image.network.nodes + 2 * (1 + own)
    marks = slice(f.MARK_STREAM, f.MARK_STREAM + STREAM_WORDS)
    arena[marks] = start_of_stream(1, taken, seed)
    first = int(arena[f.LOSS_STREAMS])
    losses = image.table(first, links, STREAM_WORDS)
    losses[:] = start_of_stream(1, _LOSS_STREAM, seed)
    if case.parameters.own_losses and case.parameters.loss:
        for link in range(links):
            losses[link] = start_of_stream(1, _LOSS_STREAM + link, seed)
    number = np.arange(2 * links) // 2 if own else np.zeros(2 * links, np.int64)
    image.port_table[:, f.PORT_LOSS] = first + STREAM_WORDS * number


def _links_of_flows(case: Case, network: Network) -> Ints:
    """(F,) links that each flow's path may have, one way."""
    if takes_detours(case.parameters):
        return np.full(len(case.flows.ids), 2 * network.most_links, np.int64)
    rows = network.index_of_host()[list(case.flows.target)] * network.nodes
    links: Ints = network.pairs[rows + np.array(case.flows.source, np.int64), routes.LINKS]
    return links


def _listed(case: Case, network: Network) -> int:
    """Places in the lists of flows of all ports: each may get all of its host's."""
    per_host = np.bincount(case.flows.source, minlength=network.nodes)
    return int(per_host[network.owner].sum())


def _pairs(case: Case) -> list[int]:
    """Number of the pair of hosts of each flow."""
    known: dict[tuple[int, int], int] = {}
    ends = zip(case.flows.source, case.flows.target, strict=True)
    return [known.setdefault(pair, len(known)) for pair in ends]


def _followers(case: Case) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in case.flows.ids]
    for index, waits in enumerate(case.flows.before):
        for earlier in waits:
            found[earlier].append(index)
    return found


def _write_nodes(case: Case, image: Image, next_hops: int) -> None:
    """Write nodes, and from *next_hops* on where each finds its next hops."""
    network, arena = image.network, image.arena
    hops = next_hops + network.first.size
    arena[f.NEXT_HOPS] = next_hops
    arena[next_hops:hops] = hops + network.first
    arena[hops : hops + network.hops.size] = image.ports + f.PORT_WORDS * network.hops
    nodes = image.table(image.nodes, network.nodes, f.NODE_WORDS)
    nodes[:, f.NODE_ID] = np.arange(network.nodes)
    nodes[:, f.NODE_IS_SWITCH] = network.is_switch
    room = np.full(network.nodes, case.topology.buffer_bytes, np.int64)
    np.subtract.at(room, network.owner, _headrooms(case, network) + f.RESERVE_BYTES)
    # below 0 where the headrooms exceed the buffer: the reference's difference has no sign, and
    # such a switch never pauses
    nodes[:, f.NODE_BUFFER] = room
    nodes[:, f.NODE_NEAR] = f.NEVER
    arena[f.WAYS_TOLD] = case.topology.ways_told
    nodes[network.hosts, f.NODE_ROOT] = np.arange(network.hosts.size) * network.nodes


def _credits(run: Parameters, network: Network) -> Ints:
    """(2 L,) blocks of the buffer at the other end of the link of each port.

    Where it is not told, it holds what comes until a credit is back, and a packet more: with less
    a link does not reach its rate.
    """
    packet = full_packet_bytes(run)
    blocks = -(-packet // f.BLOCK_BYTES)
    told = run.credit_bytes
    if told and told < blocks * f.BLOCK_BYTES:
        raise ConfigError(
            "params.credit_bytes", f"must hold a packet: {blocks * f.BLOCK_BYTES} bytes", got=told
        )
    sizes = [
        told // f.BLOCK_BYTES or (2 * int(rate) * int(delay) // 8 // 10**9 // packet + 2) * blocks
        for rate, delay in zip(network.rate, network.delay, strict=True)
    ]
    # a train takes its room at once, and frees it at once
    return np.array(sizes, np.int64) + 2 * (run.train - 1) * blocks


def _lane_words(case: Case, network: Network) -> int:
    lanes = len(case.parameters.lane_weights)
    return lanes * f.LANE_WORDS * network.owner.size if lanes > 1 else 0


def _write_lanes(case: Case, image: Image, at: int) -> None:
    """Write the lanes of all ports, from *at* on; each has as many credits as one lane would."""
    lanes, ports = len(case.parameters.lane_weights), image.port_table
    if lanes == 1:
        return
    table = image.table(at, len(ports) * lanes, f.LANE_WORDS)
    table[:, f.LANE_CREDIT] = np.repeat(ports[:, f.PORT_CREDIT], lanes)
    ports[:, f.PORT_LANES] = at + lanes * f.LANE_WORDS * np.arange(len(ports))
    ports[:, f.PORT_LANE_LEFT] = case.parameters.lane_weights[0]


def _headrooms(case: Case, network: Network) -> Ints:
    """(2 L,) bytes that each port may take after it has told its peer to pause."""
    run = case.parameters
    if run.link_control == "drop":
        return np.zeros(network.owner.size, np.int64)
    more = run.headroom_packets * run.train * full_packet_bytes(run)
    products = [
        int(rate) * int(delay) // 8 // 10**9 * run.headroom_factor + more
        for rate, delay in zip(network.rate, network.delay, strict=True)
    ]
    return np.array(products, np.int64)


def _write_ports(case: Case, image: Image, lists: int) -> None:
    """Write ports, and from *lists* on room for each host's flows at each of its ports."""
    network, ports = image.network, image.port_table
    per_port = np.bincount(case.flows.source, minlength=network.nodes)[network.owner]
    ports[:, f.PORT_QPS] = lists + np.cumsum(per_port) - per_port
    numbers = np.arange(network.owner.size)
    ports[:, f.E_KIND] = f.PORT_FREE
    ports[:, f.PORT_PEER] = image.ports + f.PORT_WORDS * (numbers ^ 1)
    ports[:, f.PORT_RATE] = network.rate
    ports[:, f.PORT_DELAY] = network.delay
    ports[:, f.PORT_NODE] = image.nodes + f.NODE_WORDS * network.owner
    ports[:, f.PORT_WAKE_NS] = -1
    ports[:, f.PORT_NEAR] = f.NEVER
    ports[:, f.PORT_CREDIT] = _credits(case.parameters, network)
    of_switches = np.flatnonzero(network.is_switch[network.owner])
    if not of_switches.size:
        return
    ports[:, f.PORT_HEADROOM] = _headrooms(case, network)
    of_hosts = np.flatnonzero(network.is_switch[network.owner] == 0)
    first_host = of_hosts[np.argmin(network.owner[of_hosts])]
    for rate in np.unique(network.rate[of_switches]):
        same = of_switches[network.rate[of_switches] == rate]
        ports[same, f.PORT_SHIFT] = _shift(int(rate), int(network.rate[first_host]))
        ports[same, f.PORT_RATE_CODE] = _rate_code(case, int(rate))
        _write_marking(case, image, int(rate), same)


def _shift(rate: int, host_rate: int) -> int:
    """Power of two by which a port's share of the buffer is less than all: an eighth, or more."""
    shift = 3
    while rate > host_rate and shift > 0:
        rate //= 2
        shift -= 1
    return shift


def _rate_code(case: Case, rate: int) -> int:
    if rate in RATE_CODES:
        return RATE_CODES.index(rate)
    if control_of(case.parameters).stamps_hops:
        named = ", ".join(f"{known // 10**9}" for known in RATE_CODES)
        rule = f"must have a rate that records of hops can name ({named} Gb/s) at switches"
        raise ConfigError("topology.links", rule, got=rate)
    return 0


def _write_marking(case: Case, image: Image, rate: int, same: Ints) -> None:
    run, ports = case.parameters, image.port_table
    if not run.enable_qcn:
        return
    for key in ("kmin_kb", "kmax_kb", "pmax"):
        if rate not in getattr(run, key):
            rule = f"must have a value for links of {rate} bit/s, which a switch has"
            raise ConfigError(f"params.{key}", rule, got=sorted(getattr(run, key)))
    kmin, kmax = run.kmin_kb[rate], run.kmax_kb[rate]
    if kmin > kmax:
        rule = f"must be at most params.kmax_kb for links of {rate} bit/s, {kmax:g}"
        raise ConfigError("params.kmin_kb", rule, got=kmin)
    ports[same, f.PORT_KMIN] = round(kmin * 1000)
    ports[same, f.PORT_KMAX] = round(kmax * 1000)
    image.reals[image.ports + f.PORT_WORDS * same + f.PORT_PMAX] = run.pmax[rate]


def _write_flows(case: Case, image: Image) -> None:
    flows, table, network = case.flows, image.flow_table, image.network
    table[:, f.Q_SIZE] = flows.size_bytes
    table[:, f.Q_DELAY_NS] = flows.delay_ns
    table[:, f.Q_NUMBER] = np.arange(len(flows.ids))
    table[:, f.Q_WAITS_FOR] = [len(waits) for waits in flows.before]
    table[:, [f.Q_START_NS, f.Q_FINISH_NS, f.Q_LAST_BYTE_NS, f.Q_NACKED]] = -1
    for key, ends in ((f.Q_SOURCE, flows.source), (f.Q_TARGET, flows.target)):
        table[:, key] = image.nodes + f.NODE_WORDS * np.array(ends, np.int64)
    pairs = zip(flows.source, flows.target, strict=True)
    flow_windows, base_ns = windows(case.parameters, network, pairs)
    refuse_windows_of_nothing(case.parameters, flow_windows)
    table[:, f.Q_WINDOW] = flow_windows
    table[:, f.Q_WINDOW_NOW] = np.where(table[:, f.Q_WINDOW], table[:, f.Q_WINDOW], f.NO_WINDOW)
    table[:, f.Q_BASE_RTT_NS] = base_ns


def _write_followers(image: Image, followers: list[list[int]], at: int) -> None:
    """Write the flows that follow each flow, from *at* on."""
    table = image.flow_table
    for number, later in enumerate(followers):
        table[number, f.Q_FOLLOWERS] = at
        table[number, f.Q_FOLLOWER_COUNT] = len(later)
        image.arena[at : at + len(later)] = image.flows + f.Q_WORDS * np.array(later, np.int64)
        at += len(later)

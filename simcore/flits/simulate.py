"""Batches and steady states of a network, one seed at a time.

A steady state is looked for as BookSim 2 does: after periods that are left out, periods are added
until the mean latency and the accepted rate have changed by less than a twentieth three times in a
row, or there have been enough; then packets that count are followed to their end while others go on
coming. Where packets take longer than ``UNSTABLE_CYCLES`` in the mean, there is none.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from simcore.errors import SimulationError
from simcore.flits.case import Case, targets_of
from simcore.kernels.flits import network, run
from simcore.kernels.flits.allocation import scratch_for

UNSTABLE_CYCLES = 500
CONVERGED = 3
CHANGE = 0.05
WAYS = 2
"""Ways that a head may take at a router at most: an escape and another one."""
_NEVER = 1 << 60
_QUIET = 100_000
"""Cycles without an arrival after which a batch is taken to be stuck."""

Metrics = dict[str, float]
_KINDS = {"uniform": run.UNIFORM, "table": run.TABLE, "listed": run.SPOTS}


class Network:
    """A network and its state with one seed.

    Args:
        case: Describes it.
        tables: Permutations by name.
        seed: Of what is drawn.

    Raises:
        ConfigError: The traffic is none that is known.
    """

    def __init__(self, case: Case, tables: Mapping[str, Sequence[int]], seed: int) -> None:
        kind, targets = targets_of(case, tables)
        self.case = case
        self.kind, self.targets = _KINDS[kind], np.array(targets, np.int64)
        how, ports = case.how, case.links.router.shape[1]
        self.scratch = scratch_for(ports, how.channels, WAYS, _switch_ports(case))
        self.state = _state(case, seed)
        self.now = 0

    def run(self, rate: float, cycles: int, counted: tuple[int, int], until: int = 0) -> None:
        """Run for at most *cycles*.

        Args:
            rate: Flits that each node offers per cycle, where it sends at random.
            cycles: At most.
            counted: First cycle, and the one after the last, in which packets are made that count.
            until: Packets at whose arrival to stop; 0: never; -1: when none that counts is left.
        """
        case = self.case
        chance = float(rate / case.how.size)
        traffic = run.Traffic(
            self.kind, self.targets, case.how.size, case.batch > 0, chance, case.most_out
        )
        span = np.array([self.now, self.now + cycles, *counted, until], np.int64)
        self.now = int(
            run.run_until(case.links, case.rule, case.how, self.state, self.scratch, traffic, span)
        )

    def offer(self, rate: float) -> None:
        """Draw the cycle of each node's first packet."""
        for node in self.state.nodes:
            node[run.NEXT_MADE] = run.pause(self.state, rate / self.case.how.size) - 1

    def total(self, which: int) -> int:
        """One of the sums over packets."""
        return int(self.state.totals[which])

    def forget(self) -> None:
        """Begin sums anew; packets on their way count no more."""
        totals = self.state.totals
        totals[[run.PACKETS, run.LATENCY, run.NETWORK_LATENCY, run.PASSED]] = 0
        totals[run.MEASURED_ON_WAY] = 0
        self.state.packets[:, network.MEASURED] = 0
        self.state.nodes[:, run.ARRIVED] = 0


def _switch_ports(case: Case) -> tuple[int, int]:
    return case.how.input_ports, case.how.output_ports


def _zeros(*shape: int) -> network.Ints:
    return np.zeros(shape, np.int64)


def _packets(count: int) -> network.Ints:
    """Rows of packets, each of which names the next free one."""
    rows = _zeros(count, network.PACKET_WORDS)
    rows[:, network.NEXT_FREE] = np.arange(1, count + 1)
    return rows


def _nodes(case: Case) -> network.Ints:
    rows = _zeros(case.nodes, run.NODE_WORDS)
    rows[:, run.LEFT], rows[:, run.PACKET], rows[:, run.LAST_VC] = case.batch, -1, -1
    rows[:, run.ON_VC] = -1
    return rows


def _routers(case: Case) -> tuple[network.Ints, network.Ints, network.Ints]:
    """Input channels, what each router has to do, and its pointers."""
    how, (routers, ports) = case.how, case.links.router.shape
    channels = _zeros(routers, ports * how.channels, network.CHANNEL_WORDS)
    channels[:, :, network.DUE] = -1
    work = _zeros(routers, network.ROUTER_WORDS)
    work[:, network.ROUTE_DUE] = work[:, network.CROSSING_DUE] = -1
    width = ports * max(how.channels, *_switch_ports(case))
    pointers = _zeros(routers, network.POINTER_ROWS, width)
    pointers[:, network.HELD_CHANNEL] = -1
    return channels, work, pointers


def _state(case: Case, seed: int) -> network.State:
    links, how, nodes = case.links, case.how, case.nodes
    routers, ports = links.router.shape
    each, depth, inputs = how.channels, how.depth, ports * how.channels
    longest = int(max(links.latency.max(), links.from_latency.max(), links.node_latency))
    rows = longest + 2 * how.crossing + 3
    lines = routers * ports + nodes
    crossing = ports * (how.crossing + 1)
    packets = routers * (inputs * depth + crossing) + rows * lines + nodes + 1

    channels, work, pointers = _routers(case)
    return network.State(
        channels=channels,
        flits=_zeros(routers, inputs, depth),
        ways=_zeros(routers, inputs, WAYS, 4),
        taken=_zeros(routers, inputs),
        credits=np.full((routers, inputs), depth, np.int64),
        busy=_zeros(routers, inputs),
        pointers=pointers,
        routers=work,
        crossing=_zeros(routers, crossing, 3),
        awake=_zeros(routers + 1),
        packets=_packets(packets),
        nodes=_nodes(case),
        node_taken=_zeros(nodes, each),
        node_credits=np.full((nodes, each), depth, np.int64),
        wheel=_zeros(rows, lines, 4),
        credit_wheel=_zeros(rows, lines * how.input_ports, 4),
        counts=_zeros(2, rows),
        totals=_zeros(run.TOTAL_WORDS),
        random=np.array([0x9E3779B97F4A7C15 * (2 * seed + 1) % 2**64], np.uint64),
    )


def batch(case: Case, tables: Mapping[str, Sequence[int]], seed: int) -> Metrics:
    """Time in which every node's batch has arrived, and means over its packets.

    Raises:
        ConfigError: The traffic is none that is known.
        SimulationError: Nothing has arrived for a long time.
    """
    network_ = Network(case, tables, seed)
    every = case.nodes * case.batch
    while network_.total(run.ARRIVALS) < every:
        before = network_.total(run.ARRIVALS)
        network_.run(0.0, _QUIET, (0, _NEVER), every)
        if network_.total(run.ARRIVALS) == before:
            raise SimulationError(
                f"no packet has arrived for {_QUIET:,} cycles: {every - before} are stuck"
            )
    means = _means(network_)
    del means["packet_latency"]  # packets of a batch are made when they are sent
    return {"batch_duration": float(network_.total(run.LAST_CYCLE) + 1), **means}


def steady(
    case: Case, tables: Mapping[str, Sequence[int]], seed: int, rate: float, *, is_throughput: bool
) -> Metrics | None:
    """Means of the steady state at a *rate* in flits per node and cycle; None: there is none.

    Args:
        case: The network.
        tables: Permutations by name.
        seed: Of what is drawn.
        rate: Offered.
        is_throughput: Latency is of no concern: the rate may be more than the network takes.

    Raises:
        ConfigError: The traffic is none that is known.
    """
    one = Network(case, tables, seed)
    one.offer(rate)
    begin, last, calm = 0, (0.0, 0.0), 0
    for phase in range(case.samples):
        warm = phase < case.warmup
        if phase == case.warmup:
            begin = one.now
        if phase <= case.warmup:
            one.forget()
        one.run(rate, case.period, (0 if warm else begin, _NEVER))
        start = one.now - case.period if warm else begin
        found = _latency(one), _accepted(one, one.now - start)
        if not is_throughput and found[0] > UNSTABLE_CYCLES:
            return None
        changes = [abs(a - b) / a if a else 1.0 for a, b in zip(found, last, strict=True)]
        last = found
        is_calm = changes[1] < CHANGE and (is_throughput or changes[0] < CHANGE)
        calm = calm + 1 if is_calm and not warm else 0
        if calm >= CONVERGED:
            break
    end, rates = one.now, last[1]
    least = float(one.state.nodes[:, run.ARRIVED].min()) / (end - begin)
    if not is_throughput and not _drain(one, rate, (begin, end)):
        return None
    return {**_means(one), "accepted": rates, "accepted_min_node": least}


def _drain(one: Network, rate: float, counted: tuple[int, int]) -> bool:
    """Follow the packets that count to their end; false if they take too long."""
    while True:
        before = one.now
        one.run(rate, one.case.period, counted, -1)
        if one.now - before < one.case.period:
            return _latency(one) <= UNSTABLE_CYCLES
        packets = one.state.packets
        left = packets[packets[:, network.MEASURED] == 1]
        ages = float((one.now - left[:, network.MADE]).sum()) + one.total(run.LATENCY)
        if ages > UNSTABLE_CYCLES * max(1, one.total(run.PACKETS) + len(left)):
            return False


def _latency(one: Network) -> float:
    return one.total(run.LATENCY) / max(1, one.total(run.PACKETS))


def _accepted(one: Network, cycles: int) -> float:
    return float(one.state.nodes[:, run.ARRIVED].sum()) / (cycles * one.case.nodes)


def _means(one: Network) -> Metrics:
    packets = max(1, one.total(run.PACKETS))
    return {
        "packet_latency": one.total(run.LATENCY) / packets,
        "network_latency": one.total(run.NETWORK_LATENCY) / packets,
        "hops": one.total(run.PASSED) / packets,
    }

"""Batches and steady states of a network, one seed at a time.

A steady state is looked for as BookSim 2 does: after periods that are left out, periods are added
until the mean latency and the accepted rate have changed by less than a twentieth three times in a
row, or there have been enough; then packets that count are followed to their end while others go on
coming. Where packets take longer than ``UNSTABLE_CYCLES`` in the mean, there is none.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from simcore.errors import SimulationError
from simcore.flits.case import Case, targets_of
from simcore.flits.memory import Memory
from simcore.flits.waiting import present_circle, told
from simcore.kernels.flits import network, nodes
from simcore.kernels.flits.run import run_until

UNSTABLE_CYCLES = 500
CONVERGED = 3
CHANGE = 0.05
_NEVER = 1 << 60
_QUIET = 100_000
"""Cycles without an arrival after which a batch is taken to be stuck."""

Metrics = dict[str, float]
_KINDS = {"uniform": nodes.UNIFORM, "table": nodes.TABLE, "listed": nodes.SPOTS}


class Deadlock(SimulationError):
    """A network that has come to a standstill; the message names routers that wait in a circle."""


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
        self.memory = Memory(case, (_KINDS[kind], targets), seed)
        self.now = 0

    def run(self, rate: float, cycles: int, counted: tuple[int, int], until: int = 0) -> None:
        """Run for at most *cycles*.

        Args:
            rate: Flits (or packets, as the case says) that each node offers per cycle at random.
            cycles: At most.
            counted: First cycle, and the one after the last, in which packets are made that count.
            until: Packets at whose arrival to stop; 0: never; -1: when none that counts is left.
        """
        span = np.array([self.now, self.now + cycles, *counted, until], np.int64)
        self.now = int(run_until(self.memory.words, rate / self.case.unit, span))

    def offer(self, rate: float) -> None:
        """Draw the cycle of each node's first packet.

        Raises:
            ConfigError: The rate is more than its bursts can offer.
        """
        words, bursts = self.memory.words, self.case.bursts
        chance = rate / self.case.unit
        if bursts:
            at = [network.GOES_ON, network.GOES_OFF, network.SENDS_ON]
            words[at] = [round(part * network.CHANCES) for part in bursts.chances(chance)]
        nodes.begin(words, chance)

    def arrived(self) -> network.Ints:
        """(N,) flits that came to each node."""
        return self.memory.table(network.AT_NODE)[:, network.ARRIVED]

    def carried(self) -> network.Ints:
        """(R, P) flits that each output of each router has put onto its link."""
        return self.memory.table(network.AT_LINK)[..., network.CARRIED]

    def total(self, which: int) -> int:
        """One of the sums over packets."""
        return int(self.memory.words[which])

    def forget(self) -> None:
        """Begin sums anew; packets on their way count no more."""
        sums = network.PACKETS, network.LATENCY, network.NETWORK_LATENCY, network.PASSED
        self.memory.words[[*sums, network.MEASURED_ON_WAY]] = 0
        self.memory.table(network.AT_PACKET)[:, network.MEASURED] = 0
        self.carried()[:] = 0
        self.arrived()[:] = 0


def batch(case: Case, tables: Mapping[str, Sequence[int]], seed: int) -> Metrics:
    """Time in which every node's batch has arrived, and means over its packets.

    Raises:
        ConfigError: The traffic is none that is known.
        Deadlock: Nothing has arrived for a long time.
    """
    network_ = Network(case, tables, seed)
    every = case.nodes * case.batch
    while network_.total(network.ARRIVALS) < every:
        before = network_.total(network.ARRIVALS)
        network_.run(0.0, _QUIET, (0, _NEVER), every)
        if network_.total(network.ARRIVALS) == before:
            raise _stuck(network_, _QUIET)
    means = _means(network_)
    del means["packet_latency"]  # packets of a batch are made when they are sent
    return {"batch_duration": float(network_.total(network.LAST_CYCLE) + 1), **means}


def link_use(
    case: Case, tables: Mapping[str, Sequence[int]], seed: int, rate: float
) -> NDArray[np.float64]:
    """(R, P) float64: flits per cycle on the link of each output, as ``batch`` or ``steady`` runs.

    Args:
        case: The network.
        tables: Permutations by name.
        seed: Of what is drawn.
        rate: Offered, for a period after those that are left out; of a batch, which is followed to
            its end, 0.

    Raises:
        ConfigError: The traffic is none that is known.
    """
    one = Network(case, tables, seed)
    if case.batch:
        one.run(0.0, _QUIET, (0, _NEVER), case.nodes * case.batch)
    else:
        one.offer(rate)
        one.run(rate, max(case.warmup, 1) * case.period, (0, 0))
        one.forget()
    begin = 0 if case.batch else one.now
    if not case.batch:
        one.run(rate, case.period, (0, 0))
    return np.asarray(one.carried() / max(one.now - begin, 1), np.float64)


def _stuck(one: Network, cycles: int) -> Deadlock:
    """Error of a network in which no packet has arrived for so many cycles."""
    circle = present_circle(one.memory)
    rule = f"no packet has arrived for {cycles:,} cycles"
    where = f"routers {told(circle)}" if circle else "some of its routers"
    return Deadlock(
        f"deadlock: {rule}, and channels of {where} wait for each other: "
        f"give the routes an order of channels, or more of them"
    )


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
        Deadlock: Nothing has arrived for a period, and channels wait for each other in a circle.
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
        before = one.total(network.ARRIVALS)
        one.run(rate, case.period, (0 if warm else begin, _NEVER))
        is_still = one.total(network.ARRIVALS) == before and one.total(network.IN_FLIGHT) == 0
        if is_still and present_circle(one.memory):
            raise _stuck(one, case.period)
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
    least = float(one.arrived().min()) / (end - begin)
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
        packets = one.memory.table(network.AT_PACKET)
        left = packets[packets[:, network.MEASURED] == 1]
        ages = float((one.now - left[:, network.MADE]).sum()) + one.total(network.LATENCY)
        if ages > UNSTABLE_CYCLES * max(1, one.total(network.PACKETS) + len(left)):
            return False


def _latency(one: Network) -> float:
    return one.total(network.LATENCY) / max(1, one.total(network.PACKETS))


def _accepted(one: Network, cycles: int) -> float:
    return float(one.arrived().sum()) / (cycles * one.case.nodes)


def _means(one: Network) -> Metrics:
    packets = max(1, one.total(network.PACKETS))
    return {
        "packet_latency": one.total(network.LATENCY) / packets,
        "network_latency": one.total(network.NETWORK_LATENCY) / packets,
        "hops": one.total(network.PASSED) / packets,
    }

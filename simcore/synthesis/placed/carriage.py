"""Collectives of groups on a network: what links carry for them, and how long it takes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from simcore.graphs.network_table import InNetwork, NetworkFile
from simcore.graphs.routed import routed
from simcore.kernels.synthesis.retiming import retimed
from simcore.synthesis.fabric import Fabric, Floats, Ints
from simcore.synthesis.kinds import ALL_GATHER, ALL_REDUCE, REDUCE_SCATTER
from simcore.synthesis.placed.kept import KeptSchedule, kept_schedules
from simcore.synthesis.placed.line import line_fabric

_NS = 1e9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Carriage:
    """Work of the links of a network for one collective of one group.

    Attributes:
        links: (K,) links of the network that carry anything.
        load_bytes: (K,) what each carries.
        latency_ns: Time in which no link carries anything for it.
        least_latency_ns: The longest of the least latencies between two members.
        time_ns: Of the collective, where nothing else is on these links.
        bound_ns: No algorithm is faster.
        by: What the schedule is.
    """

    links: Ints
    load_bytes: Floats
    latency_ns: float
    least_latency_ns: float
    time_ns: float
    bound_ns: float
    by: str

    @property
    def most_bytes_per_ns(self) -> float:
        """Rate of the link that carries most, where nothing else is on these links."""
        spent = self.time_ns - self.latency_ns
        return float(self.load_bytes.max(initial=0.0)) / spent if spent > 0 else np.inf

    @property
    def share(self) -> float:
        """The bound as a part of the time."""
        return self.bound_ns / self.time_ns if self.time_ns else 1.0


def carriage(network: NetworkFile, members: Sequence[int], kind: str, size_bytes: int) -> Carriage:
    """The collective *kind* of *members*, NPUs of *network*, with a schedule made for them.

    Args:
        network: The network, with speeds.
        members: At least 2, in the order of their parts.
        kind: A name of ``KINDS``.
        size_bytes: Of the buffer of a member; of an all-gather, of its shard.

    Raises:
        SimulationError: A member cannot be reached from another.
    """
    return _carriage(network, tuple(members), kind, size_bytes)


@lru_cache(maxsize=1024)
def _carriage(
    network: NetworkFile, members: tuple[int, ...], kind: str, size_bytes: int
) -> Carriage:
    own = network.in_network
    found = _scheduled(network, members, kind, size_bytes, own.reduces)
    if not own.reduces or kind not in (ALL_REDUCE, REDUCE_SCATTER):
        return found
    fabric, _ = _line(network, members, True)
    wait_ns = _wait_ns(own, fabric, found, size_bytes) if own.limits else 0.0
    by_npus = _scheduled(network, members, kind, size_bytes, False)
    if found.time_ns + wait_ns > by_npus.time_ns:
        return replace(by_npus, by=f"{by_npus.by}, added up by NPUs, which is sooner")
    if not wait_ns:
        return found
    return replace(
        found,
        latency_ns=found.latency_ns + wait_ns,
        time_ns=found.time_ns + wait_ns,
        by=f"{found.by}, {wait_ns * 1e-3:,.1f} us of it switches' limits",
    )


def _scheduled(
    network: NetworkFile, members: tuple[int, ...], kind: str, size_bytes: int, reduces: bool
) -> Carriage:
    """The collective by the fastest schedule that is kept; see ``_carriage``."""
    fabric, links = _line(network, members, reduces)
    piece = float(size_bytes if kind == ALL_GATHER else size_bytes / len(members))
    kept, time = min(
        ((one, _time(one, fabric, piece)) for one in kept_schedules(fabric, kind, piece)),
        key=lambda one: one[1],
    )
    used = np.flatnonzero(kept.carried)
    load = kept.carried[used] * piece
    busiest = float((load / fabric.rate[used]).max(initial=0.0))
    return Carriage(
        links=links[used],
        load_bytes=load,
        latency_ns=max(0.0, min(kept.latency, time - busiest)) * _NS,
        least_latency_ns=kept.latency * _NS,
        time_ns=time * _NS,
        bound_ns=max(kept.bandwidth * piece, kept.latency) * _NS,
        by=kept.by,
    )


def _wait_ns(own: InNetwork, fabric: Fabric, found: Carriage, size_bytes: int) -> float:
    """Time that limits of switches add to a schedule, as they do to ``in_network``.

    A switch with more inputs than its radix adds them up in levels, of which each further one takes
    the latency of a link up and down once more; a window of operations is on its way from members
    through all switches and back.
    """
    inputs = int(np.bincount(fabric.head, minlength=fabric.nodes)[fabric.npus :].max(initial=1))
    ends = np.unique(fabric.link[fabric.tail < fabric.npus])
    rate, latency_ns = float(fabric.rate[ends].min()) / _NS, float(fabric.latency[ends].max()) * _NS
    levels_ns = 2 * (own.levels(min(inputs, fabric.npus)) - 1) * latency_ns
    way_ns = found.least_latency_ns + levels_ns
    free_ns = found.least_latency_ns + size_bytes / rate
    return max(0.0, own.windows_ns(way_ns, size_bytes, rate) - free_ns)


def _time(kept: KeptSchedule, fabric: Fabric, piece: float) -> float:
    """Time of a schedule for pieces of this size."""
    takes, places = piece / kept.parts / fabric.rate, int(kept.to.max(initial=-1)) + 1
    order = kept.link, kept.at, kept.to, kept.into_switch
    return retimed(*order, takes, fabric.latency, places)


@lru_cache(maxsize=1024)
def _line(network: NetworkFile, members: tuple[int, ...], reduces: bool) -> tuple[Fabric, Ints]:
    graph, copies = routed(network).graph, network.in_network.multicasts
    return line_fabric(graph, np.array(members, np.int64), copies, reduces)

"""Collectives of groups on a network: what links carry for them, and how long it takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from simcore.graphs.network_table import NetworkFile
from simcore.graphs.routed import routed
from simcore.kernels.synthesis.retiming import retimed
from simcore.synthesis.fabric import Fabric, Floats, Ints
from simcore.synthesis.kinds import ALL_GATHER
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
        time_ns: Of the collective, where nothing else is on these links.
        bound_ns: No algorithm is faster.
        by: What the schedule is.
    """

    links: Ints
    load_bytes: Floats
    latency_ns: float
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
    fabric, links = _line(network, members)
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
        time_ns=time * _NS,
        bound_ns=max(kept.bandwidth * piece, kept.latency) * _NS,
        by=kept.by,
    )


def _time(kept: KeptSchedule, fabric: Fabric, piece: float) -> float:
    """Time of a schedule for pieces of this size."""
    takes, places = piece / kept.parts / fabric.rate, int(kept.to.max(initial=-1)) + 1
    order = kept.link, kept.before, kept.at, kept.to
    return retimed(*order, takes, fabric.latency, places)


@lru_cache(maxsize=1024)
def _line(network: NetworkFile, members: tuple[int, ...]) -> tuple[Fabric, Ints]:
    graph, own = routed(network).graph, network.in_network
    return line_fabric(graph, np.array(members, np.int64), own.multicasts, own.reduces)

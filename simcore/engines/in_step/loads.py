"""Links of a machine under messages that all begin at once, each pattern worked out once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.collectives.base import Peer
from simcore.engines.collectives.phases import Phase
from simcore.engines.events.input import Ints
from simcore.flows.simulate import simulate_at_once
from simcore.graphs.routing import RouteTable
from simcore.graphs.stack import StackedGraph
from simcore.kernels.flows.rounding import whole_ns
from simcore.network import NetworkDimension
from simcore.network.lines import lines_of

Floats = NDArray[np.float64]

_SIZE_BYTES = 1e9
_EQUAL = 1e-11
"""Part by which times of messages differ that are the same but for rounding."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Load:
    """Messages of one size, all begun at once.

    Attributes:
        latency_ns: (K,) of each of K kinds of messages that take unlike long.
        ns_per_byte: (K,) beyond the latency.
        links: (U,) links that they use, ascending.
    """

    latency_ns: Floats
    ns_per_byte: Floats
    links: Ints

    @property
    def even(self) -> bool:
        """True if all messages take equally long, whatever their size."""
        return len(self.latency_ns) <= 1

    def times_ns(self, size_bytes: int) -> tuple[int, int]:
        """Times of the last and of the first message to arrive, of *size_bytes* each."""
        if not len(self.latency_ns):
            return 0, 0
        times = self.latency_ns + self.ns_per_byte * size_bytes
        return whole_ns(float(times.max())), whole_ns(float(times.min()))


class LoadedLinks:
    """Links of a machine on which messages get max-min fair parts.

    Rates are those of messages that all share links from their start to the end of each; their
    latencies are added. Where all take equally long this is exact, as they do begin at once.

    Args:
        dimensions: Of the machine, innermost first.
        where: (N,) NPU of each rank; None: ranks are where their numbers say.
        around: Dimensions of a larger machine, whose NPUs *where* names; None: they are all.

    Raises:
        ConfigError: A network breaks a rule.
    """

    size_bytes = 1 << 22
    """Estimate of what it takes in memory."""

    def __init__(
        self,
        dimensions: Sequence[NetworkDimension],
        where: Ints | None = None,
        around: Sequence[NetworkDimension] | None = None,
    ) -> None:
        self._stack, self._where = StackedGraph(lines_of(around or dimensions)), where
        self._graph = self._stack.as_graph()
        self._sizes = [dimension.npus for dimension in dimensions]
        self._known: dict[object, Load] = {}
        self._known_groups: dict[object, list[Load]] = {}

    def of_peers(self, phase: Phase, peers: tuple[Peer, ...]) -> Load:
        """All members of all groups along a dimension that send to *peers*.

        Args:
            phase: Says in which dimension, and how members lie there.
            peers: Receivers of each member's messages.
        """
        key = phase.dimension, phase.members, phase.stride, peers
        if key not in self._known:
            source, target = self.pairs_of(phase, peers)
            self._known[key] = self._loads(source, target, np.zeros(len(source), np.int64))[0]
        return self._known[key]

    def of_messages(self, source: Ints, target: Ints, group: Ints) -> list[Load]:
        """Messages between NPUs *source* (F,) and *target* (F,), all begun at once.

        Args:
            source: Senders.
            target: Receivers.
            group: (F,) number of the group that each message belongs to, from 0 on.

        Returns:
            The load of each group beside the others.
        """
        key = source.tobytes(), target.tobytes(), group.tobytes()
        found = self._known_groups.get(key)
        if found is None:
            found = self._known_groups[key] = self._loads(source, target, group)
        return found

    def ways(self, source: Ints, target: Ints) -> RouteTable:
        """Routes of messages between NPUs *source* (F,) and *target* (F,)."""
        if self._where is not None:
            source, target = self._where[source], self._where[target]
        return self._stack.ways(source, target)

    @property
    def bytes_per_ns(self) -> Floats:
        """(L,) capacity of each link."""
        return self._stack.bytes_per_ns

    @property
    def latency_ns(self) -> Floats:
        """(L,) of each link."""
        return self._stack.latency_ns

    def pairs_of(self, phase: Phase, peers: tuple[Peer, ...]) -> tuple[Ints, Ints]:
        """Senders and receivers of the messages of ``of_peers``."""
        return pairs_of(self._sizes, phase, peers)

    def _loads(self, source: Ints, target: Ints, group: Ints) -> list[Load]:
        routes = self.ways(source, target)
        ends = simulate_at_once(self._graph, routes, _SIZE_BYTES).finish_ns / _SIZE_BYTES
        of_link, found = np.repeat(group, np.diff(routes.offsets)), []
        for number in range(int(group.max(initial=-1)) + 1):
            own = group == number
            latency, ns_per_byte = _kinds(routes.latency_ns[own], ends[own])
            links = np.unique(routes.links[of_link == number])
            found.append(Load(latency_ns=latency, ns_per_byte=ns_per_byte, links=links))
        return found


def pairs_of(sizes: Sequence[int], phase: Phase, peers: tuple[Peer, ...]) -> tuple[Ints, Ints]:
    """Senders and receivers among NPUs on dimensions of *sizes*, where members send to *peers*.

    Args:
        sizes: Of the dimensions, innermost first.
        phase: Says in which of them members lie, and how.
        peers: Receivers of each member's messages.
    """
    pairs = [_pairs(sizes, phase, peer) for peer in peers]
    source, target = (np.concatenate(side) for side in zip(*pairs, strict=True))
    return source, target


def _pairs(sizes: Sequence[int], phase: Phase, peer: Peer) -> tuple[Ints, Ints]:
    members, below = phase.members, int(np.prod(sizes[: phase.dimension], dtype=np.int64))
    npus = np.arange(int(np.prod(sizes, dtype=np.int64)))
    place = npus // below % sizes[phase.dimension] // phase.stride % members
    to = [peer.receiver(member, members) for member in range(members)]
    ahead = np.array(
        [0 if one is None or one >= members else one - at for at, one in enumerate(to)]
    )
    target = npus + ahead[place] * (phase.stride * below)
    sends = target != npus
    return npus[sends], target[sends]


def _kinds(latency_ns: Floats, ns_per_byte: Floats) -> tuple[Floats, Floats]:
    """Latency and time per byte of each kind of message that differs from the others."""
    marks = [_marks(latency_ns), _marks(ns_per_byte)]
    _, first = np.unique(np.column_stack(marks), axis=0, return_index=True)
    return latency_ns[first], ns_per_byte[first]


def _marks(values: Floats) -> Ints:
    """(F,) int64: equal numbers where values are equal but for rounding."""
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    apart = np.diff(ascending) > _EQUAL * ascending[1:]
    marks = np.empty(len(values), np.int64)
    marks[order] = np.concatenate([np.zeros(min(len(values), 1), np.int64), np.cumsum(apart)])
    return marks

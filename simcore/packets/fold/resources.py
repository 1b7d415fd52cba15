"""Ports and switches that flows share, by number, and the state that they are in while idle."""

from itertools import count
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.packets import layout as f
from simcore.kernels.packets.links import time_ns
from simcore.packets.fold.ways import Way
from simcore.packets.image import Image

Ints = NDArray[np.int64]
State = tuple[object, ...]
_ANY = 1 << 40  # bytes, more than any queue has

# Words of a port that name records, or matter to nobody while it is idle.
_NAMES = (
    f.E_NEXT, f.E_KIND, f.PORT_PEER, f.PORT_CONTROL_FIRST, f.PORT_CONTROL_LAST, f.PORT_FIRST,
    f.PORT_LAST, f.PORT_NODE, f.PORT_QPS, f.PORT_LOSS, f.PORT_LANES, f.PORT_NEAR,
)  # fmt: skip
_facts_of = itemgetter(*(word for word in range(f.PORT_WORDS) if word not in _NAMES))


class Resources:
    """Ports of a network, numbered as there, and its nodes, numbered after them.

    Args:
        image: Of the run, before its first event.

    Attributes:
        count: Of both.
        owner: Node of each port.
    """

    def __init__(self, image: Image) -> None:
        self._image = image
        self._ports = image.network.owner.size
        self.count = self._ports + image.network.nodes
        self.owner: list[int] = image.network.owner.tolist()
        self._is_switch: list[int] = image.network.is_switch.tolist()
        self._near_port, self._near_node = _near(image)
        self._never = count()

    def node(self, port: int) -> int:
        """The number of a port's node."""
        return self._ports + self.owner[port]

    def is_port(self, number: int) -> bool:
        """True if it is a port and no node."""
        return number < self._ports

    def record(self, number: int) -> int:
        """The record of a port or node."""
        if number < self._ports:
            return self._image.ports + f.PORT_WORDS * number
        return self._image.nodes + f.NODE_WORDS * (number - self._ports)

    def of(self, way: Way) -> list[int]:
        """All that packets and answers on a way touch."""
        found: dict[int, None] = {}
        for port in (*way.forth, *way.back):
            for end in (port, port ^ 1):
                found[end] = None
                if self._is_switch[self.owner[end]]:
                    found[self.node(end)] = None
        return list(found)

    def state(self, number: int) -> State:
        """All that can matter of a port or node that no flow uses; equal only where all is."""
        if not self.is_port(number):
            row = self._row(number, f.NODE_WORDS)
            if row[f.NODE_SHARED] > self._near_node[number - self._ports]:
                return (next(self._never),)
            words = (f.NODE_IS_SWITCH, f.NODE_BUFFER, f.NODE_SHARED, f.NODE_TURN)
            return tuple(row[word] for word in words)
        row = self._row(number, f.PORT_WORDS)
        if row[f.PORT_MOST] > self._near_port[number]:
            return (next(self._never),)
        return (*_facts_of(row), self._flows_listed(row), self._credits(row))

    def watch(self, number: int) -> None:
        """Let the kernel note when a port or node of a leader nears a draw."""
        at = self.record(number)
        if self.is_port(number):
            self._image.arena[at + f.PORT_NEAR] = self._near_port[number]
        else:
            self._image.arena[at + f.NODE_NEAR] = self._near_node[number - self._ports]

    def watch_none(self) -> None:
        """Let the kernel note nothing more."""
        image = self._image
        image.port_table[:, f.PORT_NEAR] = f.NEVER
        image.table(image.nodes, image.network.nodes, f.NODE_WORDS)[:, f.NODE_NEAR] = f.NEVER

    def _row(self, number: int, words: int) -> list[int]:
        at = self.record(number)
        row: list[int] = self._image.arena[at : at + words].tolist()
        return row

    def _flows_listed(self, row: list[int]) -> State:
        """Times from which ended flows that a host still lists could have sent on."""
        first, listed = row[f.PORT_QPS], row[f.PORT_QP_COUNT]
        if not listed:
            return ()
        flows = self._image.arena[first : first + listed]
        return tuple(self._image.arena[flows + f.Q_READY_NS].tolist())

    def _credits(self, row: list[int]) -> State:
        if not row[f.PORT_LANES]:
            return ()
        lanes = int(self._image.arena[f.LANES])
        table = self._image.table(row[f.PORT_LANES], lanes, f.LANE_WORDS)
        return tuple(table[:, f.LANE_CREDIT].tolist())


def draws_marks(image: Image) -> bool:
    """True if some queue may be of a length at which a random number decides on a mark."""
    ports = image.port_table
    return bool(image.arena[f.MARKS]) and bool(
        (ports[:, f.PORT_KMIN] < ports[:, f.PORT_KMAX]).any()
    )


def _near(image: Image) -> tuple[list[int], list[int]]:
    """Bytes of each port's queue, and of each node's shared part, up to which none can be drawn.

    In one ns every port of a switch may bring a packet; where a link is so fast that the least of
    them takes no ns, any number. What is drawn for a frame of PFC is heeded by nobody, but comes
    from the same stream.
    """
    network, arena, ports = image.network, image.arena, image.port_table
    never = [f.NEVER] * network.owner.size, [f.NEVER] * network.nodes
    if not draws_marks(image):
        return never
    packet = int((arena[f.PAYLOAD] + arena[f.HEADERS]) * arena[f.TRAIN])
    least = min(int(arena[f.ACK_BYTES]), int(arena[f.HEADERS]) + 1)
    each = [packet if time_ns(least, rate) else _ANY for rate in network.rate.tolist()]
    more = np.bincount(network.owner, each, network.nodes).astype(np.int64)
    kmin, ramps = ports[:, f.PORT_KMIN], ports[:, f.PORT_KMIN] < ports[:, f.PORT_KMAX]
    near_port = np.where(ramps, kmin - more[network.owner], f.NEVER)
    if not arena[f.PAUSES_PEERS]:
        return near_port.tolist(), never[1]
    shift = np.zeros(network.nodes, np.int64)
    np.maximum.at(shift, network.owner, ports[:, f.PORT_SHIFT])
    nodes = image.table(image.nodes, network.nodes, f.NODE_WORDS)
    free = nodes[:, f.NODE_BUFFER] - more - ((more + packet + 2) << shift)
    near_node = np.where(network.is_switch != 0, free // ((1 << shift) + 1), f.NEVER)
    return near_port.tolist(), near_node.tolist()

"""Ports that flows use: their ways, before they start."""

from dataclasses import dataclass

import numpy as np

from simcore.kernels.packets import layout as f
from simcore.kernels.packets.ways.paths import DATA_PORT, write_path
from simcore.packets.image import Image

Ports = tuple[int, ...]
CHOSEN_PACKET_BY_PACKET = (f.IN_TURN, f.SHORTEST_QUEUE)


@dataclass(frozen=True, slots=True)
class Way:
    """Ports that the packets of a flow use, and its ACKs; all there are where switches choose.

    Attributes:
        forth: From the source on.
        back: From the target on.
        forks: How many ports lead on from each node, where switches choose packet by packet.
        is_kept: Every flow of the pair has it.
    """

    forth: Ports
    back: Ports
    forks: Ports
    is_kept: bool


class Ways:
    """Ways of flows between pairs of hosts.

    Args:
        image: Of the run, whose links do not change.
    """

    def __init__(self, image: Image) -> None:
        self._image, self._network = image, image.network
        self._place = image.network.index_of_host()
        self._kept: dict[int, Way] = {}
        self._hashed_pairs: dict[int, tuple[int, int]] = {}
        self._is_told = bool(image.arena[f.WAYS_TOLD])
        self._by_packet = int(image.arena[f.ROUTING]) in CHOSEN_PACKET_BY_PACKET

    def of(self, pair: int, source_port: int) -> Way:
        """The way of a flow.

        Args:
            pair: Record of its hosts.
            source_port: Its number among the flows between them, as packets carry it.
        """
        if (way := self._kept.get(pair)) is not None:
            return way
        if (ends := self._hashed_pairs.get(pair)) is not None:
            return self._hashed(ends, source_port)
        way = self._told(pair) if self._is_told else self._found(pair, source_port)
        if way.is_kept:
            self._kept[pair] = way
        return way

    def _told(self, pair: int) -> Way:
        ways = [self._ports(self._image.arena[pair + word]) for word in (f.PAIR_FORTH, f.PAIR_BACK)]
        return Way(ways[0], ways[1], (), is_kept=True)

    def _ports(self, first: int) -> Ports:
        """Numbers of the ports listed from a place on, up to a 0."""
        last = first
        while self._image.arena[last]:
            last += 1
        return self._numbers(first, last)

    def _numbers(self, first: int, end: int) -> Ports:
        at = self._image.arena[first:end] - self._image.ports
        return tuple((at // f.PORT_WORDS).tolist())

    def _found(self, pair: int, source_port: int) -> Way:
        arena = self._image.arena
        ends = [int(arena[pair + word]) for word in (f.PAIR_SOURCE, f.PAIR_TARGET)]
        nodes = [int(arena[node + f.NODE_ID]) for node in ends]
        forth, forks = self._fan(*nodes)
        back, forks_back = self._fan(*nodes[::-1])
        if self._by_packet:
            return Way(forth, back, forks + forks_back, is_kept=True)
        if max(forks + forks_back) == 1:
            return Way(forth, back, (), is_kept=True)
        self._hashed_pairs[pair] = ends[0], ends[1]
        return self._hashed((ends[0], ends[1]), source_port)

    def _hashed(self, ends: tuple[int, int], source_port: int) -> Way:
        """The way that the hash chooses between two nodes."""
        forth = self._one_way(*ends, source_port | DATA_PORT << 16)
        back = self._one_way(*ends[::-1], DATA_PORT | source_port << 16)
        return Way(forth, back, (), is_kept=False)

    def _one_way(self, source: int, target: int, ends: int) -> Ports:
        """A way that is written where no record stands yet."""
        at = int(self._image.arena[f.NEXT_WORD])
        self._image.make_room(self._network.nodes)
        begin, end = write_path(self._image.arena, at, source, target, ends)
        found = self._numbers(at, end)
        self._image.arena[at:end] = 0
        return ((begin - self._image.ports) // f.PORT_WORDS, *found)

    def _fan(self, source: int, target: int) -> tuple[Ports, Ports]:
        """Ports of all shortest ways, node by node from the source on; how many each node has."""
        network, row = self._network, int(self._place[target]) * self._network.nodes
        ports: list[int] = []
        forks: list[int] = []
        nodes = [source]
        for node in nodes:  # it grows
            if node == target:
                continue
            begin, end = network.first[row + node : row + node + 2]
            hops = network.hops[begin:end].tolist()
            forks.append(len(hops))
            ports += hops
            for following in network.owner[np.array(hops, np.int64) ^ 1].tolist():
                if following not in nodes:
                    nodes.append(following)
        return tuple(ports), tuple(forks)

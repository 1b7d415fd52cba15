"""Circles of ports that can wait for each other for ever, where pauses or credits hold them.

A port whose packets stand in the buffer of the next switch waits for the ports that they leave it
by; hosts take all that comes. Source: W. Dally and C. Seitz, "Deadlock-Free Message Routing in
Multiprocessor Interconnection Networks", 1987: without a circle of such waits nothing can deadlock.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

from simcore.graphs.routing.deadlock import circle_among
from simcore.packets.network import Network


class Waits:
    """Ports that packets may wait for at each port."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._ahead: dict[int, set[int]] = defaultdict(set)

    def add_way(self, ports: Sequence[int]) -> None:
        """Add the way of a pair of hosts, port by port."""
        for port, following in pairwise(ports):
            if self._network.is_switch[self._network.owner[following]]:
                self._ahead[port].add(following)

    def add_shortest(self, source: int, target: int, row: int) -> None:
        """Add every way of next hops between two hosts; *row* is the first of those to *target*."""
        network = self._network
        before: list[tuple[int, int]] = [(-1, source)]
        seen = set(before)
        while before:
            port, node = before.pop()
            if node == target:
                continue
            hops = network.hops[network.first[row + node] : network.first[row + node + 1]]
            for following in hops.tolist():
                if port >= 0 and network.is_switch[node]:
                    self._ahead[port].add(following)
                state = (following, int(network.owner[following ^ 1]))
                if state not in seen:
                    seen.add(state)
                    before.append(state)

    def circle(self) -> list[int] | None:
        """Switches of a circle, the first one again at the end; None: there is none."""
        ports = circle_among(self._ahead)
        if ports is None:
            return None
        nodes = [int(self._network.owner[port]) for port in ports]
        return [*nodes, nodes[0]]


def circle_told(nodes: Iterable[int], what: str) -> str:
    """A sentence about a circle of switches that *what* (pauses, credits) can stop for ever."""
    named = " to ".join(str(node) for node in nodes)
    return (
        f"{what} can stop this network for ever: with these ways switches can wait for each other "
        f"in a circle ({named}); a routing such as up_down has none"
    )

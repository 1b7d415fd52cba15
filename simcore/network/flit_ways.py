"""Ways of messages through dimensions of routers."""

from collections.abc import Sequence
from itertools import pairwise, permutations
from math import prod

from simcore.errors import ConfigError
from simcore.flits.fabric import Fabric
from simcore.flits.live import ATTOSECONDS, LiveFlits, Way
from simcore.flits.settings import FlitNetwork
from simcore.flits.waiting import circle_of, told
from simcore.graphs.stack import ApartLine, JoinedLine, StackedGraph
from simcore.kernels.flits.routes.rule import ANY, LOWER, UPPER
from simcore.network.base import NetworkDimension
from simcore.network.lines import lines_of

_LEAST_HALVED = 4
"""NPUs of a ring from which packets on it could wait for each other in a circle."""
_WITHOUT_CIRCLES = ("mesh", "fully_connected", "switch", "ring")


class FlitWays:
    """Ways of messages through the innermost dimensions of a machine.

    Args:
        dimensions: Of the machine, innermost first.
        count: How many of them are followed flit by flit.
        settings: Of routers and packets.

    Raises:
        ConfigError: The network cannot be followed flit by flit.
    """

    def __init__(
        self, dimensions: Sequence[NetworkDimension], count: int, settings: FlitNetwork
    ) -> None:
        inner = dimensions[:count]
        self._lines = lines_of(inner)
        if any(line.halves for line in self._lines):
            rule = "must have cables that carry both directions at once where flits are followed"
            raise ConfigError("platform.network", rule, got="half-duplex cables")
        shapes = [one.topology if one.network is None else "" for one in inner if not one.level]
        for shape, line in zip(shapes, self._lines, strict=True):
            if shape not in _WITHOUT_CIRCLES:
                _refuse_circles(line)
        self._rings = [
            shape == "ring" and line.npus >= _LEAST_HALVED
            for shape, line in zip(shapes, self._lines, strict=True)
        ]
        groups = prod(one.npus for one in dimensions[count:])
        around = [ApartLine(groups)] if groups > 1 else []
        self._graph = StackedGraph([*self._lines, *around])
        self._ends = self._graph.ends()
        links = self._graph.bytes_per_ns, self._graph.latency_ns
        self._fabric = Fabric(settings, self._ends, *links, is_halved=any(self._rings))
        self._known: dict[tuple[int, int], Way] = {}
        self._told: dict[tuple[int, int], int] = {}

    def network(self) -> LiveFlits:
        """The network before the first message."""
        fabric = self._fabric
        return LiveFlits(fabric.case, fabric.cycle, fabric.alone)

    def of(self, source: int, target: int) -> Way:
        """The way from one NPU to another one.

        Raises:
            ConfigError: Routes through the network are no table of where a packet is and goes to.
        """
        way = self._known.get((source, target))
        if way is None:
            links, parts = self._graph.way(source, target)
            listed = links.tolist()
            way = self._fabric.way(listed, [self._part(link, target) for link in listed])
            rule = "must have one route from each node to each NPU where flits are followed"
            if (parts != 1.0).any():
                raise ConfigError("platform.network", rule, got="routes that cut messages")
            for router, last, told_ in way.entries:
                if self._told.setdefault((router, last), told_) != told_:
                    raise ConfigError("platform.network", rule, got=f"two from node {router}")
            self._known[source, target] = way
        return way

    def _part(self, link: int, target: int) -> int:
        """Part of the channels of a link that a message takes: on rings, before or after the wrap.

        Source: W. Dally, C. Seitz, "Deadlock-free message routing in multiprocessor interconnection
        networks", IEEE Transactions on Computers C-36(5), 1987.
        """
        line = self._graph.line_of(link)
        if not self._rings[line]:
            return ANY
        stride, size = prod(one.npus for one in self._lines[:line]), self._lines[line].npus
        here, there, to = (
            int(npu) // stride % size for npu in (self._ends[0][link], self._ends[1][link], target)
        )
        is_upper = here > to if there == (here + 1) % size else here < to
        return UPPER if is_upper else LOWER

    def idle_ns(self, way: Way, flits: int) -> float:
        """Time of a message on idle routers, or at least that of its flits on its slowest link."""
        cycles = self._fabric.alone(way, flits) or self._fabric.least(way, flits)
        return cycles * self._fabric.cycle / ATTOSECONDS

    def plain_ns(self, way: Way, size_bytes: int) -> float:
        """Time of a message by ``congestion_unaware``: latencies, and bytes over the bandwidth."""
        links = list(way.links)
        rate = float(self._graph.bytes_per_ns[links].min())
        return float(self._graph.latency_ns[links].sum()) + size_bytes / rate

    def name_of(self, link: int) -> str:
        """A link in words."""
        begin, end = int(self._ends[0][link]), int(self._ends[1][link])
        return f"the link from node {begin} to {end}"


def _refuse_circles(line: JoinedLine) -> None:
    """Refuse a line whose links can wait for each other in a circle.

    Raises:
        ConfigError: They can; names the nodes.
    """
    after: dict[tuple[int, int], set[tuple[int, int]]] = {}
    for source, target in permutations(range(line.npus), 2):
        links = line.way(source, target)[0].tolist()
        steps = [(int(line.ends[0][link]), link) for link in links]
        for step, following in pairwise(steps):
            after.setdefault(step, set()).add(following)
    circle = circle_of(after)
    if circle:
        rule = "must have routes whose links cannot wait for each other in a circle where flits "
        rule += "are followed"
        raise ConfigError("platform", rule, got=told([node for node, _ in circle]))

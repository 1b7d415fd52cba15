"""Routers of the dimensions of a machine.

Every NPU and every switch of a machine's dimensions is a router. An NPU has an own way into its
router for each link that begins there, as fast as that, and one out of it for each link that ends
there, so that a link is shared by messages only where they meet on it.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simcore.errors import ConfigError
from simcore.flits.case import Case
from simcore.flits.live import ATTOSECONDS, Way
from simcore.flits.settings import MOST_FLITS, FlitNetwork
from simcore.flits.topologies.wires import MOST_ROUTERS, Wires
from simcore.kernels.flits.allocation import ISLIP
from simcore.kernels.flits.network import CYCLE, CYCLE_BITS, How, Links
from simcore.kernels.flits.routes.rule import PART_BITS, TOLD, Rule

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

STAGES = 4
"""Cycles of a router: route, channel, switch, crossbar."""
_HEAD_CYCLES = 2
"""Stages that only heads need: route and channel."""
_INTO_CYCLES = 2
"""Cycles from a node to its router."""
_OUT_CYCLES = 3
"""Cycles from the switch of the last router through the crossbar to a node."""
_LONGEST_CYCLES = 1 << 20


class Fabric:
    """Routers of a graph of links that lead one way each.

    Args:
        settings: Of the network.
        ends: (L,) node at which each link begins, and (L,) at which it ends; NPUs come first.
        bytes_per_ns: (L,) of each link.
        latency_ns: (L,) of each link.

    Attributes:
        case: The network.
        cycle: Attoseconds of a cycle.

    Raises:
        ConfigError: The network is too large, or its links are too slow or too long.
    """

    def __init__(
        self,
        settings: FlitNetwork,
        ends: tuple[Ints, Ints],
        bytes_per_ns: Floats,
        latency_ns: Floats,
        is_halved: bool,
    ) -> None:
        self._size = settings.packet_flits
        cycle_ns = float(settings.flit_bytes) / float(bytes_per_ns.max())
        self.cycle = max(1, round(cycle_ns * ATTOSECONDS))
        self._slowness = np.rint(bytes_per_ns.max() / bytes_per_ns * CYCLE).astype(np.int64)
        whole = -(-self._slowness // CYCLE)
        self._cycles = np.maximum(np.rint(latency_ns / cycle_ns), 1).astype(np.int64) + whole - 1
        self._begin, self._end = ends
        routers = 1 + int(max(ends[0].max(), ends[1].max()))
        if routers > MOST_ROUTERS or int(self._cycles.max()) > _LONGEST_CYCLES:
            rule = f"must have at most {MOST_ROUTERS:,} NPUs and switches, and links of at most "
            rule += f"{_LONGEST_CYCLES:,} cycles, where flits are followed"
            raise ConfigError("platform", rule, got=f"{routers}, {int(self._cycles.max())} cycles")
        # a slot comes back after both ways of the link and the stages that free it
        back = 2 * int(self._cycles.max()) + 2 * STAGES
        depth = settings.buffer_flits or min(back, MOST_FLITS)
        each = settings.channels // 2 if is_halved else settings.channels
        # a packet is gone from its channel before the next but one may come into it
        self._knows_alone = depth >= back and each >= 2 and self._size >= STAGES
        self.case = self._case(settings, routers, depth)

    def _case(self, settings: FlitNetwork, routers: int, depth: int) -> Case:
        wires = Wires(routers=routers)
        # the links of a router come first, then its nodes
        outputs, inputs = _order(self._begin), _order(self._end)
        self._output = outputs
        out, into = (np.bincount(side, minlength=routers) for side in (self._begin, self._end))
        first = int(max(out.max(), into.max()))
        rows = zip(self._begin, outputs, self._end, inputs, self._cycles, strict=True)
        wires.ends = [(int(a), int(b), int(c), int(d), int(e)) for a, b, c, d, e in rows]
        wires.slowness = self._slowness.tolist()
        wires.nodes = [
            (int(a), first + int(b), int(c), first + int(d))
            for a, b, c, d in zip(self._begin, outputs, self._end, inputs, strict=True)
        ]
        wires.node_slowness = wires.slowness
        how = How(
            channels=settings.channels, depth=depth, size=self._size, routing=1, crossing=1,
            channel_cycles=1, switch_cycles=1, guesses=False, holds=False, tail_credit=False,
            input_ports=1, output_ports=1, channel_kind=ISLIP, switch_kind=ISLIP, iterations=1,
        )  # fmt: skip
        return case_of(wires, how)

    def way(self, links: Sequence[int], parts: Sequence[int]) -> Way:
        """The way of a message over *links*, in *parts* of their channels."""
        entries = tuple(
            (int(self._begin[link]), links[-1], (int(self._output[link]) << PART_BITS) + part)
            for link, part in zip(links, parts, strict=True)
        )
        slow = {int(self._slowness[link]) for link in links}
        head = _INTO_CYCLES + STAGES * len(links) + int(self._cycles[list(links)].sum())
        # behind each other on slow links, packets take the same channel, where heads wait for tails
        is_known = slow == {CYCLE} or (len(links) == 1 and self._hides_heads(min(slow)))
        only = slow.pop() if is_known else 0
        return Way(links[0], links[-1], tuple(links), entries, head, only)

    def _hides_heads(self, slowness: int) -> bool:
        """True if a link is so slow that what a head waits for is over before its turn comes.

        Where the flits of a packet leave a part of that time only, it counts in some packets and
        not in others, as fractions of cycles fall.
        """
        return self._size * (slowness - CYCLE) >= _HEAD_CYCLES * CYCLE

    def alone(self, way: Way, flits: int) -> int | None:
        """Cycles of a message that meets no other one; None where no formula tells them.

        Flits follow each other as the links carry them. A head waits for its route and its channel
        at every router, which the flits behind it catch up with where the links leave them time.
        """
        if not self._knows_alone or not way.slowness:
            return None
        last = flits - 1
        head = last // self._size * self._size
        spread = (last * way.slowness >> CYCLE_BITS) + (_HEAD_CYCLES if head == last else 0)
        behind = (head * way.slowness >> CYCLE_BITS) + _HEAD_CYCLES + last - head
        return way.head_cycles + max(spread, behind) + _OUT_CYCLES

    def least(self, way: Way, flits: int) -> int:
        """Cycles that a message takes at least: its way, and its flits on the slowest link."""
        slowest = int(self._slowness[list(way.links)].max())
        rest = _HEAD_CYCLES + _OUT_CYCLES
        return way.head_cycles + ((flits - 1) * slowest >> CYCLE_BITS) + rest


def case_of(wires: Wires, how: How, links: Links | None = None) -> Case:
    """A network of messages that are told one by one, on ways that are told with them."""
    table = np.zeros((wires.routers, len(wires.nodes)), np.int64)
    rule = Rule(TOLD, wires.side, 1, how.channels, 0, 0, table)
    return Case(
        links=links or wires.links(), rule=rule, how=how, base=0, digits=0, traffic="", unit=1,
        bursts=None, batch=0, most_out=0, warmup=1, period=1, samples=1,
    )  # fmt: skip


def _order(nodes: Ints) -> Ints:
    """(L,) place of each link among those of its node."""
    order = np.argsort(nodes, kind="stable")
    first = np.searchsorted(nodes[order], nodes[order])
    found = np.empty(len(nodes), np.int64)
    found[order] = np.arange(len(nodes)) - first
    return found

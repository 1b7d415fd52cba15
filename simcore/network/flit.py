"""Messages cut into flits on routers with virtual channels, alone or inside another network."""

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from simcore.errors import ConfigError
from simcore.network.base import Arrival, ExternalNetwork, NetworkAccount, NetworkDimension
from simcore.network.flow import Flow
from simcore.network.idle import Idle
from simcore.network.packet import Packet

if TYPE_CHECKING:
    from simcore.flits.live import Ended, Way
    from simcore.flits.settings import FlitNetwork
    from simcore.packets.fabric import PacketNetwork

OUTSIDE: dict[str, type[ExternalNetwork]] = {
    "congestion_unaware": Idle,
    "flow": Flow,
    "packet": Packet,
}
"""Models of the dimensions around those of flits."""
_ROUNDED_NS = 2
"""Times of messages begin and end with whole ns and cycles."""
_TOLD_LINKS = 3


class _Leg(NamedTuple):
    """A message on its way through routers, to NPU ``at``, and then to ``target``."""

    message: int
    way: "Way"
    start_ns: int
    at: int
    target: int
    size_bytes: int


class Flit(ExternalNetwork):
    """A message is a train of packets of flits; it has arrived when its last flit has.

    It goes dimension by dimension, dimension 0 first, on one way, flit behind flit. Where only the
    innermost dimensions are followed flit by flit, a message that also goes through others does so
    when all of it has arrived there.

    Args:
        dimensions: Of the network, innermost first.
        settings: Of routers and packets, and which dimensions have them.
        packets: Settings of packets around them.

    Raises:
        ConfigError: The network cannot be run with these settings.
    """

    stops_at_arrivals = True

    def __init__(
        self,
        dimensions: Sequence[NetworkDimension],
        settings: "FlitNetwork | None" = None,
        packets: "PacketNetwork | None" = None,
    ) -> None:
        # Imported where used: every run reads this file, few need the compiler behind flits.
        from simcore.flits.settings import FlitNetwork
        from simcore.network.flit_ways import FlitWays

        super().__init__(dimensions)
        settings = settings or FlitNetwork()
        count = settings.dimensions or len(dimensions)
        if count > len(dimensions):
            rule = f"must be at most {len(dimensions)}, the dimensions of the network"
            raise ConfigError("routers.dimensions", rule, got=count)
        if settings.outside not in OUTSIDE:
            rule = f"must be one of {', '.join(OUTSIDE)}"
            raise ConfigError("routers.outside", rule, got=settings.outside)
        self._inside = prod(one.npus for one in dimensions[:count])
        self._ways = FlitWays(dimensions, count, settings)
        self._flits = self._ways.network()
        self._flit_bytes = int(settings.flit_bytes)
        if packets is not None and packets.from_dimension > count:
            rule = f"must be at most {count}, the dimensions that go flit by flit"
            raise ConfigError("network.from_dimension", rule, got=packets.from_dimension)
        self._outer: ExternalNetwork | None = None
        if count < len(dimensions):
            kind = OUTSIDE[settings.outside]
            self._outer = Packet(dimensions, packets) if kind is Packet else kind(dimensions)
        self._message: dict[int, _Leg] = {}
        self._arrived: list[Arrival] = []
        self._took_ns, self._plain_ns = 0, 0.0
        self._count, self._late, self._late_ns = 0, 0, dict[int, float]()

    def send(self, now_ns: int, message: int, src: int, dst: int, size_bytes: int) -> None:
        group = src // self._inside
        there = group * self._inside + dst % self._inside
        if src == there:
            self._send_on(now_ns, message, src, dst, size_bytes)
            return
        way = self._ways.of(src, there)
        number = self._flits.begin(now_ns, way, self._flits_of(size_bytes))
        self._message[number] = _Leg(message, way, now_ns, there, dst, size_bytes)

    def _send_on(self, now_ns: int, message: int, src: int, dst: int, size_bytes: int) -> None:
        """Send a message through the dimensions around those of flits, if it must go there."""
        if src == dst:
            self._arrived.append(Arrival(time_ns=now_ns, message=message))
        else:
            assert self._outer is not None
            self._outer.send(now_ns, message, src, dst, size_bytes)

    def next_event_ns(self) -> int | None:
        if self._arrived:
            return self._arrived[0].time_ns
        outer_ns = None if self._outer is None else self._outer.next_event_ns()
        inner_ns = self._flits.next_event_ns()
        return min((ns for ns in (outer_ns, inner_ns) if ns is not None), default=None)

    def advance(self, until_ns: int) -> list[Arrival]:
        due_ns = self.next_event_ns()
        while due_ns is not None and due_ns <= until_ns:
            due_ns = self._go_on(until_ns)
            if self._arrived:
                until_ns = self._arrived[0].time_ns
        found, self._arrived = self._arrived, []
        return found

    def _go_on(self, until_ns: int) -> int | None:
        """Go on to the first ns in which a message gets through a part; when the next may be."""
        outer_ns = None if self._outer is None else self._outer.next_event_ns()
        limit_ns = until_ns if outer_ns is None else min(outer_ns, until_ns)
        ended = self._flits.advance(limit_ns)
        for one in ended:
            leg = self._message.pop(one.number)
            self._note(one, leg.start_ns, leg.way, leg.size_bytes)
            self._send_on(one.finish_ns, leg.message, leg.at, leg.target, leg.size_bytes)
        now_ns = ended[0].finish_ns if ended else limit_ns
        if self._outer is not None:
            outer_ns = self._outer.next_event_ns()
            if outer_ns is not None and outer_ns <= now_ns:
                self._arrived.extend(self._outer.advance(outer_ns))
        if self._arrived:
            outer_ns = None if self._outer is None else self._outer.next_event_ns()
            inner_ns = self._flits.next_event_ns()
            return min((ns for ns in (outer_ns, inner_ns) if ns is not None), default=None)
        return self.next_event_ns()

    def _note(self, one: "Ended", start_ns: int, way: "Way", size_bytes: int) -> None:
        """Add a message to what is told of the run."""
        self._count += 1
        took_ns = one.finish_ns - start_ns
        late_ns = took_ns - self._ways.idle_ns(way, self._flits_of(size_bytes))
        self._took_ns += took_ns
        self._plain_ns += self._ways.plain_ns(way, size_bytes)
        if late_ns < _ROUNDED_NS:
            return
        self._late += 1
        for link in way.links:
            self._late_ns[link] = self._late_ns.get(link, 0.0) + late_ns

    def account(self) -> NetworkAccount:
        """Notes on how much longer messages took than without others and routers, and where."""
        if not self._took_ns:
            return NetworkAccount()
        more = self._took_ns / self._plain_ns - 1 if self._plain_ns else 0.0
        told = f"flit by flit, messages took {more:+.1%} against congestion_unaware"
        if not self._late:
            return NetworkAccount(notes=(f"{told}; no two of them shared a link",))
        worst = sorted(self._late_ns, key=lambda link: (-self._late_ns[link], link))[:_TOLD_LINKS]
        where = ", ".join(
            f"{self._ways.name_of(link)} ({self._late_ns[link]:,.0f} ns)" for link in worst
        )
        waited = f"{self._late} of {self._count} waited for others on links, most on {where}"
        return NetworkAccount(notes=(f"{told}; {waited}",))

    def _flits_of(self, size_bytes: int) -> int:
        return max(1, -(-size_bytes // self._flit_bytes))

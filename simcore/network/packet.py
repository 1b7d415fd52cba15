"""Messages cut into packets that queue in switches: RDMA on the graph of the machine."""

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from simcore.errors import ConfigError
from simcore.network.base import Arrival, ExternalNetwork, NetworkAccount, NetworkDimension

if TYPE_CHECKING:
    from simcore.packets.fabric import PacketNetwork
    from simcore.packets.live import LivePackets
    from simcore.packets.steady import Steady


_KEYS = {
    "params.credit_bytes": "network.buffer",
    "params.routing": "network.routing",
    "params.lane_weights": "network.lanes",
    "params.cnp_interval_ns": "network.notification",
    "link_changes": "network.link_changes",
}
"""Keys of a run file, by those of the packet engine."""


class Packet(ExternalNetwork):
    """A message is a flow of packets of its own; it has arrived when its last byte has.

    It goes dimension by dimension, dimension 0 first, and through a network of any form by the
    network's own routing, or by choices of the switches; each link stores every packet and sends it
    on. NPUs that pass packets on do so before they send their own. A message of 0 bytes is a packet
    of one.

    Args:
        dimensions: Of the network, innermost first.
        settings: Transport, congestion control, buffers and so on; those by default unless given.

    Raises:
        ConfigError: The network cannot be run with these settings.
    """

    may_lose = True
    stops_at_arrivals = True

    def __init__(
        self, dimensions: Sequence[NetworkDimension], settings: "PacketNetwork | None" = None
    ) -> None:
        # Imported where used: every run reads this file, few need the compiler behind packets.
        from simcore.graphs.stack import StackedGraph
        from simcore.network.lines import lines_of
        from simcore.packets.fabric import PacketNetwork
        from simcore.packets.sample import Sample
        from simcore.packets.wires import wires_of

        super().__init__(dimensions)
        settings = settings or PacketNetwork()
        npus = prod(one.npus for one in dimensions)
        lines = lines_of(dimensions)
        if any(line.halves for line in lines):
            rule = "must have cables that carry both directions at once where packets are followed"
            raise ConfigError("platform.network", rule, got="half-duplex cables")
        self._graph = StackedGraph(lines)
        links = self._graph.bytes_per_ns, self._graph.latency_ns
        self._wires = wires_of(self._graph.ends(), *links, npus, settings.switch_buffer_bytes)
        self._settings, self._steady = settings, self._leaps(settings)
        self._packets = self._live(settings, self._steady)
        self._sample = None if settings.is_exact else Sample(int(settings.mtu_bytes))
        if settings.routing != "network":
            self._check_reach(npus, settings.routing)
        self._message: dict[int, int] = {}
        if settings.from_dimension:
            self.npus_inside = prod(one.npus for one in dimensions[: settings.from_dimension])
        self._own: list[Arrival] = []  # messages of NPUs to themselves

    def _leaps(self, settings: "PacketNetwork") -> "Steady | None":
        if not settings.steady:
            return None
        from simcore.packets.steady import Steady

        payload = int(settings.mtu_bytes)
        slowest = min(wire[2] for wire in self._wires.topology.links)
        return Steady(payload, max(1, 8 * 10**9 * payload // slowest))

    def _live(self, settings: "PacketNetwork", steady: "Steady | None" = None) -> "LivePackets":
        """The packets of a run, before the first.

        Raises:
            ConfigError: With the key of the settings at fault.
        """
        from simcore.packets.live import LivePackets

        topology, told = self._wires.topology, settings.routing == "network"
        parameters = settings.parameters(wire[2] for wire in topology.links)
        try:
            packets = LivePackets(
                topology.with_ways_told(told).with_changes(settings.changes()),
                parameters,
                settings.seed,
                way=self._way if told else None,
                ends_at_receiver=True,
                short_cut=steady or settings.fold,
            )
        except ConfigError as error:
            place = _KEYS.get(error.at, "network")
            raise ConfigError(place, error.rule, got=error.got) from None
        free_bytes = packets.least_free_buffer_bytes
        if settings.transport == "roce" and free_bytes <= 0:
            rule = f"must be more than {topology.buffer_bytes - free_bytes} bytes: pauses need them"
            raise ConfigError("network.buffer", rule, got=topology.buffer_bytes)
        return packets

    def _way(self, source: int, target: int) -> Sequence[int]:
        links, parts = self._graph.way(source, target)
        if (parts != 1.0).any():
            rule = "must be spray or adaptive where the network's own routing cuts messages"
            raise ConfigError("network.routing", rule, got="network")
        return [int(port) for port in self._wires.port[links]]

    def _check_reach(self, npus: int, routing: str) -> None:
        hosts = self._packets.hosts[:npus].tolist()
        for host in hosts[1:]:
            if not self._packets.reaches(hosts[0], host):
                rule = "must be network where NPUs pass on messages of others"
                raise ConfigError("network.routing", rule, got=routing)

    def account(self) -> NetworkAccount:
        """Traffic, pauses, marks, queues and collisions of a run; what short cuts were off by."""
        from simcore.packets.views.circles import circle_told

        report, folded = self._packets.report(), self._packets.folded
        figures, notes = report.figures(), list[str]()
        if folded.flows:
            figures["messages_folded"] = float(folded.flows)
            notes.append(
                f"alike parts of the network were simulated once, one for up to {folded.parts}: "
                f"{folded.flows:,} of {folded.told:,} messages took the times of others"
            )
        if self._steady is not None:
            figures["packets"] += self._steady.leapt_packets
            figures["packets_leapt_over"] = float(self._steady.leapt_packets)
        if report.queue_at is not None:
            switch, peer = report.queue_at
            notes.append(
                f"the largest queue of the network was {report.queue_bytes:,} bytes, in switch "
                f"{switch} towards {self._named(peer)}"
            )
        if (circle := self._packets.circle()) is not None:
            what = "credits" if self._settings.transport == "infiniband" else "pauses"
            notes.append(circle_told(circle, what))
        if self._sample is not None:
            error = self._sample.error(self._live(self._settings.exact()))
            short = "no message came" if error is None else str(error)
            notes.append(f"packets were not followed one by one ({self._cuts()}): {short}")
            if error is not None:
                figures |= {"sampled_messages": float(error.messages)}
                figures |= {"sample_error": error.mean, "sample_error_most": error.most}
        return NetworkAccount(figures=figures, notes=tuple(notes))

    def _named(self, node: int) -> str:
        npus = prod(one.npus for one in self.dimensions)
        return f"NPU {node}" if node < npus else f"switch {node}"

    def _cuts(self) -> str:
        settings = self._settings
        train = [f"train: {settings.train}"] if settings.train > 1 else []
        return ", ".join([*train, *(["steady: true"] if settings.steady else [])])

    def send(self, now_ns: int, message: int, src: int, dst: int, size_bytes: int) -> None:
        if src == dst:
            self._own.append(Arrival(time_ns=now_ns, message=message))
            return
        size = max(1, size_bytes)
        if self._sample is not None:
            self._sample.begin(now_ns, src, dst, size)
        self._message[self._packets.begin(now_ns, src, dst, size)] = message

    def next_event_ns(self) -> int | None:
        return self._own[0].time_ns if self._own else self._packets.next_event_ns()

    def advance(self, until_ns: int) -> list[Arrival]:
        if self._own:
            arrived, self._own = self._own, []
            return arrived
        ended = self._packets.advance(until_ns)
        if self._sample is not None:
            for flow in ended:
                self._sample.end(flow.number, flow.finish_ns)
        return [
            Arrival(time_ns=flow.finish_ns, message=self._message.pop(flow.number))
            for flow in ended
        ]

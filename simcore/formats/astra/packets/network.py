"""The network of a run of ASTRA-sim on its packet simulator."""

from collections.abc import Sequence
from math import prod

from simcore.errors import ConfigError
from simcore.network import Arrival, ExternalNetwork, NetworkDimension
from simcore.packets.case import Topology
from simcore.packets.live import LivePackets
from simcore.packets.parameters import Parameters


class Packets(ExternalNetwork):
    """A message is a flow of its own; both ends learn of its end when its last ACK has come.

    Args:
        dimensions: Logical ones; NPU i is host i.
        topology: Hosts, switches, links.
        parameters: Of the packet simulation.
        seed: Of its random numbers.
        fold: Simulate alike parts of it once.

    Raises:
        ConfigError: There are fewer hosts than NPUs, or two of them cannot reach each other.
    """

    may_lose = True
    stops_at_arrivals = True
    counts_bytes = True

    def __init__(
        self,
        dimensions: Sequence[NetworkDimension],
        topology: Topology,
        parameters: Parameters,
        seed: int,
        fold: bool,
    ) -> None:
        super().__init__(dimensions)
        self._packets = LivePackets(topology, parameters, seed, short_cut=fold)
        self._message: dict[int, int] = {}
        self._ended: list[list[int]] = []
        npus = prod(one.npus for one in dimensions)
        hosts = self._packets.hosts[:npus].tolist()
        if hosts != list(range(npus)):
            rule = f"must have hosts with links as nodes 0 to {npus - 1}, one for each NPU"
            raise ConfigError("physical topology", rule, got=len(hosts))
        for host in range(1, npus):
            if not self._packets.reaches(0, host) or not self._packets.reaches(host, 0):
                rule = "must join all NPUs over switches"
                raise ConfigError("physical topology", rule, got=f"no path from 0 to {host}")

    def told(self) -> dict[str, object]:
        """Flows, pauses and drops of a run, after it, and how many flows were not simulated."""
        return {
            "flows": self._ended,
            "pfc_pauses": self._packets.pauses,
            "drops": self._packets.drops,
            "flows_folded": self._packets.folded.flows,
        }

    def waiting(self) -> list[str]:
        """One sentence for each flow that never ends, after the run."""
        return self._packets.waiting()

    def send(self, now_ns: int, message: int, src: int, dst: int, size_bytes: int) -> None:
        self._message[self._packets.begin(now_ns, src, dst, size_bytes)] = message

    def next_event_ns(self) -> int | None:
        return self._packets.next_event_ns()

    def advance(self, until_ns: int) -> list[Arrival]:
        ended = self._packets.advance(until_ns)
        self._ended.extend(self._packets.row(flow.number) for flow in ended)
        return [
            Arrival(time_ns=flow.finish_ns, message=self._message.pop(flow.number))
            for flow in ended
        ]

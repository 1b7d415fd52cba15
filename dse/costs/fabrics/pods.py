"""Clos networks that are full inside pods or zones, and thinner between them.

Sources: A. Gangidi et al., "RDMA over Ethernet for Distributed AI Training at Meta Scale", SIGCOMM
2024 (pods without oversubscription, 1:7 above them); DeepSeek, "Fire-Flyer AI-HPC", SC 2024 (zones
of two-tier trees, two switches that join them).
"""

from pydantic import Field

from dse.costs.fabrics.base import Fabric, FabricCounts, refuse, up
from dse.costs.fabrics.clos import ports_up, two_tiers


class Clos3Oversubscribed(Fabric):
    """Pods of racks with a switch each, and cores that carry a part of what the pods could send.

    A spine's ports go down and up as the oversubscription says.

    Attributes:
        pods: Equal pods.
        gpus_per_pod: Endpoints of one pod.
        gpus_per_rack: Endpoints of a rack switch, which has as many ports up.
        top_oversubscription: Bandwidth inside the pods over that between them.
        radix: Ports of every switch.
    """

    pods: int = Field(ge=1)
    gpus_per_pod: int = Field(ge=1)
    gpus_per_rack: int = Field(ge=1)
    top_oversubscription: float = Field(default=1.0, ge=1)
    radix: int = Field(ge=2)

    def counts(self) -> FabricCounts:
        racks, rest = divmod(self.gpus_per_pod, self.gpus_per_rack)
        if rest:
            reason = f"{self.gpus_per_pod} endpoints are no whole racks of {self.gpus_per_rack}"
            raise refuse("gpus_per_rack", reason)
        if 2 * self.gpus_per_rack > self.radix:
            reason = f"{self.radix} ports are fewer than {self.gpus_per_rack} down and as many up"
            raise refuse("radix", reason)
        down = self.radix - ports_up(self.radix, self.top_oversubscription)
        spines, between = two_tiers(racks, down, self.gpus_per_rack)
        above = self.pods * up(between / self.top_oversubscription)
        return FabricCounts(
            endpoints=self.pods * self.gpus_per_pod,
            switches=(self.pods * racks, self.pods * spines, up(above / self.radix)),
            links_host=self.pods * self.gpus_per_pod,
            links=(self.pods * between, above),
        )


class Clos2Zones(Fabric):
    """Zones of leaves and spines, and switches that join the zones.

    Attributes:
        zones: Equal zones.
        leaf, spine: Switches of one zone.
        radix: Ports of every switch.
        ports_per_zone: Endpoints of one zone; None: half of the leaves' ports.
        joining: Switches between zones; links to them are not counted, being told nowhere.
    """

    zones: int = Field(ge=1)
    leaf: int = Field(ge=1)
    spine: int = Field(ge=1)
    radix: int = Field(ge=2)
    ports_per_zone: int | None = Field(default=None, ge=1)
    joining: int = Field(default=2, ge=0)

    def counts(self) -> FabricCounts:
        ports = self.leaf * self.radix
        endpoints = self.ports_per_zone or ports // 2
        between = min(ports - endpoints, self.spine * self.radix)
        if between < self.leaf:
            reason = f"{self.leaf} leaves of {self.radix} ports do not reach a spine beside them"
            raise refuse("ports_per_zone", f"{endpoints} endpoints: {reason}")
        joining = self.joining if self.zones > 1 else 0
        return FabricCounts(
            endpoints=self.zones * endpoints,
            switches=(
                self.zones * self.leaf,
                self.zones * self.spine,
                *([joining] * bool(joining)),
            ),
            links_host=self.zones * endpoints,
            links=(self.zones * between,),
        )

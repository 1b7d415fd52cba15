"""Rails and planes: NPU n of every server on a leaf, or on a whole fabric, of its own.

Sources: NVIDIA DGX SuperPOD reference architecture RA-11333-001 (scalable units, nodes given up for
the fabric manager); W. Wang et al., "Rail-only", HOTI 2024 (arXiv 2307.12169); DeepSeek-AI, ISCA
2025 (arXiv 2505.09343), planes.
"""

from pydantic import Field

from dse.costs.fabrics.base import Fabric, FabricCounts, refuse, up
from dse.costs.fabrics.clos import clos, least_tiers, two_tiers


class _ScalableUnits(Fabric):
    """Servers in units; every rail has a leaf in every unit.

    Attributes:
        su: Units.
        nodes_per_su: Servers of a unit; at most half of the radix.
        rails: NPUs of a server that have a port, one per rail.
        nodes_removed: Servers given up in the last unit; their leaves and uplinks stay.
        ufm_ports: Ports of leaves that the fabric manager takes.
    """

    radix: int = Field(ge=2)
    su: int = Field(ge=1)
    nodes_per_su: int = Field(ge=1)
    rails: int = Field(ge=1)
    nodes_removed: int = Field(default=0, ge=0)
    ufm_ports: int = Field(default=0, ge=0)

    def _hosts(self) -> tuple[int, int]:
        """Endpoints, and links to them and to the fabric manager."""
        if self.nodes_per_su > self.radix // 2:
            reason = (
                f"half of {self.radix} ports cannot take the {self.nodes_per_su} servers of a unit"
            )
            raise refuse("nodes_per_su", reason)
        if self.nodes_removed >= self.su * self.nodes_per_su:
            raise refuse("nodes_removed", "no server is left")
        endpoints = (self.su * self.nodes_per_su - self.nodes_removed) * self.rails
        return endpoints, endpoints + self.ufm_ports


class Clos2Rail(_ScalableUnits):
    """A leaf per rail and unit below spines that all rails share."""

    def counts(self) -> FabricCounts:
        endpoints, links_host = self._hosts()
        leaves = self.su * self.rails
        spines, between = two_tiers(leaves, self.radix, self.radix // 2)
        return FabricCounts(
            endpoints=endpoints,
            switches=(leaves, spines),
            links_host=links_host,
            links=(between,),
        )


class Clos3Rail(_ScalableUnits):
    """A leaf per rail and unit, as many spines, half as many cores."""

    def counts(self) -> FabricCounts:
        endpoints, links_host = self._hosts()
        leaves = self.su * self.rails
        between = leaves * (self.radix // 2)
        return FabricCounts(
            endpoints=endpoints,
            switches=(leaves, leaves, up(leaves / 2)),
            links_host=links_host,
            links=(between, between),
        )


class Clos2Planes(Fabric):
    """Equal fabrics of two tiers, every endpoint on each; in scalable units or as one.

    Where the planes' ports are together as fast as the card, one cable carries a port of each
    plane, and cables are what is counted.
    """

    radix: int = Field(ge=2)
    planes: int = Field(ge=1)
    su: int | None = Field(default=None, ge=1)
    nodes_per_su: int | None = Field(default=None, ge=1)
    rails: int | None = Field(default=None, ge=1)
    nodes_removed: int = Field(default=0, ge=0)
    ufm_ports: int = Field(default=0, ge=0)
    endpoints: int | None = Field(default=None, ge=1)
    oversubscription: float = Field(default=1.0, ge=1)

    def counts(self) -> FabricCounts:
        return _on_planes(self._plane(), self.planes, _is_bundled(self))

    def _plane(self) -> FabricCounts:
        if self.su and self.nodes_per_su and self.rails:
            names = ("radix", "su", "nodes_per_su", "rails", "nodes_removed", "ufm_ports")
            return Clos2Rail(**{name: getattr(self, name) for name in names}).counts()
        endpoints = self.endpoints or self.radix * self.radix // 2
        return clos(endpoints, self.radix, 2, self.oversubscription)


class RailOnly(Fabric):
    """A fabric per rail, with as many tiers as its endpoints need, and nothing that joins rails.

    Attributes:
        endpoints: Of all rails together; ``gpus`` where every NPU has one.
        rails: Fabrics; ``domain`` where each NPU of a scale-up domain has its own.
        tiers: Those that the builder states.
    """

    radix: int = Field(ge=2)
    gpus: int | None = Field(default=None, ge=1)
    endpoints: int | None = Field(default=None, ge=1)
    rails: int | None = Field(default=None, ge=1)
    domain: int | None = Field(default=None, ge=1)
    tiers: int | None = Field(default=None, ge=1, le=3)

    def counts(self) -> FabricCounts:
        return self._rail().times(self._rails())

    def _rails(self) -> int:
        rails = self.rails or self.domain
        if rails is None:
            raise refuse("rails", "rails or domain must be told")
        return rails

    def _rail(self) -> FabricCounts:
        endpoints, rails = self.endpoints or self.gpus, self._rails()
        if endpoints is None:
            raise refuse("endpoints", "endpoints or gpus must be told")
        if endpoints % rails:
            raise refuse("rails", f"{endpoints} endpoints do not divide into {rails} rails")
        joined = endpoints // rails
        tiers = least_tiers(joined, self.radix)
        if self.tiers and tiers > self.tiers:
            reason = f"{joined} endpoints of a rail need {tiers} tiers, not {self.tiers}"
            raise refuse("tiers", reason)
        return clos(joined, self.radix, self.tiers or tiers)


class RailOnlyPlanes(RailOnly):
    """A rail's fabric several times, every endpoint on each."""

    planes: int = Field(ge=1)

    def counts(self) -> FabricCounts:
        plane = self._rail().times(self._rails())
        return _on_planes(plane, self.planes, _is_bundled(self))


def _is_bundled(fabric: Clos2Planes | RailOnlyPlanes) -> bool:
    """True if one cable carries a port of each plane."""
    if fabric.nic_gbps is None or fabric.port_gbps is None:
        return False
    return fabric.nic_gbps >= fabric.planes * fabric.port_gbps


def _on_planes(plane: FabricCounts, planes: int, bundled: bool) -> FabricCounts:
    """So many planes for the same endpoints; a *bundled* cable counts once."""
    every = plane.times(planes)
    cabled = plane if bundled else every
    return FabricCounts(
        endpoints=plane.endpoints,
        switches=every.switches,
        links_host=cabled.links_host,
        links=cabled.links,
    )

"""Scale-up domains of switch chips, and two leaves joined to each other.

Sources: NVIDIA, Fabric Manager user guide and DGX GB200 pages (18 chips in 9 trays, a link of each
GPU to each chip); NVIDIA DGX BasePOD reference architecture.
"""

from pydantic import Field

from dse.costs.fabrics.base import Fabric, FabricCounts, refuse


class NvlDomain(Fabric):
    """Racks that are each a scale-up domain: every GPU has links to every switch chip.

    Attributes:
        racks: Of one domain each, or all of one where tiers are 2.
        gpus_per_rack: NPUs of a rack.
        links_per_gpu: Ports of an NPU, spread evenly over the chips.
        switch_trays, chips_per_tray: Chips of a domain.
        tiers: 2 where a further tier of switches, with optics, joins the racks.
        tbps_per_gpu_one_way, module_tbps, ends: Where all links are optical: bandwidth of an NPU
            and of a module, Tb/s, and modules that a link takes.
    """

    racks: int = Field(ge=1)
    gpus_per_rack: int = Field(ge=1)
    links_per_gpu: int | None = Field(default=None, ge=1)
    switch_trays: int | None = Field(default=None, ge=1)
    chips_per_tray: int | None = Field(default=None, ge=1)
    compute_trays: int | None = Field(default=None, ge=1)
    link_gbps: float | None = Field(default=None, gt=0)
    tbps_per_gpu_one_way: float | None = Field(default=None, gt=0)
    module_tbps: float | None = Field(default=None, gt=0)
    ends: int = Field(default=2, ge=1, le=2)
    tiers: int = Field(default=1, ge=1, le=2)

    def counts(self) -> FabricCounts:
        gpus = self.racks * self.gpus_per_rack
        chips, links = self._chips(), gpus * (self.links_per_gpu or 0)
        modules = None
        if self.tbps_per_gpu_one_way and self.module_tbps:
            modules = round(gpus * self.tbps_per_gpu_one_way / self.module_tbps * self.ends)
        if self.tiers > 1 or not chips:  # what joins the racks is told nowhere
            return FabricCounts(endpoints=gpus, optical_ends=modules, is_counted=False)
        return FabricCounts(
            endpoints=gpus,
            switches=(self.racks * chips,),
            links_host=links,
            optical_ends=modules,
        )

    def _chips(self) -> int:
        if not (self.switch_trays and self.chips_per_tray and self.links_per_gpu):
            return 0
        chips = self.switch_trays * self.chips_per_tray
        if self.links_per_gpu % chips and chips % self.links_per_gpu:
            reason = f"{self.links_per_gpu} links of a GPU do not spread over {chips} chips"
            raise refuse("links_per_gpu", reason)
        return chips


class Clos1Pair(Fabric):
    """Two leaves that share each server's rails, joined by half as many links as endpoints."""

    nodes: int = Field(ge=1)
    rails: int = Field(ge=2)
    radix: int = Field(ge=2)
    switches: int = Field(default=2, ge=2, le=2)

    def counts(self) -> FabricCounts:
        endpoints = self.nodes * self.rails
        if endpoints > self.radix:
            reason = f"{endpoints} endpoints and half as many joining links take more than"
            raise refuse("radix", f"{reason} two switches of {self.radix} ports have")
        return FabricCounts(
            endpoints=endpoints, switches=(2,), links_host=endpoints, links=(endpoints // 2,)
        )

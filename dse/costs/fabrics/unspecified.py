"""Clusters of which nobody tells the network: their power alone.

Source: SemiAnalysis, "100,000 H100 Clusters", 2024: 700 W of the accelerator, 575 W for its share
of the host, and a tenth of both for storage, switches and management.
"""

from pydantic import Field

from dse.costs.fabrics.base import Fabric, FabricCounts, refuse


class Unspecified(Fabric):
    """Accelerators, and what each draws.

    Attributes:
        gpus: Accelerators.
        gpu_w: Power of one, W.
        host_w: Of its share of the server beside it, W.
        overhead: What draws power outside of servers, as a part of theirs.
    """

    gpus: int | None = Field(default=None, ge=1)
    gpu_w: float | None = Field(default=None, gt=0)
    host_w: float = Field(default=0.0, ge=0)
    overhead: float = Field(default=0.0, ge=0)

    def counts(self) -> FabricCounts:
        if self.gpus is None or self.gpu_w is None:
            reason = "neither a network nor power is told: gpus and gpu_w would give the power"
            raise refuse("topology", reason)
        return FabricCounts(endpoints=self.gpus, is_counted=False)

    @property
    def power_w(self) -> float:
        """Power of all servers and of what is beside them, W."""
        return (self.gpus or 0) * ((self.gpu_w or 0.0) + self.host_w) * (1 + self.overhead)

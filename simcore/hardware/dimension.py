"""One dimension of a multi-dimensional network."""

from pydantic import Field

from simcore.schema import BytesPerS, Schema, Seconds
from simcore.terms import TopologyKind


class Dimension(Schema):
    """One level of the network; every NPU has its links of this level to itself.

    Attributes:
        topology: Shape in which the NPUs of this level are joined.
        npus: NPUs joined, at least 2.
        bandwidth_bytes_per_s: Of all links of one NPU in this dimension together, one direction.
        latency_s: Of one hop, whatever the size sent.
    """

    topology: TopologyKind
    npus: int = Field(ge=2)
    bandwidth_bytes_per_s: BytesPerS = Field(alias="bandwidth", gt=0)
    latency_s: Seconds = Field(alias="latency", ge=0)

    @property
    def links_per_npu(self) -> int:
        """Links of one NPU: 2 neighbours on a ring, all others if fully connected, 1 to a switch.

        A ring of two keeps its two links, which then run side by side.
        """
        if self.topology is TopologyKind.RING:
            return 2
        if self.topology is TopologyKind.FULLY_CONNECTED:
            return self.npus - 1
        return 1

    @property
    def link_bandwidth_bytes_per_s(self) -> float:
        """Of one link, one direction: what ASTRA-sim's network files call ``bandwidth``."""
        return float(self.bandwidth_bytes_per_s / self.links_per_npu)

"""One dimension of a multi-dimensional network."""

from sys import float_info
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from simcore.errors import ConfigError
from simcore.graphs.network_table import InNetwork, NetworkFile
from simcore.schema import BytesPerS, Schema, Seconds
from simcore.topologies import TOPOLOGIES, Topology, check_npus

_LEAST = float_info.min


MOST_NPUS = 2**24
"""NPUs of a dimension: far more than are built, few enough for steps of a ring to be counted."""


def _known(name: str) -> str:
    if name not in TOPOLOGIES:
        raise TOPOLOGIES.unknown(name)
    return name


TopologyName = Annotated[
    str, AfterValidator(_known), Field(description=f"one of {', '.join(TOPOLOGIES)}")
]
"""A name of the table of topologies."""


class Dimension(Schema):
    """One level of the network; every NPU has its links of this level to itself.

    Attributes:
        topology: Name of the shape in which the NPUs of this level are joined.
        npus: NPUs joined, at least 2 and at most ``MOST_NPUS``.
        bandwidth_bytes_per_s: Of all links of one NPU in this dimension together, one direction.
        efficiency: Part of the bandwidth that messages reach, in (0, 1]: headers and libraries take
            the rest. Prices, power and ports are those of the whole bandwidth.
        latency_s: Of one hop, whatever the size sent.
        oversubscription: Bandwidth into the top tier of the dimension's switches over bandwidth out
            of it. All that an NPU sends here is taken to cross that tier, and gets that part of
            its links' bandwidth.
        shares_ports: The dimension has no ports of its own at the NPUs, but is a further level of
            the switches of the dimension before. Prices and power count that; messages of the two
            dimensions do not slow each other down.
        rails: The switches join only NPUs at the same place of their scale-up domains: one plane
            per place, each with fewer endpoints. Prices and power count that.
        network: The network of which this is one level; None: it is a dimension of this shape.
            Where messages do not share links, a level is the dimension that it is like.
        level: Which of its levels, from the innermost.
        in_network: How far its switches add up what an all-reduce by ``in_network`` sends them;
            None: whatever comes, all members at one switch.
    """

    topology: TopologyName
    npus: int = Field(ge=2, le=MOST_NPUS)
    bandwidth_bytes_per_s: BytesPerS = Field(alias="bandwidth", gt=0)
    efficiency: float = Field(default=1.0, gt=0, le=1)
    latency_s: Seconds = Field(alias="latency", ge=0)
    oversubscription: float = Field(default=1.0, ge=1)
    shares_ports: bool = False
    rails: bool = False
    network: NetworkFile | None = None
    level: int = Field(default=0, ge=0)
    in_network: InNetwork | None = None

    @model_validator(mode="after")
    def _fits_shape(self) -> Self:
        if not self.shape.has_switches and self.oversubscription > 1:
            rule = f"must be 1 where no switches are ({self.topology})"
            raise ConfigError("oversubscription", rule, got=self.oversubscription)
        if not self.shape.has_switches and self.in_network is not None and self.network is None:
            rule = "must be left out where no switches are"
            raise ConfigError("in_network", rule, got=self.topology)
        check_npus(self.shape, self.topology, self.npus)
        return self

    @property
    def shape(self) -> Topology:
        """The topology: its links, routes and distances."""
        return TOPOLOGIES[self.topology]

    @property
    def takes_schedules(self) -> bool:
        """True if schedules can be synthesised for it: it is of a network with all links up."""
        return self.network is not None and self.network.circuits is None

    @property
    def links_per_npu(self) -> int:
        """Links of one NPU in this dimension."""
        return self.shape.links_per_npu(self.npus)

    @property
    def usable_bandwidth_bytes_per_s(self) -> float:
        """Bandwidth of an NPU for messages: what they reach, by a tier's oversubscription."""
        usable = self.efficiency * self.bandwidth_bytes_per_s / self.oversubscription
        return usable if usable > _LEAST else _LEAST  # above 0, also where the quotient underflows

    @property
    def port_bandwidth_bytes_per_s(self) -> float:
        """Bandwidth at which messages can leave an NPU where those that meet share links.

        Of a network that is over all ports of the NPU: the bandwidth of a level is that of its
        slowest way while all NPUs send to the next one, which other messages can exceed.
        """
        if self.network is None:
            return self.usable_bandwidth_bytes_per_s
        from simcore.flows.kept import kept_levels  # which few runs need

        return kept_levels(self.network)[self.level].port_bytes_per_s

    @property
    def link_bandwidth_bytes_per_s(self) -> float:
        """Bandwidth of one link one way: ``bandwidth`` in ASTRA-sim's network files."""
        return self.usable_bandwidth_bytes_per_s / self.links_per_npu

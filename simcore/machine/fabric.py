"""Measured latency and bandwidth of a kind of link, beside those of its data sheet."""

from pathlib import Path
from typing import Self

from pydantic import Field

from simcore.files.resources import find_config
from simcore.files.yaml_file import read_table
from simcore.machine.dimension import Dimension
from simcore.schema import Schema, Seconds


class Protocol(Schema):
    """One way in which a communication library moves data.

    Attributes:
        name: Such as ``simple``, or ``low_latency`` (flags beside the data in place of fences).
        efficiency: Part of the data sheet's bandwidth that large transfers reach, in (0, 1].
        latency_s: Of one step of a collective.
    """

    name: str = Field(min_length=1)
    efficiency: float = Field(gt=0, le=1)
    latency_s: Seconds = Field(alias="latency", ge=0)


class Fabric(Schema):
    """A kind of link with the libraries that use it.

    Attributes:
        name: Short name, as in ``configs/fabrics``.
        protocols: The library takes the fastest for each size; the last one is for bulk.
        in_network: How the switches reduce what passes them; None: they do not.
        in_network_from: Fewest NPUs for which the library lets the switches reduce.
        share_by_npus: Where NPUs have no common switch, or few of them cannot fill their links:
            part of the bandwidth above that so many NPUs reach; all of it for other numbers.
        start_s: Of the communication kernel, once per collective.
        source: Where the values come from, and how well they fit what was measured.
    """

    name: str = Field(min_length=1)
    protocols: tuple[Protocol, ...] = Field(min_length=1)
    in_network: Protocol | None = None
    in_network_from: int = Field(default=2, ge=2)
    share_by_npus: dict[int, float] = Field(default_factory=dict)
    start_s: Seconds = Field(default=0.0, alias="start", ge=0)
    source: str = Field(min_length=1)

    @classmethod
    def load(cls, name: str) -> Self:
        """The shipped fabric *name*.

        Raises:
            ConfigError: No such file, or a value in it breaks a rule.
        """
        return cls.read(find_config("fabrics", name, at="fabric"))

    @classmethod
    def read(cls, path: Path) -> Self:
        """The fabric in the file *path*."""
        return cls.from_file_data(read_table(path), at=str(path))

    @property
    def bulk(self) -> Protocol:
        """The protocol of large transfers."""
        return self.protocols[-1]

    def dimension(
        self,
        topology: str,
        npus: int,
        bandwidth_bytes_per_s: float,
        protocol: Protocol | None = None,
    ) -> Dimension:
        """A network dimension of such links, as *protocol* (else the bulk one) uses them.

        Args:
            topology: How the NPUs are joined.
            npus: How many.
            bandwidth_bytes_per_s: Data sheet's, of one NPU in this dimension, one direction.
            protocol: One of ``protocols``.
        """
        used = protocol or self.bulk
        return Dimension.build(
            "dimension",
            topology=topology,
            npus=npus,
            bandwidth_bytes_per_s=bandwidth_bytes_per_s,
            efficiency=self.efficiency(npus, used),
            latency_s=used.latency_s,
        )

    def efficiency(self, npus: int, protocol: Protocol | None = None) -> float:
        """Part of the data sheet's bandwidth that *npus* NPUs reach, by default in bulk."""
        return self.share_by_npus.get(npus, 1.0) * (protocol or self.bulk).efficiency

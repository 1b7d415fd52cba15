"""Runs of ASTRA-sim on Garnet; what is behind it is loaded where one is asked for."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from simcore.network import ExternalNetwork, NetworkDimension

if TYPE_CHECKING:
    from simcore.flits.garnet import GarnetNetwork

GARNET = "garnet"
"""Name of the backend, in commands and manifests."""


def read_dimensions(path: Path, notes: list[str]) -> tuple[NetworkDimension, ...]:
    """The dimensions of a network file, innermost first; their links are told elsewhere."""
    from simcore.formats.astra.garnet.files import read_garnet

    return dimensions_of(read_garnet(path, notes))


def dimensions_of(network: "GarnetNetwork") -> tuple[NetworkDimension, ...]:
    """Dimensions of more than one NPU, in the order of NPUs' numbers: local, columns, rows."""
    return tuple(
        NetworkDimension(topology="ring", npus=size, bytes_per_ns=1.0, latency_ns=0.0)
        for size in network.sizes
    )


def make_network(path: Path, dimensions: Sequence[NetworkDimension]) -> ExternalNetwork:
    """The network of a run.

    Raises:
        ConfigError: The file breaks a rule.
    """
    from simcore.formats.astra.garnet.files import read_garnet
    from simcore.formats.astra.garnet.network import GarnetMessages

    return GarnetMessages(dimensions, read_garnet(path, []))

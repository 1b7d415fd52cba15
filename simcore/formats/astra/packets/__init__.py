"""Runs of ASTRA-sim on its packet simulator; what is behind it is loaded where one is asked for."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from simcore.errors import ConfigError
from simcore.formats.astra.options import AstraFiles
from simcore.network import ExternalNetwork, NetworkDimension

if TYPE_CHECKING:
    from simcore.formats.astra.packets.network import Packets

PACKET = "packet"
"""Name of the backend, in commands and manifests."""


def is_front_end(files: AstraFiles, backend: str) -> bool:
    """True if a run has the files of ASTRA-sim's packet front-end, not those of its other ones."""
    told = files.physical_topology is not None or files.packet_config is not None
    return backend == PACKET and (told or files.network.suffix == ".json")


def read_logical(files: AstraFiles) -> tuple[NetworkDimension, ...]:
    """The logical dimensions of a run, innermost first.

    Raises:
        ConfigError: The file breaks a rule.
    """
    from simcore.formats.astra.packets.files import read_logical as read

    return read(files.network)


def make_network(
    files: AstraFiles, dimensions: Sequence[NetworkDimension], seed: int, fold: bool
) -> ExternalNetwork:
    """The network of a run.

    Args:
        files: Of the run.
        dimensions: Logical ones.
        seed: Of the random numbers.
        fold: Simulate alike parts of it once.

    Raises:
        ConfigError: A file is missing or breaks a rule.
    """
    from simcore.formats.astra.packets.files import (
        key_of,
        read_parameters,
        read_topology,
        topology_file,
    )
    from simcore.formats.astra.packets.network import Packets

    settings = _named(files.packet_config, "network-simulator-configuration")
    named = files.physical_topology or topology_file(settings)
    topology = _named(named, "physical-topology-configuration")
    parameters = read_parameters(settings)
    try:
        network = read_topology(topology, files.next_hops, parameters)
        return Packets(dimensions, network, parameters, seed, fold)
    except ConfigError as error:
        if error.at.startswith(str(topology)):
            raise
        place = f"{topology} {error.at}"
        if error.at.startswith("params."):
            place = f"{settings} {key_of(error.at.removeprefix('params.'))}"
        raise ConfigError(place, error.rule, got=error.got) from None


def packets_of(network: ExternalNetwork | None) -> "Packets | None":
    """The packet simulation of a run, if it has one."""
    if network is None:
        return None
    from simcore.formats.astra.packets.network import Packets

    return network if isinstance(network, Packets) else None


def _named(path: Path | None, option: str) -> Path:
    if path is None:
        rule = f"must name a file where the backend is {PACKET}"
        raise ConfigError(f"--{option}", rule, got=None)
    return path

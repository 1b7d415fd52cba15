"""Topologies of NPUs: one file per topology, and the table of their names."""

from simcore.registry import Registry, instance_of
from simcore.topologies.base import Topology, distances, npu_links
from simcore.topologies.checks import check_npus, check_routes, check_topology
from simcore.topologies.fully_connected import FullyConnected
from simcore.topologies.mesh import Mesh
from simcore.topologies.ring import Ring
from simcore.topologies.switch import Switch

TOPOLOGIES: Registry[Topology] = Registry(
    "topology",
    {
        "ring": Ring(),
        "fully_connected": FullyConnected(),
        "switch": Switch(),
        "mesh": Mesh(),
    },
    check=check_topology,
    adapt=instance_of(Topology),
)


__all__ = [
    "TOPOLOGIES",
    "Topology",
    "check_npus",
    "check_routes",
    "check_topology",
    "distances",
    "npu_links",
]

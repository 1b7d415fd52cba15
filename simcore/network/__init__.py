"""Times of messages: one class per model, and the table of their names."""

from simcore.network.base import (
    Arrival,
    ExternalNetwork,
    LinkNetwork,
    NetworkAccount,
    NetworkBackend,
    NetworkDimension,
    check_external,
)
from simcore.network.congestion_aware import CongestionAware, CongestionAwareMultidim
from simcore.network.congestion_unaware import CongestionUnaware
from simcore.network.flit import Flit
from simcore.network.flow import Flow
from simcore.network.on_circuits import OnCircuits, check_network, has_circuits, on_links
from simcore.network.packet import Packet
from simcore.registry import Registry, class_of

DEFAULT_BACKEND = "congestion_unaware"

BACKENDS: Registry[type[NetworkBackend]] = Registry(
    "backend",
    {
        DEFAULT_BACKEND: CongestionUnaware,
        "congestion_aware": CongestionAware,
        "congestion_aware_multidim": CongestionAwareMultidim,
        "flow": Flow,
        "packet": Packet,
        "flit": Flit,
    },
    check=check_external,
    adapt=class_of(ExternalNetwork),
)

__all__ = [
    "BACKENDS",
    "DEFAULT_BACKEND",
    "Arrival",
    "ExternalNetwork",
    "Flit",
    "Flow",
    "LinkNetwork",
    "NetworkAccount",
    "NetworkBackend",
    "NetworkDimension",
    "OnCircuits",
    "Packet",
    "check_network",
    "has_circuits",
    "on_links",
]

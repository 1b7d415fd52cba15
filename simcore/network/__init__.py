"""How long messages take: one class per model, and the table of their names."""

from simcore.network.base import Arrival, ExternalNetwork, NetworkBackend
from simcore.network.congestion_aware import CongestionAware, CongestionAwareMultidim
from simcore.network.congestion_unaware import CongestionUnaware
from simcore.registry import Registry

BACKENDS: Registry[NetworkBackend] = Registry(
    "backend",
    {
        "congestion_unaware": CongestionUnaware(),
        "congestion_aware": CongestionAware(),
        "congestion_aware_multidim": CongestionAwareMultidim(),
    },
)

DEFAULT_BACKEND = CongestionUnaware.name

__all__ = ["BACKENDS", "DEFAULT_BACKEND", "Arrival", "ExternalNetwork", "NetworkBackend"]

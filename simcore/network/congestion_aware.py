"""Messages that queue for links: on one dimension, or dimension by dimension."""

from collections.abc import Sequence

from simcore.errors import ConfigError
from simcore.kernels.events.layout import AWARE
from simcore.network.base import NetworkBackend


class CongestionAware(NetworkBackend):
    """Store and forward over the links of one dimension, one message at a time per link.

    Source: W. Won et al., "ASTRA-sim2.0: Modeling Hierarchical Networks and Disaggregated Systems
    for Large-model Training at Scale", ISPASS 2023 (analytical backend).
    """

    name = "congestion_aware"
    models = "first-come-first-served links, store and forward; one dimension"
    kernel_code = AWARE
    messages_meet = True

    def check(self, topologies: Sequence[str], npus: Sequence[int]) -> None:
        if len(topologies) != 1:
            rule = f"{self.name} takes one dimension (congestion_aware_multidim takes more)"
            raise ConfigError("dimensions", rule, got=[str(name) for name in topologies])


class CongestionAwareMultidim(NetworkBackend):
    """As congestion_aware, with dimension-ordered routing: dimension 0 first.

    Source: the ``congestion-multidim`` branch of ASTRA-sim's analytical network.
    """

    name = "congestion_aware_multidim"
    models = "first-come-first-served links, store and forward, dimension-ordered routing"
    kernel_code = AWARE
    messages_meet = True

    def check(self, topologies: Sequence[str], npus: Sequence[int]) -> None:
        """Every network can be represented."""

"""Messages that queue for links: on one dimension, or dimension by dimension."""

from collections.abc import Sequence

from simcore.errors import ConfigError
from simcore.kernels.events.layout import AWARE
from simcore.network.base import LinkRule, NetworkBackend, NetworkDimension


class CongestionAwareMultidim(NetworkBackend):
    """First-come-first-served links, store and forward, dimension 0 first.

    Source: the ``congestion-multidim`` branch of ASTRA-sim's analytical network.
    """

    kernel_code = AWARE
    link_rule = LinkRule.QUEUED
    has_bounds = takes_turns = True


class CongestionAware(CongestionAwareMultidim):
    """Congestion on the links of one dimension.

    Source: W. Won et al., "ASTRA-sim2.0: Modeling Hierarchical Networks and Disaggregated Systems
    for Large-model Training at Scale", ISPASS 2023 (analytical backend).
    """

    @classmethod
    def check(cls, dimensions: Sequence[NetworkDimension]) -> None:
        if len(dimensions) != 1:
            rule = "congestion_aware takes one dimension (congestion_aware_multidim takes more)"
            raise ConfigError("dimensions", rule, got=[str(one.topology) for one in dimensions])

"""Messages that never meet."""

from collections.abc import Sequence

from simcore.kernels.events.layout import UNAWARE
from simcore.network.base import NetworkBackend


class CongestionUnaware(NetworkBackend):
    """hops x latency + bytes / bandwidth, in the lowest dimension that sender and receiver differ.

    Source: W. Won et al., "ASTRA-sim2.0: Modeling Hierarchical Networks and Disaggregated Systems
    for Large-model Training at Scale", ISPASS 2023 (analytical backend).
    """

    name = "congestion_unaware"
    models = "latency per hop and bandwidth of one dimension; no queues"
    kernel_code = UNAWARE
    messages_meet = False

    def check(self, topologies: Sequence[str], npus: Sequence[int]) -> None:
        """Every network can be represented."""

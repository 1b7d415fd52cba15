"""Messages that never meet."""

from simcore.kernels.events.layout import UNAWARE
from simcore.network.base import NetworkBackend


class CongestionUnaware(NetworkBackend):
    """hops x latency + bytes / bandwidth, in the lowest dimension that sender and receiver differ.

    Source: W. Won et al., "ASTRA-sim2.0: Modeling Hierarchical Networks and Disaggregated Systems
    for Large-model Training at Scale", ISPASS 2023 (analytical backend).
    """

    kernel_code = UNAWARE
    messages_meet = False
    has_bounds = True

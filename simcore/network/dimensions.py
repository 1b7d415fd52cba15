"""The network of a machine as backends and engines take it."""

from collections.abc import Sequence

from simcore.machine import Dimension
from simcore.network.base import NetworkDimension


def engine_dimensions(dimensions: Sequence[Dimension]) -> tuple[NetworkDimension, ...]:
    """The network as the engine takes it: link bandwidths in B/ns."""
    return tuple(
        NetworkDimension(
            topology=dimension.topology,
            npus=dimension.npus,
            bytes_per_ns=dimension.link_bandwidth_bytes_per_s / 1e9,
            latency_ns=dimension.latency_s * 1e9,
            network=dimension.network,
            level=dimension.level,
            in_network=dimension.in_network,
        )
        for dimension in dimensions
    )

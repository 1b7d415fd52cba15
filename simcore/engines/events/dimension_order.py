"""In which order the chunks of a collective pass the dimensions of the machine.

Source: S. Rashidi et al., "Themis: A Network Bandwidth-Aware Collective Scheduling Policy for
Distributed Training of DL Models", ISCA 2022, algorithm 1 (offline greedy).
"""

from collections.abc import Sequence
from dataclasses import dataclass

POLICIES = ("ascending", "round_robin", "offline_greedy")
_THRESHOLD_PARTS = 16  # loads nearer than the time of this part of a chunk count as balanced


@dataclass(frozen=True, slots=True, kw_only=True)
class DimensionCost:
    """Cost of one dimension to a chunk that passes it.

    Attributes:
        members: NPUs that share the chunk there, at least 2.
        bytes_per_ns: What one member sends per time, over all links that its algorithm keeps busy.
        latency_ns: Of the steps that follow each other.
    """

    members: int
    bytes_per_ns: float
    latency_ns: float

    def scatter_ns(self, size_bytes: float) -> float:
        """Time to reduce-scatter *size_bytes* over an idle dimension."""
        sent_bytes = size_bytes * (self.members - 1) / self.members
        return self.latency_ns + sent_bytes / self.bytes_per_ns


def dimension_orders(
    policy: str, costs: Sequence[DimensionCost], chunk_bytes: int, chunks: int
) -> tuple[tuple[int, ...], ...]:
    """The order of the dimensions for chunk 0, 1, ...; the list is used again from its start.

    Reductions pass the dimensions in this order, gathers in the reverse one. All NPUs decide alike.

    Args:
        policy: One of ``POLICIES``.
        costs: Of each dimension that takes part, innermost first.
        chunk_bytes: Size of a chunk.
        chunks: How many there are at most.
    """
    ascending = tuple(range(len(costs)))
    if policy == "ascending" or len(costs) < 2:
        return (ascending,)
    if policy == "round_robin":
        return tuple(ascending[i:] + ascending[:i] for i in ascending)
    loads_ns = [0.0] * len(costs)
    orders = []
    for _ in range(chunks):
        least = min(ascending, key=lambda d: loads_ns[d])
        threshold_ns = costs[least].scatter_ns(chunk_bytes / _THRESHOLD_PARTS)
        order = ascending
        if max(loads_ns) - min(loads_ns) >= threshold_ns:
            order = tuple(sorted(ascending, key=lambda d: loads_ns[d]))
        size_bytes = float(chunk_bytes)
        for d in order:
            loads_ns[d] += costs[d].scatter_ns(size_bytes)
            size_bytes /= costs[d].members
        orders.append(order)
    return tuple(orders)

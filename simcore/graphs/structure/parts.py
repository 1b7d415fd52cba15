"""Parts of a network as they are bought: switches by tier with their ports, cables by kind."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from simcore.graphs.graph import Floats, Ints, NetworkGraph
from simcore.graphs.network_table import NetworkFile

NPU = "npu"
"""End of a cable that is no switch."""
CIRCUIT = "circuit"
"""End of a cable in an optical circuit switch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CableParts:
    """Cables of one kind and one speed between the same sorts of ends.

    Attributes:
        kind: Of the cables.
        count: How many.
        bytes_per_s: Of each, in one direction.
        ends: Tiers of both ends, the lower node first; ``NPU``; ``CIRCUIT``.
        joins: Most NPUs that cables of this kind, with the switches at their ends, join by
            themselves.
        consecutive: True if NPUs so joined have consecutive numbers, each as many as the others.
    """

    kind: str
    count: int
    bytes_per_s: float
    ends: tuple[str, str]
    joins: int
    consecutive: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchParts:
    """Switches of one tier with the same used ports.

    Attributes:
        tier: Their tier.
        count: How many.
        ports: Speed in bytes/s and number of ports of each speed.
        kinds: Kinds of the cables in them.
    """

    tier: str
    count: int
    ports: tuple[tuple[float, int], ...]
    kinds: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkParts:
    """Parts of one network.

    Attributes:
        npus: NPUs that it joins.
        cables: Cables by kind, speed and ends.
        switches: Switches by tier and ports.
        blocks: The first kinds of cables, one, two and so on of them, and how many NPUs they join
            by themselves; only where those have consecutive numbers, each block as many, and no
            switch has other cables as well.
    """

    npus: int
    cables: tuple[CableParts, ...]
    switches: tuple[SwitchParts, ...]
    blocks: tuple[tuple[frozenset[str], int], ...] = ()

    def closed_kinds(self, npus: int) -> frozenset[str]:
        """Kinds of cables, as many as there are, that together join blocks of at most *npus* NPUs.

        Of ``blocks``, which lead nowhere else; the cables of a torus do so dimension by dimension.
        """
        inside = [kinds for kinds, block in self.blocks if block <= npus]
        return max(inside, key=len, default=frozenset())


def parts_of(graph: NetworkGraph) -> NetworkParts:
    """Parts of *graph*."""
    a, b = graph.cable_ends()
    _, first = np.unique(graph.cable_of, return_index=True)
    rate = graph.bytes_per_s[first]
    tier = np.concatenate([np.full(graph.npus, -1), graph.tier_of])
    fixed, turning = np.ones(len(a), np.bool_), _no_ports(graph)
    if graph.circuits is not None:
        fixed = graph.circuits.of_link[first] < 0
        turning = graph.circuits.ports, _fastest(graph, a, b, np.where(fixed, 0.0, rate))
    switches = _switches(graph, (a, b), rate, fixed, turning)
    return NetworkParts(
        npus=graph.npus,
        cables=(*_cables(graph, (a, b), rate, tier, fixed), *_to_circuits(graph, tier, turning)),
        switches=switches,
        blocks=tuple(_blocks(graph, a, b, switches)),
    )


Ports: TypeAlias = tuple[Ints, Floats]
"""(nodes,) ports of each node that lead to a circuit switch, and (nodes,) bytes/s of each."""


def _no_ports(graph: NetworkGraph) -> Ports:
    return np.zeros(graph.nodes, np.int64), np.zeros(graph.nodes)


def _fastest(graph: NetworkGraph, a: Ints, b: Ints, rate: Floats) -> Floats:
    """(nodes,) rate of the fastest cable at each node."""
    found = np.zeros(graph.nodes)
    np.maximum.at(found, a, rate)
    np.maximum.at(found, b, rate)
    return found


def _to_circuits(graph: NetworkGraph, tier: Ints, turning: Ports) -> Iterator[CableParts]:
    """Cables from nodes to circuit switches, which make the cables of the network of them."""
    names, (ports, rate) = (*graph.tiers, NPU), turning
    used = ports > 0
    for one, speed in sorted(set(zip(tier[used].tolist(), rate[used].tolist(), strict=True))):
        own = (tier == one) & (rate == speed)
        yield CableParts(
            kind=CIRCUIT,
            count=int(ports[own].sum()),
            bytes_per_s=speed,
            ends=(names[one], CIRCUIT),
            joins=graph.npus,
            consecutive=False,
        )


def _blocks(
    graph: NetworkGraph, a: Ints, b: Ints, switches: Sequence[SwitchParts]
) -> Iterator[tuple[frozenset[str], int]]:
    """Kinds of cables that lead nowhere else, and NPUs that they join."""
    for count in range(1, len(graph.kinds) + 1):
        kinds = frozenset(graph.kinds[:count])
        if all(switch.kinds <= kinds for switch in switches if switch.kinds & kinds):
            block, consecutive = _joined(graph, a, b, graph.kind_of < count)
            if consecutive:
                yield kinds, block


@lru_cache(maxsize=64)
def kept_parts(network: NetworkFile) -> NetworkParts:
    """Parts of the network of a file; see ``NetworkFile.parts``."""
    return parts_of(network.graph())


def _cables(
    graph: NetworkGraph, ends: tuple[Ints, Ints], rate: Floats, tier: Ints, fixed: np.ndarray
) -> tuple[CableParts, ...]:
    """Cables that are *fixed*, no circuits."""
    names = (*graph.tiers, NPU)  # -1 is the last
    a, b = ends
    columns = graph.kind_of, rate, tier[a], tier[b]
    found: Counter[tuple[int, float, int, int]] = Counter(
        zip(*(column[fixed].tolist() for column in columns), strict=True)
    )
    joined = {kind: _joined(graph, a, b, graph.kind_of == kind) for kind, *_ in found}
    return tuple(
        CableParts(
            kind=graph.kinds[kind],
            count=count,
            bytes_per_s=speed,
            ends=(names[one], names[other]),
            joins=joined[kind][0],
            consecutive=joined[kind][1],
        )
        for (kind, speed, one, other), count in sorted(found.items())
    )


def _joined(graph: NetworkGraph, a: Ints, b: Ints, own: np.ndarray) -> tuple[int, bool]:
    """Most NPUs that the cables *own* join, and whether they are blocks of equal size."""
    label = np.arange(graph.nodes)
    one, other = a[own], b[own]
    while True:
        least = np.minimum(label[one], label[other])
        before = label.copy()
        np.minimum.at(label, one, least)
        np.minimum.at(label, other, least)
        label = label[label]
        if (label == before).all():
            break
    npus = label[: graph.npus]
    first, sizes = np.unique(npus, return_counts=True)
    block = int(sizes.max())
    is_even = bool((sizes == block).all())
    consecutive = is_even and bool((first[np.arange(graph.npus) // block] == npus).all())
    return block, consecutive


def _switches(
    graph: NetworkGraph,
    ends: tuple[Ints, Ints],
    rate: Floats,
    fixed: np.ndarray,
    turning: Ports,
) -> tuple[SwitchParts, ...]:
    node = np.concatenate(ends) - graph.npus
    speed, kind = np.tile(rate, 2), np.tile(graph.kind_of, 2)
    own = (node >= 0) & np.tile(fixed, 2)
    rows, counts = np.unique(
        np.stack([node[own].astype(float), kind[own].astype(float), speed[own]]),
        axis=1,
        return_counts=True,
    )
    ports: list[dict[float, int]] = [{} for _ in graph.tier_of]
    kinds: list[set[str]] = [set() for _ in graph.tier_of]
    for (switch, which, rate_), count in zip(rows.T.tolist(), counts.tolist(), strict=True):
        of = ports[int(switch)]
        of[rate_] = of.get(rate_, 0) + count
        kinds[int(switch)].add(graph.kinds[int(which)])
    for switch, (count, rate_) in enumerate(
        zip(*(column[graph.npus :].tolist() for column in turning), strict=True)
    ):
        if count:
            ports[switch][rate_] = ports[switch].get(rate_, 0) + count
            kinds[switch].add(CIRCUIT)
    found = Counter(
        (graph.tiers[tier], tuple(sorted(ports[switch].items())), frozenset(kinds[switch]))
        for switch, tier in enumerate(graph.tier_of.tolist())
    )
    return tuple(
        SwitchParts(tier=tier, count=count, ports=own_ports, kinds=own_kinds)
        for (tier, own_ports, own_kinds), count in sorted(
            found.items(), key=lambda one: (graph.tiers.index(one[0][0]), one[0][1])
        )
    )

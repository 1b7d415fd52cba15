"""Counts of a network: parts by tier and kind, ports, distances, cuts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simcore.errors import ConfigError
from simcore.graphs.graph import NetworkGraph
from simcore.graphs.structure.bisection import (
    Bisection,
    bisection,
    bisection_bytes_per_s,
)
from simcore.graphs.structure.ways import all_distances, shortest_ways
from simcore.kernels.graphs.distances import (
    DISTANCE_SUM,
    FARTHEST,
    MOST_SWITCHES,
    UNREACHED,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """Counts of a network; NICs are no nodes, and both directions of a cable are one.

    Attributes:
        npus: NPUs.
        switches: Switches.
        switches_by_tier: Switches of each tier.
        links: Cables.
        links_by_kind: Cables of each kind.
        radix_by_tier: Most used ports of a switch of each tier.
        npu_ports_min: Fewest used ports of an NPU.
        npu_ports_max: Most of them.
        unreachable_pairs: Ordered pairs of NPUs with no way between them.
        diameter_links: Most links between two NPUs; None where two cannot reach each other.
        diameter_switches: Most switches between two NPUs, on that of the pair's shortest ways with
            the fewest; None as above.
        distance_sum: Links between NPUs, over all ordered pairs; None as above.
        bisection_links: Fewest cables that part the NPUs into halves; None: not computed.
        bisection_method: How that is known, or why it is not.
        bisection_bytes_per_s: Least bandwidth between halves of the NPUs, one way; None: not
            computed, or the speed of the cables is not told.
        circuits: Cables that lead through circuit switches.
        circuit_ports: Ports of NPUs and switches that lead to circuit switches.
        pairs: For each pair asked for: both NPUs, links, shortest ways (None: no way).
    """

    npus: int
    switches: int
    switches_by_tier: dict[str, int]
    links: int
    links_by_kind: dict[str, int]
    radix_by_tier: dict[str, int]
    npu_ports_min: int
    npu_ports_max: int
    unreachable_pairs: int
    diameter_links: int | None
    diameter_switches: int | None
    distance_sum: int | None
    bisection_links: int | None
    bisection_method: str
    bisection_bytes_per_s: float | None
    circuits: int
    circuit_ports: int
    pairs: list[list[int | None]]


def describe(
    graph: NetworkGraph,
    pairs: Sequence[Sequence[int]] = (),
    formula: tuple[int, str] | None = None,
    *,
    has_speeds: bool = False,
) -> Structure:
    """Counts of *graph*.

    Args:
        graph: The network.
        pairs: NPUs whose shortest ways are asked for.
        formula: The narrowest cut of its family, where there is a formula for it.
        has_speeds: Whether the bandwidths of its cables are told.

    Raises:
        ConfigError: A pair names what is no NPU.
    """
    circuits = graph.circuits
    a, b = graph.cable_ends()
    ports = np.bincount(np.concatenate([a, b]), minlength=graph.nodes)
    of_npus, of_switches = ports[: graph.npus], ports[graph.npus :]
    tiers = {tier: graph.tier_of == number for number, tier in enumerate(graph.tiers)}
    far = all_distances(graph)
    whole = far[UNREACHED] == 0
    cut = bisection(graph) if formula is None else Bisection(*formula)
    return Structure(
        npus=graph.npus,
        switches=graph.nodes - graph.npus,
        switches_by_tier={tier: int(those.sum()) for tier, those in tiers.items()},
        links=graph.cables,
        links_by_kind={
            kind: int((graph.kind_of == number).sum()) for number, kind in enumerate(graph.kinds)
        },
        radix_by_tier={tier: int(of_switches[those].max()) for tier, those in tiers.items()},
        npu_ports_min=int(of_npus.min()),
        npu_ports_max=int(of_npus.max()),
        unreachable_pairs=int(far[UNREACHED]),
        diameter_links=int(far[FARTHEST]) if whole else None,
        diameter_switches=int(far[MOST_SWITCHES]) if whole else None,
        distance_sum=int(far[DISTANCE_SUM]) if whole else None,
        bisection_links=cut.cables,
        bisection_method=cut.method,
        bisection_bytes_per_s=bisection_bytes_per_s(graph, cut) if has_speeds else None,
        circuits=len(np.unique(graph.cable_of[circuits.of_link >= 0])) if circuits else 0,
        circuit_ports=int(circuits.ports.sum()) if circuits else 0,
        pairs=[_way(graph, pair) for pair in pairs],
    )


def _way(graph: NetworkGraph, pair: Sequence[int]) -> list[int | None]:
    a, b = pair
    if not (0 <= a < graph.npus and 0 <= b < graph.npus):
        rule = f"must be pairs of NPUs, 0 to {graph.npus - 1}"
        raise ConfigError("pairs", rule, got=list(pair))
    found = shortest_ways(graph, a, b)
    return [a, b, None, None] if found is None else [a, b, *found]

"""Routes of flows as flat arrays."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from simcore.graphs.graph import Floats, Ints, NetworkGraph

Step = int | tuple[int, Fraction]
Route = Sequence[Step]
"""Links in order; or, of a flow that is spread over several ways, each link and its part."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RouteTable:
    """Routes, one after the other.

    Attributes:
        offsets: (R + 1,) where each begins.
        links: Links of all, in the order in which they are passed where a route is not spread.
        parts: Part of a flow that each link carries: 1 where it is not spread.
        latency_ns: (R,) of each: the sum over its links, those of a spread route each in full.
    """

    offsets: Ints
    links: Ints
    parts: Floats
    latency_ns: Floats

    @classmethod
    def of(cls, graph: NetworkGraph, routes: Sequence[Route]) -> "RouteTable":
        """Table of *routes* over the links of *graph*."""
        steps = [_as_pair(step) for route in routes for step in route]
        offsets = np.concatenate([[0], np.cumsum([len(route) for route in routes])])
        links = np.array([link for link, _ in steps], np.int64)
        parts = np.array([float(part) for _, part in steps], np.float64)
        return cls.of_arrays(graph, offsets.astype(np.int64), links, parts)

    @classmethod
    def of_arrays(
        cls, graph: NetworkGraph, offsets: Ints, links: Ints, parts: Floats | None = None
    ) -> "RouteTable":
        """Table of routes that are flat already; without *parts* none is spread."""
        if parts is None:
            parts = np.ones(len(links))
        at = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        weights = graph.latency_ns[links]
        latency = np.bincount(at, weights, len(offsets) - 1).astype(np.float64)
        return cls(offsets=offsets, links=links, parts=parts, latency_ns=latency)

    def __len__(self) -> int:
        return len(self.offsets) - 1


def merged(first: NDArray[np.bool_], some: RouteTable, others: RouteTable) -> RouteTable:
    """One table of both: where *first* (R,) is true the next route of *some*, else of *others*."""
    place = np.argsort(np.concatenate([np.flatnonzero(first), np.flatnonzero(~first)]))
    counts = np.concatenate([np.diff(some.offsets), np.diff(others.offsets)])[place]
    begin = np.concatenate([some.offsets[:-1], others.offsets[:-1] + len(some.links)])[place]
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    taken = np.repeat(begin - offsets[:-1], counts) + np.arange(offsets[-1])
    return RouteTable(
        offsets=offsets,
        links=np.concatenate([some.links, others.links])[taken],
        parts=np.concatenate([some.parts, others.parts])[taken],
        latency_ns=np.concatenate([some.latency_ns, others.latency_ns])[place],
    )


def _as_pair(step: Step) -> tuple[int, Fraction | int]:
    return step if isinstance(step, tuple) else (step, 1)

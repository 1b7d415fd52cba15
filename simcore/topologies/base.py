"""Contract of a topology: how the NPUs of one network dimension are joined."""

from abc import ABC, abstractmethod
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.collectives.topology_codes import TABLE

Ints = NDArray[np.int64]

MOST_TABLED_NPUS = 512
"""NPUs of a dimension whose routes are given as a table."""


class Topology(ABC):
    """Shape in which the NPUs of one dimension are joined.

    A new topology is one class with ``links_per_npu`` and ``next_nodes``; everything else follows
    from these. Nodes 0 to n - 1 are the NPUs of the dimension, further ones its switches. Each
    link leads from one node to another and carries one message at a time where messages meet;
    all links of the dimension are equally fast. ``check_topology`` says whether what a class
    states is a topology.

    Attributes:
        algorithm: Collective algorithm that ``by_topology`` stands for.
        symbol: Short name in tables of results.
        has_switches: Whether there are nodes that are no NPUs.
        kernel_code: Number of the arithmetic form that kernels have of the shape; ``TABLE``: they
            read the routes from a table, for at most ``MOST_TABLED_NPUS`` NPUs.
        uniform: Every NPU is equally far from every other.
        cyclic: The distance of two NPUs depends on how far apart they are, and around.
    """

    algorithm: ClassVar[str] = "ring"
    symbol: ClassVar[str | None] = None
    has_switches: ClassVar[bool] = False
    kernel_code: ClassVar[int] = TABLE
    uniform: ClassVar[bool] = False
    cyclic: ClassVar[bool] = False

    @abstractmethod
    def links_per_npu(self, npus: int) -> int:
        """Links of one NPU, among which its bandwidth in the dimension is divided."""

    @abstractmethod
    def next_nodes(self, npus: int) -> Ints:
        """Routes: (N, *npus*) integers, N >= *npus* nodes.

        Entry ``[at, to]`` is the node that a message at node *at* goes to next on its way to NPU
        *to*; where a message cannot be, and for ``at == to``, it may be *to* itself.
        """

    def joins(self, npus: int) -> bool:
        """True if there is such a topology of *npus* NPUs (at least 2)."""
        return npus >= 2

    def part_of_bandwidth(self, npus: int, part: int) -> Fraction | None:
        """Bandwidth that an NPU has within *part* neighbouring NPUs, over all that it has.

        None: a part of the shape is no such shape.
        """
        return None

    def hops(self, npus: int, a: int, b: int) -> int:
        """Links that a message crosses from NPU *a* to NPU *b* of the dimension."""
        return int(distances(self, npus)[a, b])

    def least_hops(self, npus: int) -> int:
        """Fewest links between two NPUs."""
        table = distances(self, npus)
        return int(table[table > 0].min())

    def most_hops(self, npus: int) -> int:
        """Most links between two NPUs."""
        return int(distances(self, npus).max())


@lru_cache(maxsize=32)
def distances(topology: Topology, npus: int) -> Ints:
    """(n, n) int64: links between each two NPUs of *topology*, as its routes go."""
    routes = topology.next_nodes(npus)
    return followed(routes, np.ones(routes.shape[0], np.int64))[0]


@lru_cache(maxsize=32)
def npu_links(topology: Topology, npus: int) -> Ints:
    """(n, n) int64: links of NPUs, not of switches, that a message takes between two NPUs."""
    routes = topology.next_nodes(npus)
    return followed(routes, (np.arange(routes.shape[0]) < npus).astype(np.int64))[0]


def followed(routes: Ints, weight: Ints) -> tuple[Ints, Ints]:
    """Follow all *routes* (N, n) between NPUs to their ends.

    Ways are doubled in each round, so that any route of N nodes ends after log2(N) of them.

    Returns:
        (n, n) int64: the sum of *weight* (N,) over the nodes that a message leaves; (n, n) int64:
        where it ends, which is its receiver unless the route leads nowhere.
    """
    nodes, npus = routes.shape
    to = np.arange(npus)
    at = np.arange(nodes)[:, None]
    after = np.where(at == to, to, routes).astype(np.int64)
    passed: Ints = np.where(at == to, 0, weight[:, None])
    for _ in range(nodes.bit_length()):
        passed = passed + np.take_along_axis(passed, after, axis=0)
        after = np.take_along_axis(after, after, axis=0)
    return np.ascontiguousarray(passed[:npus]), after[:npus]

"""Mesh: a line; several such dimensions are a mesh of as many."""

from fractions import Fraction

import numpy as np

from simcore.topologies.base import Ints, Topology


class Mesh(Topology):
    """Two links per NPU, to its neighbours; those at the ends have one, the other lies idle.

    Two dimensions of meshes are a 2-D mesh, routed dimension by dimension.
    """

    def links_per_npu(self, npus: int) -> int:
        return 2

    def next_nodes(self, npus: int) -> Ints:
        at, to = np.arange(npus)[:, None], np.arange(npus)
        routes: Ints = at + np.sign(to - at)
        return routes

    def part_of_bandwidth(self, npus: int, part: int) -> Fraction | None:
        return Fraction(1)

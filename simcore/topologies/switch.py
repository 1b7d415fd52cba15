"""Switch: every NPU has one link to a switch that joins them all."""

from fractions import Fraction

import numpy as np

from simcore.kernels.collectives.topology_codes import SWITCH
from simcore.topologies.base import Ints, Topology


class Switch(Topology):
    """One link per NPU, up to the switch; a message crosses two, up and down."""

    algorithm = "halving_doubling"
    symbol = "SW"
    has_switches = True
    kernel_code = SWITCH
    uniform = True

    def links_per_npu(self, npus: int) -> int:
        return 1

    def next_nodes(self, npus: int) -> Ints:
        routes = np.full((npus + 1, npus), npus)
        routes[npus] = np.arange(npus)
        return routes

    def part_of_bandwidth(self, npus: int, part: int) -> Fraction | None:
        return Fraction(1)

    def hops(self, npus: int, a: int, b: int) -> int:
        return 2 * int(a != b)

    def least_hops(self, npus: int) -> int:
        return 2

    def most_hops(self, npus: int) -> int:
        return 2

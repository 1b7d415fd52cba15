"""Full mesh: every NPU has a link to every other."""

from fractions import Fraction

import numpy as np

from simcore.kernels.collectives.topology_codes import FULLY_CONNECTED
from simcore.topologies.base import Ints, Topology


class FullyConnected(Topology):
    """n - 1 links per NPU, one to each other."""

    algorithm = "direct"
    symbol = "FC"
    kernel_code = FULLY_CONNECTED
    uniform = True

    def links_per_npu(self, npus: int) -> int:
        return npus - 1

    def next_nodes(self, npus: int) -> Ints:
        return np.tile(np.arange(npus), (npus, 1))

    def part_of_bandwidth(self, npus: int, part: int) -> Fraction | None:
        return Fraction(part - 1, npus - 1)  # the links to the others lie idle

    def hops(self, npus: int, a: int, b: int) -> int:
        return int(a != b)

    def least_hops(self, npus: int) -> int:
        return 1

    def most_hops(self, npus: int) -> int:
        return 1

"""Ring: every NPU is joined to the one before and the one after."""

import numpy as np

from simcore.kernels.collectives.topology_codes import RING
from simcore.topologies.base import Ints, Topology


class Ring(Topology):
    """Two links per NPU; messages go the shorter way round, forwards where both are equal.

    A ring of two keeps its two links, which then run side by side.
    """

    kernel_code = RING
    cyclic = True

    def links_per_npu(self, npus: int) -> int:
        return 2

    def next_nodes(self, npus: int) -> Ints:
        at, to = np.arange(npus)[:, None], np.arange(npus)
        forwards = (to - at) % npus
        return (at + np.where(npus - forwards < forwards, -1, 1)) % npus

    def hops(self, npus: int, a: int, b: int) -> int:
        apart = abs(a - b)
        return min(apart, npus - apart)

    def least_hops(self, npus: int) -> int:
        return 1

    def most_hops(self, npus: int) -> int:
        return npus // 2

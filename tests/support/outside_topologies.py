"""Topologies as a user would add them: links and routes, and nothing else."""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.collectives.topology_codes import TABLE
from simcore.topologies import Topology
from simcore.topologies.fully_connected import FullyConnected
from simcore.topologies.ring import Ring
from simcore.topologies.switch import Switch

Ints = NDArray[np.int64]


class ExpressLine(Topology):
    """A line in which every fourth NPU also has a link to the next and the last such one."""

    every = 4

    def links_per_npu(self, npus: int) -> int:
        return 4

    def next_nodes(self, npus: int) -> Ints:
        at, to = np.arange(npus)[:, None], np.arange(npus)
        way, apart = np.sign(to - at), abs(to - at)
        # at a stop, and with a whole leg ahead: by express
        by_express = (at % self.every == 0) & (apart >= self.every)
        routes: Ints = at + np.where(by_express, self.every, 1) * way
        return routes


class ChordalRing(Topology):
    """A ring in which every NPU also has links to those three further on."""

    chord = 3

    def joins(self, npus: int) -> bool:
        return npus > 2 * self.chord

    def links_per_npu(self, npus: int) -> int:
        return 4

    def next_nodes(self, npus: int) -> Ints:
        at, to = np.arange(npus)[:, None], np.arange(npus)
        forwards = (to - at) % npus
        way = np.where(npus - forwards < forwards, -1, 1)
        apart = np.minimum(forwards, npus - forwards)
        routes: Ints = (at + way * np.where(apart >= self.chord, self.chord, 1)) % npus
        return routes


class TwoTiers(Topology):
    """Switches of four NPUs each, all of them under one more switch."""

    below = 4
    has_switches = True

    def joins(self, npus: int) -> bool:
        return npus % self.below == 0

    def links_per_npu(self, npus: int) -> int:
        return 1

    def next_nodes(self, npus: int) -> Ints:
        leaves = npus // self.below
        to = np.arange(npus)
        leaf_of = npus + to // self.below
        top = npus + leaves
        rows = [np.full(npus, leaf) for leaf in leaf_of]
        rows += [np.where(leaf_of == leaf, to, top) for leaf in range(npus, top)]
        return np.array([*rows, leaf_of])


class _Tabled:
    """A topology of the product whose routes kernels read from a table."""

    kernel_code = TABLE
    cyclic = uniform = False
    hops = Topology.hops
    least_hops = Topology.least_hops
    most_hops = Topology.most_hops


class TabledRing(_Tabled, Ring):
    """A ring by its table."""


class TabledSwitch(_Tabled, Switch):
    """A switch by its table."""


class TabledFullyConnected(_Tabled, FullyConnected):
    """A full mesh by its table."""


OUTSIDE_TOPOLOGIES: dict[str, Topology] = {
    "express_line": ExpressLine(),
    "chordal_ring": ChordalRing(),
    "two_tiers": TwoTiers(),
}
TABLED: dict[str, Topology] = {
    "ring": TabledRing(),
    "switch": TabledSwitch(),
    "fully_connected": TabledFullyConnected(),
}
"""Those of the product, by the way that those from outside take."""

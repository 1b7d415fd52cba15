"""Times that no algorithm can go below: by the worst cut, by what NPUs must receive, by latency.

All-gather: some NPUs' pieces must cross a cut towards an NPU on its other side; the least time over
all cuts is found by greatest flows, and packed trees reach it with many chunks (Edmonds, Edge-
disjoint branchings, 1973). Reduce-scatter is the same on the reversed network. All-reduce: every
piece must get from every NPU to every other, so all of them through the narrowest cut of two; and
where switches do not reduce, each part is received by NPUs 2 (n - 1) times, as often as partial
sums are joined and results handed out (for algorithms that combine by the operator); where they do
not copy, NPUs send it as often, as each joining and each receipt takes up what one of them sent.
All-to-all: for any prices of links, what it sends costs at least the cheapest ways, and the links
hold no more than their rates times the prices (duality of linear programs); links are priced by
their load in a good solution.
"""

from dataclasses import dataclass

import numpy as np

from simcore.errors import SimulationError
from simcore.kernels.synthesis.cuts import gather_time, narrowest_pair
from simcore.kernels.synthesis.ways import priced_time
from simcore.synthesis.fabric import Fabric, Floats, Ints
from simcore.synthesis.kinds import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER

_SOON = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """Least time of a collective.

    Attributes:
        bandwidth: By the rates of links, whatever the number of chunks.
        latency: The longest of the least latencies between two NPUs.
        by: The reason for ``bandwidth``.
    """

    bandwidth: float
    latency: float
    by: str

    @property
    def time(self) -> float:
        """No algorithm is faster."""
        return max(self.bandwidth, self.latency)


def bound_of(fabric: Fabric, kind: str, piece: float) -> Bound:
    """The bound of a collective of pieces of size *piece*.

    Raises:
        SimulationError: Some NPU cannot be reached from another.
    """
    latency = _latency(fabric)
    if fabric.npus == 1:
        return Bound(bandwidth=0.0, latency=0.0, by="one NPU")
    if kind == ALL_GATHER:
        time, by = _gather(fabric) * piece, "the worst cut before one NPU"
    elif kind == REDUCE_SCATTER:
        time, by = _gather(fabric.reversed()) * piece, "the worst cut behind one NPU"
    elif kind == ALL_REDUCE:
        time, by = _all_reduce(fabric, piece)
    else:
        time = priced_bound(fabric, 1.0 / fabric.rate) * piece
        by = "what all ways take of the links"
    return Bound(bandwidth=time, latency=latency, by=by)


def priced_bound(fabric: Fabric, price: Floats) -> float:
    """Least time of an all-to-all of pieces of 1 by prices (L,) of links, whichever they are."""
    whole = price / (price * fabric.rate).sum()
    return priced_time(
        fabric.npus, fabric.npus_forward, fabric.offsets, fabric.head, fabric.link, whole
    )


def better(bound: Bound, kind: str, fabric: Fabric, prices: list[Floats], piece: float) -> Bound:
    """The bound, or a higher one of an all-to-all that *prices* of links prove."""
    if kind != ALL_TO_ALL or not prices:
        return bound
    found = max(priced_bound(fabric, price) for price in prices) * piece
    time = max(found, bound.bandwidth)
    return Bound(bandwidth=time, latency=bound.latency, by=bound.by)


def _all_reduce(fabric: Fabric, piece: float) -> tuple[float, str]:
    offsets, to, twin, capacity, _ = _network(fabric)
    cut = fabric.npus / narrowest_pair(fabric.npus, offsets, to, twin, capacity)
    found = [(cut * piece, "the worst cut between two NPUs")]
    for able, at, does in (
        (fabric.reduces, fabric.head, "receive"),
        (fabric.copies, fabric.tail, "send"),
    ):
        ends = np.unique(fabric.link[at < fabric.npus])
        volume = 2.0 * (fabric.npus - 1) * fabric.npus / fabric.rate[ends].sum()
        if not able:
            found.append((volume * piece, f"what NPUs must {does}"))
    return max(found, key=lambda one: one[0])


def _gather(fabric: Fabric) -> float:
    offsets, to, twin, capacity, supply = _network(fabric)
    start = _SOON * (fabric.npus - 1) / fabric.rate.max()
    return gather_time(fabric.npus, offsets, to, twin, capacity, supply, start)


def _network(fabric: Fabric) -> tuple[Ints, Ints, Ints, Floats, Ints]:
    """Arcs there and back, with one more node that is the source of all: for greatest flows.

    Both arcs of a half-duplex link have all of its rate: the bound is lower, and holds.
    """
    arcs, npus = len(fabric.tail), fabric.npus
    all_npus, source = np.arange(npus), np.full(npus, fabric.nodes)
    tail = np.concatenate([fabric.tail, fabric.head, source, all_npus])
    head = np.concatenate([fabric.head, fabric.tail, all_npus, source])
    capacity = np.concatenate([fabric.rate[fabric.link], np.zeros(arcs + 2 * npus)])
    both, rest = np.arange(arcs), 2 * arcs + all_npus
    twin = np.concatenate([both + arcs, both, rest + npus, rest])
    order = np.argsort(tail, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    offsets = np.searchsorted(tail[order], np.arange(fabric.nodes + 2)).astype(np.int64)
    return offsets, head[order], place[twin[order]], capacity[order], place[rest]


def _latency(fabric: Fabric) -> float:
    far = 0.0
    if fabric.npus > 1:
        far = priced_time(
            fabric.npus, True, fabric.offsets, fabric.head, fabric.link, fabric.latency, True
        )
    if not np.isfinite(far):
        raise SimulationError(
            "network: every NPU must be reachable from every other, and some are not"
        )
    return far

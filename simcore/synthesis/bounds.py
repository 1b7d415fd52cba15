"""Times that no algorithm can go below: by the worst cut, by what NPUs must receive, by latency.

All-gather: some NPUs' pieces must cross a cut towards an NPU on its other side; the least time over
all cuts is found by greatest flows, and packed trees reach it with many chunks (Edmonds, Edge-
disjoint branchings, 1973). Reduce-scatter is the same on the reversed network. All-reduce: every
piece must get from every NPU to every other, so all of them through the narrowest cut of two. And
however NPUs are parted: before one of k parts first holds the sum, each of the others has sent
something, and after that each of them is sent something, 2 (k - 1) transfers of every element (for
algorithms that combine by the operator), each of which enters a part where switches do not reduce,
and leaves one where they do not copy. Of all partings the worst is found by greatest flows; on
networks of NPUs whose links are alike both ways, trees reach it (Nash-Williams and Tutte, 1961).
All-to-all: for any prices of links, what it sends costs at least the cheapest ways, and the links
hold no more than their rates times the prices (duality of linear programs); links are priced by
their load in good solutions, and dearer step by step where the cheapest ways load them most.
"""

from dataclasses import dataclass

import numpy as np

from simcore.errors import SimulationError
from simcore.kernels.synthesis.cuts import gather_time, narrowest_pair
from simcore.kernels.synthesis.partings import least_parting
from simcore.kernels.synthesis.ways import priced_ways
from simcore.synthesis.fabric import Fabric, Floats, Ints
from simcore.synthesis.kinds import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER

_SOON = 1e-12
_SAME = 1e-6
_ROUNDS, _LOOKS = 300, 20_000_000
"""Times that links are priced anew, at most, and arcs that are looked at for that in all."""
_STEP = 3.0
"""Logarithm by which the first time prices become dearer or cheaper, at most."""


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
        time = _all_to_all(fabric) * piece
        by = "what all ways take of the links"
    return Bound(bandwidth=time, latency=latency, by=by)


def _all_to_all(fabric: Fabric) -> float:
    """Least time of an all-to-all of pieces of 1 by prices that become better step by step.

    Source: J. Kivinen, M. Warmuth, Exponentiated gradient versus gradient descent for linear
    predictors, Information and Computation 132, 1997.
    """
    where = fabric.offsets, fabric.tail, fabric.head, fabric.link
    part = np.full(fabric.links, 1.0 / fabric.links)  # of what all links can carry at their prices
    best = _ends(fabric)
    looks = fabric.npus * len(fabric.tail)
    for turn in range(max(1, min(_ROUNDS, _LOOKS // looks))):
        load, price = np.zeros(fabric.links), part / fabric.rate
        found, _ = priced_ways(fabric.npus, fabric.npus_forward, *where, price, load)
        best = max(best, found)
        busy = load / fabric.rate
        most = busy.max()
        if not np.isfinite(best) or most <= best * (1 + 1e-9):  # these ways take no longer
            break
        part = part * np.exp(_STEP / np.sqrt(turn + 1.0) * (busy / most - 1.0))
        part /= part.sum()
    return best


def _ends(fabric: Fabric) -> float:
    """Least time in which an NPU can send, and receive, a piece of 1 for each other one."""
    rates, npus = fabric.rate[fabric.link], fabric.npus
    sums = [np.bincount(end, rates, fabric.nodes)[:npus] for end in (fabric.tail, fabric.head)]
    least = min(float(one.min()) for one in sums)
    return (npus - 1) / least if least else np.inf


def comes_apart(fabric: Fabric, aim: float) -> bool:
    """True if a reduce-scatter and then an all-gather need no longer than an all-reduce must.

    Args:
        fabric: The network.
        aim: Least time of an all-reduce of pieces of 1.
    """
    return _gather(fabric) + _gather(fabric.reversed()) <= aim * (1 + _SAME)


def priced_bound(fabric: Fabric, price: Floats) -> float:
    """Least time of an all-to-all of pieces of 1 by prices (L,) of links, whichever they are."""
    whole = price / (price * fabric.rate).sum()
    where = fabric.offsets, fabric.tail, fabric.head, fabric.link
    time, _ = priced_ways(fabric.npus, fabric.npus_forward, *where, whole, np.empty(0))
    return float(time)


def better(bound: Bound, kind: str, fabric: Fabric, prices: list[Floats], piece: float) -> Bound:
    """The bound, or a higher one of an all-to-all that *prices* of links prove."""
    if kind != ALL_TO_ALL or not prices:
        return bound
    found = max(priced_bound(fabric, price) for price in prices) * piece
    time = max(found, bound.bandwidth)
    return Bound(bandwidth=time, latency=bound.latency, by=bound.by)


def _all_reduce(fabric: Fabric, piece: float) -> tuple[float, str]:
    rates = fabric.rate[fabric.link]
    offsets, to, twin, capacity, _, _ = _network(fabric, rates, np.zeros(len(rates)))
    cut = fabric.npus / narrowest_pair(fabric.npus, offsets, to, twin, capacity)
    found = [(cut * piece, "the worst cut between two NPUs")]
    for leave, enter, does in _ways_to_count(fabric):
        time, parts = _parted(fabric, leave, enter)
        who = "NPUs" if parts == fabric.npus else f"{parts} parts of the network"
        found.append((time * piece, f"what {who} must {does}"))
    return max(found, key=lambda one: one[0])


def _ways_to_count(fabric: Fabric) -> list[tuple[float, float, str]]:
    """Weights of what leaves a part and of what enters one, by which all transfers count."""
    if fabric.copies and fabric.reduces:
        return []  # the worst cut is always worse
    if fabric.copies:
        return [(0.0, 1.0, "receive")]
    if fabric.reduces:
        return [(1.0, 0.0, "send")]
    rates = fabric.rate[fabric.link]
    out = np.bincount(fabric.tail, rates, minlength=fabric.nodes)
    into = np.bincount(fabric.head, rates, minlength=fabric.nodes)
    if np.allclose(out, into, rtol=1e-12, atol=0.0):  # so it is for every part
        return [(0.0, 1.0, "receive")]
    return [(0.0, 1.0, "receive"), (1.0, 0.0, "send"), (0.5, 0.5, "send and receive")]


def _parted(fabric: Fabric, leave: float, enter: float) -> tuple[float, int]:
    """Least time of an all-reduce of pieces of 1 by the worst parting of NPUs, and its parts.

    Args:
        fabric: The network.
        leave: Weight of capacity out of a part.
        enter: Weight of capacity into one.
    """
    npus, rates = fabric.npus, fabric.rate[fabric.link]
    # a transfer over a half-duplex link between two parts is one of the one or of the other
    between = (fabric.tail < npus) & (fabric.head < npus)
    shared = between & (np.bincount(fabric.link, minlength=fabric.links)[fabric.link] > 1)
    rates = np.where(shared, rates / 2, rates)
    network = _network(fabric, leave * rates, enter * rates)
    ends = leave * (fabric.tail < npus) + enter * (fabric.head < npus)
    least, parts = float(ends @ rates) / (npus - 1), npus
    part_of = np.empty(npus, np.int64)
    while True:  # each parting is worse than the one before (Dinkelbach)
        left = least_parting(npus, *network, least, part_of)
        count = len(np.unique(part_of))
        around = (left + count * least) / max(count - 1, 1)
        if count == 1 or around >= least * (1 - 1e-9):
            return 2.0 * (leave + enter) * npus / least, parts
        least, parts = around, count


def _gather(fabric: Fabric) -> float:
    rates = fabric.rate[fabric.link]
    offsets, to, twin, capacity, supply, _ = _network(fabric, rates, np.zeros(len(rates)))
    start = _SOON * (fabric.npus - 1) / fabric.rate.max()
    return gather_time(fabric.npus, offsets, to, twin, capacity, supply, start)


def _network(
    fabric: Fabric, forth: Floats, back: Floats
) -> tuple[Ints, Ints, Ints, Floats, Ints, Ints]:
    """Arcs there and back for greatest flows, with a source before and a sink behind all NPUs.

    Both arcs of a half-duplex link have all of its rate: the bound is lower, and holds.

    Args:
        fabric: The network.
        forth: (A,) capacity of each arc.
        back: (A,) capacity of each arc turned around.

    Returns:
        As ``least_parting`` takes them: offsets, ends, arcs back, capacities, arcs from the source
        and to the sink, which are the last two nodes.
    """
    arcs, npus = len(fabric.tail), fabric.npus
    all_npus = np.arange(npus)
    source, sink = np.full(npus, fabric.nodes), np.full(npus, fabric.nodes + 1)
    tail = np.concatenate([fabric.tail, fabric.head, source, all_npus, all_npus, sink])
    head = np.concatenate([fabric.head, fabric.tail, all_npus, source, sink, all_npus])
    capacity = np.concatenate([forth, back, np.zeros(4 * npus)])
    both, rest = np.arange(arcs), 2 * arcs + all_npus
    twin = np.concatenate([both + arcs, both, rest + npus, rest, rest + 3 * npus, rest + 2 * npus])
    order = np.argsort(tail, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    offsets = np.searchsorted(tail[order], np.arange(fabric.nodes + 3)).astype(np.int64)
    ends = place[rest], place[rest + 2 * npus]
    return offsets, head[order], place[twin[order]], capacity[order], *ends


def _latency(fabric: Fabric) -> float:
    far = 0.0
    if fabric.npus > 1:
        where = fabric.offsets, fabric.tail, fabric.head, fabric.link
        _, far = priced_ways(fabric.npus, True, *where, fabric.latency, np.empty(0))
    if not np.isfinite(far):
        raise SimulationError(
            "network: every NPU must be reachable from every other, and some are not"
        )
    return far

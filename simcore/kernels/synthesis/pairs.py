"""Pairs of trees for all-reduces: one joins partial sums at a root, one hands out from it."""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit
from simcore.kernels.synthesis.growing import Meant, end_of, shift_load, steeply
from simcore.kernels.synthesis.packing import pack

Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]
Floats = NDArray[np.float64]


@njit(cache=True, nogil=True)
def pack_pairs(
    order: Ints,
    candidates: Ints,
    roots: Ints,
    first: bool,
    npus: int,
    reduces: bool,
    copies: bool,
    into: tuple[Ints, Ints, Ints, Ints],
    out: tuple[Ints, Ints, Ints, Ints],
    cost: Floats,
    delays: tuple[Floats, Floats],
    load: Floats,
    meant: Meant,
    arcs: Shorts,
    before: Shorts,
    hops: Ints,
) -> int:
    """Grow the pairs of ``order`` anew, each at the root that is cheapest for it.

    Args:
        order: (n,) numbers of pairs.
        candidates: (n, C) roots that are tried for each, in the order of ``order``.
        roots: (P,) root of each pair; changed.
        first: Whether the pairs are not there yet.
        npus: NPUs, the first nodes.
        reduces: Whether switches combine.
        copies: Whether they copy.
        into: Offsets, tails, heads and links of the arcs turned around.
        out: The same of the arcs.
        cost: (L,) time that one chunk takes on each link.
        delays: (L,) as for ``pack``, along the arcs turned around and along the arcs.
        load: (L,) time that each link is busy; changed.
        meant: As for ``pack``.
        arcs: (2 P, H) hops of the trees: 2 p joins, along arcs turned around, 2 p + 1 hands out.
        before: (2 P, H) as for ``pack``.
        hops: (2 P,) as for ``pack``.

    Returns:
        0, or what ``grow`` says of a tree that it does not grow.
    """
    both = np.empty(2 * len(roots), np.int64)
    trial = load.copy()
    for place in range(len(order)):
        one = order[place]
        if not first:
            _take_off(arcs, hops, one, into[3], out[3], cost, load)
        best, least = candidates[place, 0], np.inf
        for attempt in range(candidates.shape[1] + 1):  # the best root once more in the end
            root = best if attempt == candidates.shape[1] else candidates[place, attempt]
            if attempt == candidates.shape[1] and root == candidates[place, attempt - 1]:
                break
            both[2 * one : 2 * one + 2] = root
            trial[:] = load
            for side in range(2):
                offsets, tail, head, link = into if side == 0 else out
                said = pack(
                    np.full(1, 2 * one + side),
                    both,
                    True,
                    npus,
                    reduces if side == 0 else copies,
                    offsets,
                    tail,
                    head,
                    link,
                    cost,
                    delays[side],
                    trial,
                    meant,
                    arcs,
                    before,
                    hops,
                )
                if said < 0:
                    return said
            price = _price(arcs, before, hops, one, into[3], out[3], cost, delays, load, meant)
            if price < least:
                best, least = root, price
        roots[one], load[:] = best, trial
    return 0


@njit(cache=True, nogil=True)
def _take_off(
    arcs: Shorts, hops: Ints, one: int, into: Ints, out: Ints, cost: Floats, load: Floats
) -> None:
    """Take the load of a pair off."""
    shift_load(arcs[2 * one], hops[2 * one], into, cost, load, -1)
    shift_load(arcs[2 * one + 1], hops[2 * one + 1], out, cost, load, -1)


@njit(cache=True, nogil=True)
def _price(
    arcs: Shorts,
    before: Shorts,
    hops: Ints,
    one: int,
    into: Ints,
    out: Ints,
    cost: Floats,
    delays: tuple[Floats, Floats],
    load: Floats,
    meant: Meant,
) -> float:
    """Price of a pair by the loads, and by the time until it is through."""
    steep, aim, deep, _ = meant
    total = 0.0
    for side in range(2):
        tree, arc_link = 2 * one + side, into if side == 0 else out
        for hop in range(hops[tree]):
            link = arc_link[arcs[tree, hop]]
            total += cost[link] * steeply(steep * (load[link] / aim - 1.0))
        end = end_of(arcs[tree], before[tree], hops[tree], arc_link, cost, delays[side])
        total += cost.mean() * steeply(steep * (end / deep - 1.0))
    return total

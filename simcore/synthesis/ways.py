"""Ways of chunks from NPU to NPU, of even load over a fabric."""

import numpy as np
from numpy.typing import NDArray

from simcore.errors import SimulationError
from simcore.kernels.synthesis.ways import priced_ways, spread_ways
from simcore.synthesis.fabric import Fabric, Floats, Ints
from simcore.synthesis.plan import Plan

_STEEP = 20.0
_STEEPER = 1.0
_ROUNDS = 5
_NEAR = ((1_000_000, 1e-6), (1 << 62, 2e-3))
"""Chunks, and part by which the busiest link may be above the aim with up to so many."""
_SEARCHES = 30_000
"""Searches for cheapest ways per round, at least one for every NPU."""


def way_plan(
    fabric: Fabric, ends: tuple[Ints, Ints], part: float, turns: Floats, aim: float, seed: int
) -> tuple[Plan, list[Floats]]:
    """The plan of chunks that each go from a source to a target, and prices that it was made by.

    Args:
        fabric: The network.
        ends: (D,) NPU at which each chunk begins, equal ones one after the other, and (D,) NPU for
            which it is.
        part: Size of a chunk.
        turns: (K, D) when it is the turn of each, as a share of the whole, below 1.
        aim: Least time there can be for it.
        seed: Seed of the order in which ways are chosen anew.
    """
    arcs, hops, prices = _balanced(fabric, *ends, part, aim, seed)
    there = np.arange(arcs.shape[1]) < hops[:, None]
    chunk = np.repeat(np.arange(len(hops)), hops)
    # ways are kept last arc first
    place = hops[:, None] - 1 - np.arange(arcs.shape[1])
    arc = np.take_along_axis(arcs, np.maximum(place, 0), 1)[there].astype(np.int64)
    after = np.flatnonzero(chunk[1:] == chunk[:-1]) + 1
    plan = Plan(
        arc=arc,
        chunk=chunk,
        joins=np.zeros(len(arc), np.bool_),
        before=after - 1,
        after=after,
        chunks=len(hops),
        part=part,
        turns=turns,
    )
    return plan, prices


def _balanced(
    fabric: Fabric, source: Ints, target: Ints, part: float, aim: float, seed: int
) -> tuple[NDArray[np.int32], Ints, list[Floats]]:
    # detours do not pay that take longer than links are kept
    cost, late = part / fabric.rate, fabric.latency / aim
    load = np.zeros(fabric.links)
    width = 4
    arcs, hops = np.zeros((len(source), width), np.int32), np.zeros(len(source), np.int64)
    batch = max(1, len(source) // _SEARCHES)
    rng = np.random.default_rng(seed)
    best, least = (arcs, hops), np.inf
    prices: list[Floats] = []
    turn = 0
    near = next(part for most, part in _NEAR if len(source) <= most)
    while turn < _ROUNDS and least > aim * (1 + near):
        steep = _STEEP * (1.0 + _STEEPER * turn)
        order = _drawn(source, rng)
        where = fabric.offsets, fabric.tail, fabric.head, fabric.link
        who = source, target, fabric.npus, fabric.npus_forward
        mean = max(aim, load.max()) if turn else aim
        if not spread_ways(
            order, turn == 0, batch, *who, *where, cost, late, load, steep, mean, arcs, hops
        ):
            if turn:
                break
            width *= 2
            arcs = np.zeros((len(source), width), np.int32)
            load[:] = 0.0
            if width > 8 * fabric.nodes:
                raise SimulationError("network: every NPU must be reachable from every other")
            continue
        prices.append(np.exp(steep * (load / load.max() - 1.0)) / fabric.rate)
        if load.max() < least:
            least, best = load.max(), (arcs.copy(), hops.copy())
        turn += 1
    return best[0], best[1], prices


def links_apart(fabric: Fabric) -> float:
    """Links between two NPUs, on average."""
    where = fabric.offsets, fabric.tail, fabric.head, fabric.link
    prices = np.ones(fabric.links), np.empty(0)
    whole, _ = priced_ways(fabric.npus, fabric.npus_forward, *where, *prices)
    return float(whole) / max(fabric.npus * (fabric.npus - 1), 1)


def _drawn(source: Ints, rng: np.random.Generator) -> Ints:
    """An order of chunks in which those of a source follow each other, both drawn."""
    first = rng.permutation(int(source.max()) + 1 if len(source) else 0)
    return np.lexsort((rng.random(len(source)), first[source]))

"""Trees of even load over a fabric: for all-gathers one per chunk, for all-reduces two."""

from collections.abc import Callable

import numpy as np

from simcore.errors import SimulationError
from simcore.kernels.synthesis.growing import Meant, end_of
from simcore.kernels.synthesis.packing import pack
from simcore.kernels.synthesis.pairs import pack_pairs
from simcore.synthesis.fabric import Fabric, Floats, Ints, Shorts

_DEEP = 0.25  # of the least time: how long a chunk may be on its way, if links are free for it
DEEPER = 1.5
"""At least, against the least time there can be for that."""
_ROOTS = 4  # whose least times stand for those of all
_STEEP = 60.0
_STEEPER = 0.6  # by how much of it each round is steeper
_ROUNDS = 5
_MANY = 300_000  # hops
_NEAR = ((_MANY, 1e-6), (1_500_000, 0.01), (1 << 62, 0.02))
"""Hops, and part of the least load that the most may be above it with up to so many."""
_ALIKE = 1.5  # prices that are taken as equal: less than 1 % of a load makes
_MOST_TRIED, _LEAST_TRIED = 16, 2  # roots per all-reduced chunk
_LOOKS = 20_000_000  # arcs to be looked at for all chunks, from which fewer roots are tried
_TOO_LONG, _FINE = -2, 0

Trees = tuple[Shorts, Shorts, Ints]
"""Arcs (T, H), hops before (T, H), numbers of hops (T,)."""


def gather_trees(
    fabric: Fabric, chunks: int, piece: float, aim: float, seed: int, deeper: float = DEEPER
) -> Trees:
    """Trees for *chunks* chunks of every NPU's piece; chunk c of NPU r is tree c n + r.

    Args:
        fabric: The network.
        chunks: Chunks of a piece.
        piece: Its size.
        aim: Least time there can be for a piece of 1 without latencies.
        seed: Seed of the order in which trees are grown anew.
        deeper: Time that a chunk may be on its way against the least, at least.

    Raises:
        SimulationError: An NPU cannot be reached.
    """
    npus, trees = fabric.npus, fabric.npus * chunks
    roots = np.tile(np.arange(npus), chunks)
    cost, delay = _times(fabric, chunks, piece)
    rng = np.random.default_rng(seed)
    deep = max(_DEEP * aim, deeper * _least_depth(fabric, cost, delay))
    alike = _ALIKE if trees * npus > _MANY else 1.0

    def grow(first: bool, steep: float, load: Floats, found: Trees) -> int:
        which, meant = (rng.permutation(trees), roots, first), (steep, aim, deep, alike)
        return _packed(fabric, which, (cost, delay, load), meant, found)

    width = _width(fabric, not fabric.copies)
    return _balanced(grow, fabric.links, trees, width, aim)


def reduce_trees(
    fabric: Fabric, chunks: int, whole: float, aim: float, seed: int, deeper: float = DEEPER
) -> Trees:
    """Pairs of trees for *chunks* chunks of a whole: 2 c joins chunk c, 2 c + 1 hands it out.

    Arcs of trees that join are those of ``fabric.reversed()``. Roots are chosen with the trees.

    Args:
        fabric: The network.
        chunks: Chunks of the whole.
        whole: Its size.
        aim: Least time there can be for a whole of 1 without latencies.
        seed: Seed of the order and of the roots that are tried.
        deeper: As for ``gather_trees``.

    Raises:
        SimulationError: An NPU cannot be reached.
    """
    back = fabric.reversed()
    into = back.offsets, back.tail, back.head, back.link
    out = fabric.offsets, fabric.tail, fabric.head, fabric.link
    cost, delay = _times(fabric, chunks, whole)
    _, delay_back = _times(back, chunks, whole)
    switches = fabric.nodes - fabric.npus if fabric.copies and fabric.reduces else 0
    rng = np.random.default_rng(seed)
    roots = np.zeros(chunks, np.int64)
    least = _least_depth(fabric, cost, delay) + _least_depth(back, cost, delay_back)
    deep = max(_DEEP * aim, deeper * least) / 2
    alike = _ALIKE if 2 * chunks * fabric.npus > _MANY else 1.0

    def grow(first: bool, steep: float, load: Floats, found: Trees) -> int:
        order = rng.permutation(chunks)
        looks = chunks * len(fabric.tail)
        most = max(_LEAST_TRIED, min(_MOST_TRIED, _LOOKS // looks))
        # however few they are: sums that are complete in a switch are handed out soonest
        at_switches = fabric.npus + _drawn(rng, chunks, switches, most // 2)
        candidates = np.hstack([at_switches, _drawn(rng, chunks, fabric.npus, most)])[:, :most]
        can, delays = (fabric.npus, fabric.reduces, fabric.copies), (delay_back, delay)
        meant = steep, aim, deep, alike
        return int(
            pack_pairs(
                order, candidates, roots, first, *can, into, out, cost, delays, load, meant, *found
            )
        )

    plain = not (fabric.copies and fabric.reduces)
    return _balanced(grow, fabric.links, 2 * chunks, _width(fabric, plain), aim)


def _drawn(rng: np.random.Generator, chunks: int, nodes: int, most: int) -> Ints:
    """Nodes (chunks, C) evenly apart among so many, from one that is drawn for each chunk."""
    if not nodes:
        return np.empty((chunks, 0), np.int64)
    count = min(most, nodes)
    begin = rng.integers(nodes, size=(chunks, 1))
    return (begin + np.arange(count) * (nodes // count)) % nodes


def _times(fabric: Fabric, chunks: int, size: float) -> tuple[Floats, Floats]:
    """Times (L,) for which a chunk keeps each link, and until it can go on, per unit of *size*.

    From a switch it does as it comes in.
    """
    cost = 1.0 / fabric.rate / chunks
    stored = np.zeros(fabric.links, np.bool_)
    stored[fabric.link[fabric.head < fabric.npus]] = True
    return cost, np.where(stored, cost, 0.0) + fabric.latency / size


def _packed(
    fabric: Fabric,
    which: tuple[Ints, Ints, bool],
    times: tuple[Floats, Floats, Floats],
    meant: Meant,
    found: Trees,
) -> int:
    """Grow trees *which*, told by order, roots and newness, at the times of ``pack``."""
    order, roots, new = which
    arcs = fabric.tail, fabric.head, fabric.link
    cost, delay, load = times
    said = pack(
        order,
        roots,
        new,
        fabric.npus,
        fabric.copies,
        fabric.offsets,
        *arcs,
        cost,
        delay,
        load,
        meant,
        *found,
    )
    return int(said)


def _least_depth(fabric: Fabric, cost: Floats, delay: Floats) -> float:
    """Time until every NPU has a chunk of few roots, where nothing else is under way."""
    most, alone = 0.0, np.zeros(1, np.int64)
    for root in np.unique(np.linspace(0, fabric.npus - 1, _ROOTS).astype(np.int64)):

        def grow(_: bool, steep: float, load: Floats, found: Trees, root: int = root) -> int:
            # as if any time were too long, and no load
            meant = steep, np.inf, cost.min(), 1.0
            which, times = (alone, np.full(1, root), True), (cost, delay, load)
            return _packed(fabric, which, times, meant, found)

        found = _balanced(grow, fabric.links, 1, _width(fabric, not fabric.copies), np.inf)
        most = max(most, end_of(found[0][0], found[1][0], found[2][0], fabric.link, cost, delay))
    return most


def _balanced(
    grow: Callable[[bool, float, Floats, Trees], int],
    links: int,
    trees: int,
    width: int,
    aim: float,
) -> Trees:
    """The best trees of several rounds, each at steeper prices."""
    found = _room(trees, width)
    load = np.zeros(links)
    while (said := grow(True, _STEEP, load, found)) == _TOO_LONG:
        width *= 2
        found = _room(trees, width)
        load[:] = 0.0
    if said != _FINE:
        raise SimulationError("network: every NPU must be reachable from every other")
    hops = int(found[2].sum())
    near = next(part for most, part in _NEAR if hops <= most)
    best, least = _copied(found), load.max()
    for turn in range(1, _ROUNDS):
        if least <= aim * (1.0 + near):
            break
        if grow(False, _STEEP * (1.0 + _STEEPER * turn), load, found) != _FINE:
            break
        gain = 1.0 - load.max() / least
        if gain > 1e-12:
            best, least = _copied(found), load.max()
        if hops > _MANY and gain < near:
            break
    return best


def _width(fabric: Fabric, plain: bool) -> int:
    """Hops of a tree, more than which are rarely needed."""
    if fabric.nodes == fabric.npus:
        return max(fabric.npus - 1, 1)
    return 4 * fabric.npus if plain else fabric.nodes


def _room(trees: int, width: int) -> Trees:
    shape = trees, width
    return np.zeros(shape, np.int32), np.zeros(shape, np.int32), np.zeros(trees, np.int64)


def _copied(found: Trees) -> Trees:
    return found[0].copy(), found[1].copy(), found[2].copy()

"""Narrowest cut of a network into two halves of its NPUs."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from simcore.graphs.graph import Ints, NetworkGraph
from simcore.kernels.graphs.bisection import narrowest_cut

MOST_STEPS = 16_000_000
"""Steps of the search, some seconds, after which the answer is that it is not known."""

_MOST_WIDTH = 1 << 20
"""Widths of all cables together, so that what the search compares stays within 64 bits."""


@dataclass(frozen=True, slots=True)
class Bisection:
    """The narrowest cut.

    Attributes:
        cables: Fewest cables whose removal parts floor(n/2) NPUs from the others; None: not known.
        method: How that is known, or why it is not.
    """

    cables: int | None
    method: str


def bisection_bytes_per_s(graph: NetworkGraph, cut: Bisection) -> float | None:
    """Bandwidth of the least cut into halves, one way; None: not known.

    Args:
        graph: The network, with the speeds of its cables.
        cut: Its narrowest cut, which is that of the least bandwidth where all are equally fast.
    """
    _, first = np.unique(graph.cable_of, return_index=True)
    rate = graph.bytes_per_s[first]
    if len(rate) == 0 or (rate == rate[0]).all():
        return None if cut.cables is None or len(rate) == 0 else cut.cables * float(rate[0])
    whole = np.round(rate).astype(np.int64)
    unit = int(np.gcd.reduce(whole))
    weight = whole // unit
    if (whole != rate).any() or int(weight.sum()) > _MOST_WIDTH:
        return None
    found = bisection(graph, weight=weight).cables
    return None if found is None else found * float(unit)


def bisection(
    graph: NetworkGraph, most_steps: int = MOST_STEPS, weight: Ints | None = None
) -> Bisection:
    """The narrowest cut of *graph*, switches on either side, by an exact search.

    A link of any kind counts as its cable; cables of NPUs count.

    Args:
        graph: The network.
        most_steps: Steps after which the search gives up.
        weight: (C,) what each cable counts; 1 unless given.
    """
    if graph.npus < 2:
        return Bisection(0, "there are no two halves")
    offsets, to, width, is_npu = _merged(graph, weight)
    order = min(_cover(offsets, to, width, is_npu * 0), _cover(offsets, to, width, is_npu), key=len)
    wanted = graph.npus // 2
    known = _some_cut(offsets, to, width, is_npu, wanted)
    fix_first = graph.npus % 2 == 0
    found, steps = narrowest_cut(
        offsets, to, width, is_npu, order, wanted, known, most_steps, fix_first
    )
    if steps > most_steps:
        return Bisection(None, f"not found in {most_steps:,} steps; at most {found}")
    return Bisection(int(found), "branch and bound over all balanced cuts")


def _merged(graph: NetworkGraph, weight: Ints | None) -> tuple[Ints, Ints, Ints, Ints]:
    """Vertices and neighbours, with parallel cables, and switches with equal neighbours, as one.

    Of switches with equal neighbours, and no cable between them, a best cut has all on one side.
    """
    a, b = graph.cable_ends()
    around: list[dict[int, int]] = [defaultdict(int) for _ in range(graph.nodes)]
    count = np.ones(len(a), np.int64) if weight is None else weight
    for one, other, own in zip(a.tolist(), b.tolist(), count.tolist(), strict=True):
        if one != other:
            around[one][other] += own
            around[other][one] += own
    places: dict[object, int] = {}
    vertex = np.zeros(graph.nodes, np.int64)
    for node in range(graph.nodes):
        key = tuple(sorted(around[node].items())) if node >= graph.npus else node
        vertex[node] = places.setdefault(key, len(places))
    merged: list[dict[int, int]] = [defaultdict(int) for _ in places]
    for node, others in enumerate(around):
        for other, cables in others.items():
            merged[vertex[node]][int(vertex[other])] += cables
    counts = [len(others) for others in merged]
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    to = np.array([other for others in merged for other in others], np.int64)
    width = np.array([cables for others in merged for cables in others.values()], np.int64)
    is_npu = (np.arange(len(places)) < graph.npus).astype(np.int64)
    return offsets, to, width, is_npu


def _cover(offsets: Ints, to: Ints, width: Ints, later: Ints) -> Ints:
    """Vertices that touch all cables, each time the one with most cables to those before it.

    Those marked *later* (V,) come after all others.
    """
    vertices = len(offsets) - 1
    inside, outside = np.zeros(vertices, np.int64), np.zeros(vertices, np.int64)
    for v in range(vertices):
        outside[v] = width[offsets[v] : offsets[v + 1]].sum()
    order: list[int] = []
    scale = int(outside.max(initial=0)) + 1
    free = outside > 0
    while free.any():
        v = int(np.argmax(np.where(free, inside * scale + outside - later * scale**2, -(scale**3))))
        order.append(v)
        free[v] = False
        for k in range(offsets[v], offsets[v + 1]):
            inside[to[k]] += width[k]
            outside[to[k]] -= width[k]
            free[to[k]] &= outside[to[k]] > 0
    return np.array(order, np.int64)


def _some_cut(offsets: Ints, to: Ints, width: Ints, is_npu: Ints, wanted: int) -> int:
    """Width of a cut that may not be the narrowest: one more than the best of a few tried."""
    npus = int(is_npu.sum())
    at = np.repeat(np.arange(len(is_npu)), np.diff(offsets))
    best = int(width.sum())
    for stride in range(1, npus):
        if npus % stride:
            continue
        numbers = np.arange(npus)
        rank = np.lexsort((numbers // stride, numbers % stride))
        side = np.full(len(is_npu), 0.5)
        side[rank] = np.arange(npus) < wanted
        for _ in range(8):  # switches go where most of their neighbours are
            pull = np.bincount(at, width * (side[to] - 0.5), len(is_npu))
            side[npus:] = np.where(pull == 0, 0.5, pull > 0)[npus:]
        side = np.where(side == 0.5, 1.0, side)
        best = min(best, int((width * (side[at] != side[to])).sum()) // 2)
    return best + 1

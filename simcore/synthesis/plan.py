"""Plans: which hops carry each chunk, and which of them wait for which; not yet when."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.synthesis.scheduling import schedule, urgency
from simcore.synthesis.fabric import Fabric, Floats, Ints, Shorts

Bools = NDArray[np.bool_]

_HASTE = (0.0, 1.0, 4.0, 16.0)
"""Weights, to be tried, of how long a chunk has to go still against its turn among chunks."""
_FEW_HASTE, _LARGE = (4.0,), 1_000_000
"""Weights that are tried for plans of more than so many hops, and that number."""
_PASSES, _WORTH = 6, 1e-3
"""Times that a plan is run backwards and forwards, each time in the order of the ends before, and
part of the time that one of them must gain for one more."""

_NEAR = ((3_000_000, 1e-9), (1 << 62, 5e-3))
"""Hops, and part by which the busiest link may have ended sooner than a plan of up to so many."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """Hops of chunks along arcs, each before those that wait for it.

    Attributes:
        arc: (S,) arc of each hop; -1: a hop from a node to itself, which takes no time there.
        chunk: (S,) chunk that it carries.
        joins: (S,) true if it carries a partial sum.
        before: (E,) a hop, and
        after: (E,) one that waits for it.
        chunks: Chunks.
        part: Size of each.
        turns: (K, C) when it is the turn of each chunk, as a share of the whole, below 1; K orders
            to be tried.
    """

    arc: Ints
    chunk: Ints
    joins: Bools
    before: Ints
    after: Ints
    chunks: int
    part: float
    turns: Floats

    def busiest(self, fabric: Fabric) -> float:
        """Time that the busiest link is kept: no schedule of this plan takes less."""
        arc = self.arc[self.arc >= 0]
        busy = np.bincount(fabric.link[arc], minlength=1) * self.part
        return float((busy / fabric.rate[: len(busy)]).max()) if len(arc) else 0.0

    def longest(self, fabric: Fabric) -> float:
        """Time that the longest chain of hops takes, each as soon as that before lets it begin."""
        offsets, after, _ = _waiting(self.before, self.after, len(self.arc))
        return float(self._hops(fabric).left(offsets, after).max(initial=0.0))

    def timed(self, fabric: Fabric) -> tuple[Floats, float]:
        """Start (S,) of each hop, and the time at which all have arrived."""
        hops, on = len(self.arc), self._hops(fabric)
        forth, span = _waiting(self.before, self.after, hops), on.takes + on.latency
        left, whole = on.left(*forth[:2]), self.busiest(fabric)
        best, least = np.zeros(hops), np.inf
        near = next(part for most, part in _NEAR if hops <= most)
        enough = whole * (1 + near)
        for key in self._keys(left, whole):
            start, end = on.times(forth, on.leaves_switch, key)
            if end < least * (1 - 1e-12):
                best, least = start, end
            if least <= enough:
                return best, least
        back = _waiting(self.after, self.before, hops)
        last = best
        for _ in range(_PASSES):
            before = least
            # what ends last begins first on the way back, and what begins last there ends first
            late, end = on.times(back, on.enters_switch, -(last + span))
            if end < least * (1 - 1e-12):
                best, least = end - (late + span), end
            if least <= enough:
                break
            last, end = on.times(forth, on.leaves_switch, -(late + span))
            if end < least * (1 - 1e-12):
                best, least = last, end
            if least <= enough or 1 - least / before < max(near, _WORTH):
                break
        return best, least

    def _keys(self, left: Floats, whole: float) -> Iterator[Floats]:
        """Orders (S,) of hops to be tried, where each still has so far to go of the whole time."""
        yield -left
        for haste in _HASTE if len(left) <= _LARGE else _FEW_HASTE:
            for turn in self.turns:
                yield turn[self.chunk] * whole - haste * left

    def _hops(self, fabric: Fabric) -> "_Hops":
        """Hops as they are timed; those from a node to itself are on links after all others."""
        stays = self.arc < 0
        takes = np.where(stays, np.inf, self.part / fabric.rate[fabric.link[self.arc]])
        leaves = np.where(stays, 0, fabric.tail[self.arc]) >= fabric.npus
        enters = np.where(stays, 0, fabric.head[self.arc]) >= fabric.npus
        # what comes in at a switch and goes out again stays for no longer than the faster of both
        into, out = stays[self.after], stays[self.before]
        leaves[self.after[into]] = enters[self.after[into]] = enters[self.before[into]]
        np.minimum.at(takes, self.after[into], takes[self.before[into]])
        np.minimum.at(takes, self.before[out], takes[self.after[out]])
        takes[stays & ~leaves] = 0.0
        stay, which = np.unique(takes[stays], return_inverse=True)
        link = fabric.link[self.arc]
        link[stays] = fabric.links + which
        latency = np.append(fabric.latency, np.zeros(len(stay)))
        return _Hops(
            link=link.astype(np.int32),
            takes=takes,
            latency=latency[link],
            leaves_switch=leaves,
            enters_switch=enters,
            of_links=(np.append(self.part / fabric.rate, stay), latency, fabric.links),
        )

    def flights(self, fabric: Fabric) -> Ints:
        """Flight (S,) of each hop: hops through switches that neither copy nor reduce share one."""
        can = np.where(self.joins, fabric.reduces, fabric.copies)
        passed_on = (self.arc >= 0) & (fabric.tail[self.arc] >= fabric.npus) & ~can
        flight = np.arange(len(self.arc))
        into = passed_on[self.after]
        flight[self.after[into]] = self.before[into]
        while True:
            further = flight[flight]
            if (further == flight).all():
                return flight
            flight = further


Waiting = tuple[Ints, Ints, Ints]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Hops:
    """Hops (S,) as they are timed.

    Attributes:
        link: Of each.
        takes: Time of each on its link.
        latency: Time after that until its data is there.
        leaves_switch: Whether it leaves a switch, which passes on what comes in.
        enters_switch: Whether it enters one.
        of_links: (L,) times ``takes`` and ``latency``, and how many of L carry one hop at a time.
    """

    link: Shorts
    takes: Floats
    latency: Floats
    leaves_switch: Bools
    enters_switch: Bools
    of_links: tuple[Floats, Floats, int]

    def left(self, offsets: Ints, after: Ints) -> Floats:
        """Time (S,) from the start of each hop to the end of the longest chain behind it."""
        order = np.arange(len(self.link))
        return urgency(offsets, after, order, self.takes, self.latency, self.leaves_switch)

    def times(self, ways: Waiting, through: Bools, key: Floats) -> tuple[Floats, float]:
        """Starts (S,) of hops that wait for each other so, lowest key first, and the end."""
        offsets, after, waits = (one.astype(np.int32) for one in ways)
        start = schedule(self.link, self.of_links, (offsets, after, waits), through, key)
        return start, float((start + self.takes + self.latency).max(initial=0.0))


def _waiting(first: Ints, then: Ints, hops: int) -> Waiting:
    """Offsets (S + 1,) of the hops that wait for each hop, those, and for how many each waits."""
    order = np.argsort(first, kind="stable")
    offsets = np.searchsorted(first[order], np.arange(hops + 1)).astype(np.int64)
    return offsets, then[order], np.bincount(then, minlength=hops).astype(np.int64)


def outward_plan(arcs: Shorts, before: Shorts, hops: Ints, part: float, turn: Floats) -> Plan:
    """The plan of trees (T, H), one per chunk, that hand out from their roots."""
    arc, first, tree = flattened(arcs, before, hops)
    waits = np.flatnonzero(first >= 0)
    return Plan(
        arc=arc,
        chunk=tree,
        joins=np.zeros(len(arc), np.bool_),
        before=first[waits],
        after=waits,
        chunks=len(hops),
        part=part,
        turns=turn[None],
    )


def paired_plan(
    into: tuple[Shorts, Shorts, Ints],
    out: tuple[Shorts, Shorts, Ints],
    straight: Ints,
    part: float,
    turn: Floats,
) -> Plan:
    """The plan of pairs of trees: ``into`` joins at each root, ``out`` hands out from it.

    Args:
        into: Arcs, hops before, and numbers of hops of trees along arcs turned around.
        out: The same of trees along arcs.
        straight: (A,) the arc that each arc turned around is.
        part: Size of a chunk.
        turn: (chunks,) when it is the turn of each chunk, as a share of the whole, below 1.
    """
    arc_in, next_in, tree_in = flattened(*into)
    arc_out, first_out, tree_out = flattened(*out)
    inward, chunks = len(arc_in), len(turn)
    # growing order turned around, so that what waits comes later
    place_in = inward - 1 - np.arange(inward)
    join = inward + np.arange(chunks)
    place_out = inward + chunks + np.arange(len(arc_out))
    to = np.where(next_in >= 0, inward - 1 - next_in, join[tree_in])
    since = np.where(first_out >= 0, inward + chunks + first_out, join[tree_out])
    return Plan(
        arc=np.concatenate([straight[arc_in][::-1], np.full(chunks, -1), arc_out]),
        chunk=np.concatenate([tree_in[::-1], np.arange(chunks), tree_out]),
        joins=np.arange(inward + chunks + len(arc_out)) < inward,
        before=np.concatenate([place_in, since]),
        after=np.concatenate([to, place_out]),
        chunks=chunks,
        part=part,
        turns=turn[None],
    )


def flattened(arcs: Shorts, before: Shorts, hops: Ints) -> tuple[Ints, Ints, Ints]:
    """Hops of trees (T, H) one after the other: arc, hop before (-1: none), and tree of each."""
    there = np.arange(arcs.shape[1]) < hops[:, None]
    tree = np.repeat(np.arange(len(hops)), hops)
    begins = np.concatenate([[0], np.cumsum(hops)])[:-1]
    first = before[there]
    return arcs[there].astype(np.int64), np.where(first < 0, -1, first + begins[tree]), tree

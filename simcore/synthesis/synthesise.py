"""Synthesis of a collective for a network: candidates, the fastest of which is checked and kept."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from simcore.errors import ConfigError
from simcore.synthesis.bounds import Bound, better, bound_of
from simcore.synthesis.fabric import Fabric, Floats, Ints
from simcore.synthesis.kinds import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, KINDS, REDUCE_SCATTER
from simcore.synthesis.named import direct_trees, ring_trees
from simcore.synthesis.plan import outward_plan, paired_plan
from simcore.synthesis.replay import check
from simcore.synthesis.schedule import Schedule, scheduled
from simcore.synthesis.trees import Trees, gather_trees, reduce_trees
from simcore.synthesis.ways import way_plan

_HOPS = 2_500_000
"""Hops of a plan, more than which are not tried unless the fewest chunks need them."""
_MOST_CHUNKS = 1024
_ENOUGH, _EXACT = 0.995, 1.0 - 1e-9
"""Shares of the bound from which no more is tried where that takes long, and where it does not."""
_SHORT = 60_000
"""Hops of a plan that takes little time."""
_SEEDS = 3
"""Draws of a plan that takes little time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesis:
    """A schedule that was checked, and what it is held against.

    Attributes:
        schedule: The schedule.
        bound: Least time.
        by: The candidate that it comes from.
    """

    schedule: Schedule
    bound: Bound
    by: str

    @property
    def share(self) -> float:
        """The bound as a part of the schedule's time: 1 is the best there can be."""
        return self.bound.time / self.schedule.time if self.schedule.time else 1.0


def synthesise(
    fabric: Fabric, kind: str, piece: float = 1.0, chunks: int | None = None, seed: int = 0
) -> Synthesis:
    """A schedule of a collective for a network, replayed and with its bound.

    Args:
        fabric: The network.
        kind: A name of ``KINDS``.
        piece: Size of a piece.
        chunks: Chunks of a piece; as many as pay, unless given.
        seed: Seed of what is drawn.

    Raises:
        ConfigError: No such collective, size or number of chunks.
        SimulationError: Some NPU cannot be reached from another.
    """
    if kind not in KINDS:
        raise ConfigError("collective", f"must be one of {', '.join(KINDS)}", got=kind)
    if not 0 < piece < 1e300:
        raise ConfigError("size", "must be above 0", got=piece)
    if chunks is not None and not 1 <= chunks <= _MOST_CHUNKS:
        raise ConfigError("chunks", f"must be 1 to {_MOST_CHUNKS}", got=chunks)
    bound = bound_of(fabric, kind, piece)
    aim = bound.bandwidth / piece
    best, by = None, ""
    proofs: list[Floats] = []
    for name, found in _candidates(fabric, kind, piece, (chunks, seed), aim, proofs):
        if best is None or found.time < best.time * (1 - 1e-12):
            best, by = found, name
        if bound.time >= (_EXACT if found.sends <= _SHORT else _ENOUGH) * best.time:
            break
    assert best is not None
    check(best, fabric)
    return Synthesis(schedule=best, bound=better(bound, kind, fabric, proofs, piece), by=by)


def _candidates(
    fabric: Fabric,
    kind: str,
    piece: float,
    how: tuple[int | None, int],
    aim: float,
    proofs: list[Floats],
) -> Iterator[tuple[str, Schedule]]:
    chunks, seed = how
    if kind == ALL_GATHER:
        yield from _gathers(fabric, piece, chunks, seed, aim)
    elif kind == REDUCE_SCATTER:
        back = fabric.reversed()
        for name, found in _gathers(back, piece, chunks, seed, aim):
            yield name, found.turned_around(back, kind)
    elif kind == ALL_REDUCE:
        yield from _all_reduces(fabric, piece, chunks, seed, aim)
    else:
        yield from _all_to_alls(fabric, piece, chunks, seed, aim, proofs)


def _gathers(
    fabric: Fabric, piece: float, chunks: int | None, seed: int, aim: float
) -> Iterator[tuple[str, Schedule]]:
    npus = fabric.npus

    def timed(trees: Trees, count: int) -> Schedule:
        turn = np.repeat(np.arange(count) / count, npus)
        plan = outward_plan(*trees, piece / count, turn)
        return scheduled(
            plan, fabric, ALL_GATHER, np.tile(np.arange(npus), count), _none(npus * count)
        )

    hops = npus * max(npus - 1, 1) * _stretch(fabric)
    for count in _counts(chunks, hops):
        for draw in range(_SEEDS if count * hops <= _SHORT else 1):
            trees = gather_trees(fabric, count, aim, _SEEDS * seed + draw)
            yield f"packed trees, {count} chunks", timed(trees, count)
    if fabric.nodes > npus and not fabric.copies and npus > 1:
        for count in (chunks or 1,) if chunks else (1, 4):
            yield (
                f"direct, {count} chunks",
                timed(direct_trees(fabric, count, npus * aim, seed), count),
            )
            yield f"ring, {count} chunks", timed(ring_trees(fabric, count, seed), count)


def _all_reduces(
    fabric: Fabric, piece: float, chunks: int | None, seed: int, aim: float
) -> Iterator[tuple[str, Schedule]]:
    npus = fabric.npus
    back = fabric.reversed()
    straight = np.argsort(fabric.head, kind="stable")  # as in Fabric.reversed

    def timed(into: Trees, out: Trees, roots: Ints, part: float) -> Schedule:
        turn = np.arange(len(roots)) / len(roots)
        plan = paired_plan(into, out, straight, part, turn)
        return scheduled(plan, fabric, ALL_REDUCE, roots, _none(len(roots)))

    for count in _counts(chunks, 2 * npus * max(npus - 1, 1) * _stretch(fabric)):
        pairs = reduce_trees(fabric, npus * count, aim / npus, seed)
        into, out = _half(pairs, 0), _half(pairs, 1)
        yield (
            f"pairs of trees, {count} chunks",
            timed(into, out, _roots(fabric, out), piece / count),
        )
    for count in _counts(chunks, 2 * npus * max(npus - 1, 1) * _stretch(fabric))[-2:]:
        roots = np.tile(np.arange(npus), count)
        least = aim / 2
        into, out = gather_trees(back, count, least, seed), gather_trees(fabric, count, least, seed)
        yield f"scattered, then gathered, {count} chunks", timed(into, out, roots, piece / count)
    if fabric.nodes > npus and not (fabric.copies and fabric.reduces) and npus > 1:
        for count in (1, 4):
            roots = np.tile(np.arange(npus), count)
            into, out = ring_trees(back, count, seed), ring_trees(fabric, count, seed)
            yield f"ring, {count} chunks", timed(into, out, roots, piece / count)


def _all_to_alls(
    fabric: Fabric,
    piece: float,
    chunks: int | None,
    seed: int,
    aim: float,
    proofs: list[Floats],
) -> Iterator[tuple[str, Schedule]]:
    npus = fabric.npus
    for count in _counts(chunks, npus * max(npus - 1, 1) * _stretch(fabric)):
        source = np.repeat(np.arange(npus), max(npus - 1, 0) * count)
        step = np.tile(np.repeat(np.arange(1, npus), count), npus)
        target = (source + step) % npus
        which = np.tile(np.arange(count), npus * max(npus - 1, 0))
        turn = (which * npus + step) / (count * npus)
        plan, prices = way_plan(fabric, (source, target), piece / count, turn, aim * piece, seed)
        proofs.extend(prices)
        yield f"spread ways, {count} chunks", scheduled(plan, fabric, ALL_TO_ALL, source, target)


def _counts(chunks: int | None, hops: float) -> tuple[int, ...]:
    """Numbers of chunks of a piece to try, fewest first, where one takes *hops* hops."""
    if chunks is not None:
        return (chunks,)
    fine = [count for count in (4, 16, 64, 256, _MOST_CHUNKS) if count * hops <= _HOPS]
    return tuple(fine) or (2 if 2 * hops <= 2 * _HOPS else 1,)


def _stretch(fabric: Fabric) -> float:
    """Links of a way from NPU to NPU, about: those of the least ways by number of links."""
    return 1.0 if fabric.nodes == fabric.npus or fabric.copies else 3.0


def _half(pairs: Trees, side: int) -> Trees:
    return pairs[0][side::2], pairs[1][side::2], pairs[2][side::2]


def _roots(fabric: Fabric, out: Trees) -> Ints:
    """Root of each tree: where its first hop begins."""
    return fabric.tail[out[0][:, 0]]


def _none(count: int) -> Ints:
    return np.full(count, -1, np.int64)

"""Candidates of a synthesis: trees, ways and matchings by number of chunks, and what has a name."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from simcore.synthesis.bounds import comes_apart
from simcore.synthesis.fabric import Fabric, Floats, Ints
from simcore.synthesis.kinds import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER
from simcore.synthesis.matched import can_match, matched
from simcore.synthesis.named import direct_trees, ring_trees
from simcore.synthesis.plan import Plan, outward_plan, paired_plan
from simcore.synthesis.schedule import Schedule, scheduled
from simcore.synthesis.trees import DEEPER, Trees, gather_trees, reduce_trees
from simcore.synthesis.ways import links_apart, way_plan

MOST_CHUNKS = 1024
SHORT = 60_000
"""Hops of a plan that takes little time."""
_HOPS = 2_500_000
"""Hops of a plan, more than which are not tried unless the fewest chunks need them."""
_GATHER_HOPS = 5_500_000
"""Hops likewise of a plan of an all-gather, whose trees take little search."""
_RING_HOPS = 6_000_000
"""Hops of a ring, more than which are not tried: its plan takes no search."""
_SEEDS, _MATCHES = 3, 12
"""Draws of a plan that takes little time, and of a matching."""
_FINENESS = (4, 16, 64, 256, MOST_CHUNKS)
"""Numbers of chunks of a piece that are tried."""
_EVENER = 0.99
"""Busiest link of a plan against that of one of fewer chunks, from which still more may help."""

_LATE = 0.05
"""Latency of a link against the least time by rates, from which shallow trees are worth a try."""
_GOOD = 1.1
"""Least time of what has a name against that of all, up to which it is tried before all else."""
_NO_GAIN = 0.999
"""Busiest link against the least time, from which more chunks do not pay."""


@dataclass(slots=True)
class Known:
    """Knowledge gained while candidates are tried.

    Attributes:
        time: The least time so far; kept by who takes the candidates.
        prices: Prices of links that may prove a bound.
    """

    time: float = np.inf
    prices: list[Floats] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A candidate that has no times yet.

    Attributes:
        name: What it is.
        busiest: Time that its busiest link is kept.
        longest: Time that its longest chain of hops takes.
        schedule: What times it.
    """

    name: str
    busiest: float
    longest: float
    schedule: Callable[[], Schedule]

    @property
    def least(self) -> float:
        """No schedule of it is faster."""
        return max(self.busiest, self.longest)


def candidates(
    fabric: Fabric,
    kind: str,
    piece: float,
    how: tuple[int | None, int],
    aim: float,
    known: Known,
) -> Iterator[Draft]:
    """Candidates of a collective, those that take little time first.

    Args:
        fabric: The network.
        kind: Which collective.
        piece: Size of a piece.
        how: Chunks of a piece, None for as many as pay, and a seed.
        aim: Least time there can be for a piece of 1.
        known: What is known; prices are added to it.
    """
    chunks, seed = how
    if kind == ALL_GATHER:
        yield from _gathers(fabric, piece, chunks, seed, aim, known)
    elif kind == REDUCE_SCATTER:
        back = fabric.reversed()
        for draft in _gathers(back, piece, chunks, seed, aim, known):
            yield replace(draft, schedule=_turned(draft.schedule, back))
    elif kind == ALL_REDUCE:
        yield from _all_reduces(fabric, piece, chunks, seed, aim, known)
    else:
        yield from _all_to_alls(fabric, piece, chunks, seed, aim, known)


def _turned(schedule: Callable[[], Schedule], back: Fabric) -> Callable[[], Schedule]:
    return lambda: schedule().turned_around(back, REDUCE_SCATTER)


def _draft(name: str, plan: Plan, fabric: Fabric, kind: str, owner: Ints, target: Ints) -> Draft:
    return Draft(
        name=name,
        busiest=plan.busiest(fabric),
        longest=plan.longest(fabric),
        schedule=lambda: scheduled(plan, fabric, kind, owner, target),
    )


def _gathers(
    fabric: Fabric, piece: float, chunks: int | None, seed: int, aim: float, known: Known
) -> Iterator[Draft]:
    npus = fabric.npus
    draft = partial(_outward, fabric, piece)
    hops = npus * max(npus - 1, 1) * _stretch(fabric)
    counts = _gather_counts(fabric, chunks)
    named = _is_ringed(fabric) and not fabric.copies

    def ring(count: int) -> Draft:
        return draft("ring", ring_trees(fabric, count, seed), count)

    later: Iterator[Draft] = iter(())
    if named:
        soon, later = _split(ring, _ring_counts(fabric, chunks, seed, 1), known, aim * piece)
        yield from soon
    for count in counts:
        for draw in range(_SEEDS if count * hops <= SHORT else 1):
            yield _packed(fabric, piece, count, aim, _SEEDS * seed + draw)
        for draw in range(_MATCHES if can_match(fabric, count) else 0):
            yield Draft(
                name=f"matched chunks, {count} of a piece",
                busiest=0.0,
                longest=0.0,
                schedule=_matching(fabric, count, piece / count, _MATCHES * seed + draw),
            )
    yield from later
    # NPUs on the way would add up what is for others, were this run backwards
    direct = replace(fabric, npus_forward=False)
    if named and np.isfinite(links_apart(direct)):
        yield from _refined(
            lambda count: draft("direct", direct_trees(direct, count, npus * aim, seed), count),
            counts,
            known,
        )


def _gather_counts(fabric: Fabric, chunks: int | None) -> tuple[int, ...]:
    pairs = fabric.npus * max(fabric.npus - 1, 1)
    hops = pairs * _stretch(fabric)
    return _counts(chunks, hops, lambda: pairs * links_apart(fabric), _GATHER_HOPS)


def _outward(fabric: Fabric, piece: float, name: str, trees: Trees, count: int) -> Draft:
    """A draft of an all-gather by trees, *count* of each NPU."""
    plan = outward_plan(*trees, piece / count, _turns(fabric.npus, count))
    ends = np.tile(np.arange(fabric.npus), count), _none(fabric.npus * count)
    return _draft(f"{name}, {count} chunks", plan, fabric, ALL_GATHER, *ends)


def _packed(fabric: Fabric, piece: float, count: int, aim: float, seed: int) -> Draft:
    trees = gather_trees(fabric, count, piece, aim, seed)
    return _outward(fabric, piece, "packed trees", trees, count)


def _split(
    draft: Callable[[int], Draft], counts: tuple[int, ...], known: Known, least: float
) -> tuple[Iterator[Draft], Iterator[Draft]]:
    """Drafts of one kind to be tried before and after all else: before, if most chunks are good."""
    first, most = draft(1), max(counts)
    if max(first.busiest, first.longest / most) <= _GOOD * least:
        return iter((first if most == 1 else draft(most),)), iter(())
    return iter(()), _refined(draft, counts, known)


def _refined(
    draft: Callable[[int], Draft], counts: tuple[int, ...], known: Known
) -> Iterator[Draft]:
    """Drafts of one kind with ever more chunks, for as long as its busiest link lets it win."""
    for count in sorted({1, *counts}):
        found = draft(count)
        yield found
        if found.busiest >= _NO_GAIN * known.time:
            return


def _matching(fabric: Fabric, count: int, part: float, draw: int) -> Callable[[], Schedule]:
    return lambda: matched(fabric, count, part, draw)


def _all_reduces(
    fabric: Fabric, piece: float, chunks: int | None, seed: int, aim: float, known: Known
) -> Iterator[Draft]:
    npus, back = fabric.npus, fabric.reversed()
    hops = 2 * npus * max(npus - 1, 1) * _stretch(fabric)
    counts = _counts(chunks, hops)

    def ring(count: int) -> Draft:
        into, out = ring_trees(back, count, seed), ring_trees(fabric, count, seed)
        return _paired(fabric, piece, "ring", (into, out), count)

    later: Iterator[Draft] = iter(())
    if _is_ringed(fabric) and not (fabric.copies and fabric.reduces):
        soon, later = _split(ring, _ring_counts(fabric, chunks, seed, 2), known, aim * piece)
        yield from soon
    soon_there = fabric.latency.max(initial=0.0) <= _LATE * aim * piece
    if hops > SHORT and soon_there and comes_apart(fabric, aim):
        # no pairs of trees load links less, and a part alone is planned in a fraction of the time
        yield from _in_two_parts(fabric, piece, chunks, seed, aim)
    else:
        yield from _in_pairs(fabric, piece, counts, seed, aim, known)
    yield from later


def _in_pairs(
    fabric: Fabric, piece: float, counts: tuple[int, ...], seed: int, aim: float, known: Known
) -> Iterator[Draft]:
    """Drafts by two trees of each chunk, whose roots are chosen or those of its pieces."""
    npus, back, before = fabric.npus, fabric.reversed(), np.inf
    for count in counts:
        busiest = np.inf
        for deeper in _depths(fabric, count, aim * piece):
            pairs = reduce_trees(fabric, npus * count, npus * piece, aim / npus, seed, deeper)
            halves = _half(pairs, 0), _half(pairs, 1)
            yield (found := _paired(fabric, piece, "pairs of trees", halves, count))
            busiest = min(busiest, found.busiest)
        if busiest >= known.time and busiest > _EVENER * before:
            break  # finer chunks do not make loads more even, and what is known is faster
        before = busiest
    for count in counts[-2:]:
        for deeper in _depths(fabric, count, aim * piece):
            how = count, piece, aim / 2, seed, deeper
            halves = gather_trees(back, *how), gather_trees(fabric, *how)
            yield _paired(fabric, piece, "scattered, then gathered", halves, count)


def _paired(
    fabric: Fabric, piece: float, name: str, halves: tuple[Trees, Trees], count: int
) -> Draft:
    """A draft of an all-reduce by trees that join and trees that hand out, *count* of each NPU."""
    roots = _roots(fabric, halves[1])
    turn = np.arange(len(roots)) / len(roots)
    straight = np.argsort(fabric.head, kind="stable")  # as in Fabric.reversed
    plan = paired_plan(*halves, straight, piece / count, turn)
    return _draft(f"{name}, {count} chunks", plan, fabric, ALL_REDUCE, roots, _none(len(roots)))


def _in_two_parts(
    fabric: Fabric, piece: float, chunks: int | None, seed: int, aim: float
) -> Iterator[Draft]:
    """Drafts of a reduce-scatter before an all-gather; one is the other where links are alike."""
    twin, back = fabric.mirror(), fabric.reversed()
    for count in _gather_counts(fabric, chunks):
        there = _packed(fabric, piece, count, aim / 2, seed)
        if twin is None:
            before = _packed(back, piece, count, aim / 2, seed)
            schedule = _joined(before.schedule, there.schedule, back)
        else:
            before, schedule = there, _doubled(there.schedule, twin, back)
        yield Draft(
            name=f"scattered, then gathered, {count} chunks",
            busiest=before.busiest + there.busiest,
            longest=before.longest + there.longest,
            schedule=schedule,
        )


def _doubled(gather: Callable[[], Schedule], twin: Ints, back: Fabric) -> Callable[[], Schedule]:
    def schedule() -> Schedule:
        there = gather()
        before = replace(there, link=twin[there.link])
        return before.turned_around(back, REDUCE_SCATTER).then(there, ALL_REDUCE)

    return schedule


def _joined(
    before: Callable[[], Schedule], there: Callable[[], Schedule], back: Fabric
) -> Callable[[], Schedule]:
    return lambda: before().turned_around(back, REDUCE_SCATTER).then(there(), ALL_REDUCE)


def _all_to_alls(
    fabric: Fabric, piece: float, chunks: int | None, seed: int, aim: float, known: Known
) -> Iterator[Draft]:
    npus = fabric.npus
    pairs = npus * max(npus - 1, 1)
    for count in _counts(chunks, pairs * _stretch(fabric), lambda: pairs * links_apart(fabric)):
        source = np.repeat(np.arange(npus), max(npus - 1, 0) * count)
        step = np.tile(np.repeat(np.arange(1, npus), count), npus)
        target = (source + step) % npus
        which = np.tile(np.arange(count), npus * max(npus - 1, 0))
        turns = _pair_turns(which, step, npus)
        for meant in _loads(fabric, count, aim * piece):
            plan, prices = way_plan(fabric, (source, target), piece / count, turns, meant, seed)
            known.prices.extend(prices)
            name = f"spread ways, {count} chunks"
            yield _draft(name, plan, fabric, ALL_TO_ALL, source, target)


def _is_ringed(fabric: Fabric) -> bool:
    """True if a ring over the NPUs is worth a try: switches join each of them to the next."""
    if not fabric.nodes > fabric.npus > 1:
        return False
    return fabric.npus_forward or bool(np.isfinite(links_apart(fabric)))


def _counts(
    chunks: int | None,
    hops: float,
    exact: Callable[[], float] | None = None,
    most: int = _HOPS,
) -> tuple[int, ...]:
    """Numbers of chunks of a piece to try, fewest first.

    Args:
        chunks: Those that were asked for.
        hops: Hops that one chunk of each piece takes, about.
        exact: Tells them better, where the fewest chunks are to be chosen.
        most: Hops, more than which are not tried unless the fewest chunks need them.
    """
    if chunks is not None:
        return (chunks,)
    fine = [count for count in _FINENESS if count * hops <= most]
    if fine:
        return tuple(fine)
    return (2 if (hops if exact is None else exact()) <= most else 1,)


def _ring_counts(fabric: Fabric, chunks: int | None, seed: int, rounds: int) -> tuple[int, ...]:
    """Numbers of chunks of a piece to try on a ring, which goes round so many times."""
    if chunks is not None:
        return (chunks,)
    hops = rounds * int(ring_trees(fabric, 1, seed)[2].sum())
    return tuple(count for count in (2, *_FINENESS) if count * hops <= _RING_HOPS) or (1,)


def _loads(fabric: Fabric, count: int, aim: float) -> tuple[float, ...]:
    """Loads of links that are meant: where latencies count, also more, which saves detours."""
    most = fabric.latency.max(initial=0.0)
    short = count * fabric.npus**2 * _stretch(fabric) <= SHORT
    return (aim, aim + 2 * most) if most > _LATE * aim and short else (aim,)


def _depths(fabric: Fabric, count: int, aim: float) -> tuple[float, ...]:
    """Times that a chunk may be on its way, against the least: where that counts, none more."""
    hops = 2 * count * fabric.npus**2 * _stretch(fabric)
    counts = fabric.latency.max(initial=0.0) > _LATE * aim
    return (DEEPER, 1.0) if counts and hops <= SHORT else (DEEPER,)


def _stretch(fabric: Fabric) -> float:
    """Links of a way from NPU to NPU, about: those of the least ways by number of links."""
    return 1.0 if fabric.nodes == fabric.npus or fabric.copies else 3.0


def _half(pairs: Trees, side: int) -> Trees:
    return pairs[0][side::2], pairs[1][side::2], pairs[2][side::2]


def _roots(fabric: Fabric, out: Trees) -> Ints:
    """Root of each tree: where its first hop begins."""
    return fabric.tail[out[0][:, 0]]


def _turns(npus: int, count: int) -> Floats:
    """Turn (count npus,) of chunk c of NPU r, number c npus + r, below 1: all c before all c + 1.

    Within those turns are drawn, so that NPUs do not all wait for the chunks of one.
    """
    draws = np.random.default_rng(npus).random(npus * count)
    return (np.repeat(np.arange(count), npus) + draws) / count


def _pair_turns(which: Ints, step: Ints, npus: int) -> Floats:
    """Turns (2, D) of chunks *which* of their pieces, all c before all c + 1: drawn, and by *step*.

    By step no two chunks of a turn are for one NPU. Drawn, those of neighbours do not all go to
    one part of the network at a time, for which few links would carry all while others wait.
    """
    within = np.stack([np.random.default_rng(npus).random(len(which)), step / npus])
    turns: Floats = (which + within) / (which.max(initial=0) + 1)
    return turns


def _none(count: int) -> Ints:
    return np.full(count, -1, np.int64)

"""Schedules of every candidate on random networks, replayed by plain sums of contributions."""

from collections import Counter

import numpy as np
import pytest

from simcore.synthesis.bounds import bound_of
from simcore.synthesis.candidates import Known, _in_two_parts, candidates
from simcore.synthesis.fabric import Fabric
from simcore.synthesis.kinds import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, KINDS, REDUCE_SCATTER
from simcore.synthesis.replay import check
from simcore.synthesis.schedule import Schedule


def _network(seed: int) -> Fabric:
    """Few NPUs and switches, joined at random by cables of unlike speed, one half duplex."""
    rng = np.random.default_rng(seed)
    npus, switches = int(rng.integers(3, 6)), int(rng.integers(3))
    nodes = npus + switches
    ends = [(node, int(rng.integers(node))) for node in range(1, nodes)]
    more = rng.integers(nodes, size=(4, 2)).tolist()
    ends += [(a, b) for a, b in more if a != b]
    one, other = np.array(ends).T
    cables = len(ends)
    link = np.concatenate([np.arange(cables), np.arange(cables, 2 * cables)])
    link[cables] = 0  # the first cable carries one way at a time
    tail, head = np.concatenate([one, other]), np.concatenate([other, one])
    order = np.argsort(tail, kind="stable")
    return Fabric(
        npus=npus,
        nodes=nodes,
        tail=tail[order],
        head=head[order],
        link=np.unique(link, return_inverse=True)[1][order],
        rate=rng.integers(1, 4, 2 * cables - 1).astype(np.float64),
        latency=rng.random(2 * cables - 1) * (seed % 2),
        copies=bool(seed & 2),
        reduces=bool(seed & 4),
    )


def _ends_of(schedule: Schedule, fabric: Fabric) -> list[list[Counter[int]]]:
    """What each NPU holds of each chunk in the end: how often whose contribution."""
    sums = schedule.kind in (REDUCE_SCATTER, ALL_REDUCE)
    holds = [
        [
            Counter([node] if node < fabric.npus and (sums or node == owner) else [])
            for owner in schedule.owner.tolist()
        ]
        for node in range(fabric.nodes)
    ]
    passing: dict[tuple[int, int], Counter[int]] = {}
    coming: list[tuple[float, int, int, bool, Counter[int]]] = []
    takes = schedule.part / fabric.rate[schedule.link]
    # switches have a chunk from when it begins to come in, and send no faster than it does
    into_switch = schedule.head >= fabric.npus
    there = schedule.start + np.where(into_switch, 0.0, takes) + fabric.latency[schedule.link]
    last: dict[tuple[int, int], float] = {}
    for send in range(schedule.sends):
        now, tail, head = schedule.start[send], int(schedule.tail[send]), int(schedule.head[send])
        chunk, joins, flight = (
            schedule.chunk[send],
            schedule.joins[send],
            int(schedule.flight[send]),
        )
        for one in [one for one in coming if one[0] <= now + 1e-9]:
            coming.remove(one)
            _, at, which, adds, data = one
            holds[at][which] = holds[at][which] + data if adds else data
        able = fabric.reduces if joins else fabric.copies
        what = int(chunk if able else ~flight)
        done = now + takes[send]
        assert done >= last.get((tail, what), 0.0) - 1e-9, "a node sends what has not come in"
        arrives = done + fabric.latency[schedule.link[send]]
        last[head, what] = max(last.get((head, what), 0.0), arrives)
        waits = tail >= fabric.npus and not able
        data = passing.pop((flight, tail)) if waits else holds[tail][chunk]
        if joins and not waits:
            holds[tail][chunk] = Counter()  # a partial sum that is sent is the receiver's from then
        assert data, "a node sends what it does not hold"
        if head >= fabric.npus and not able:
            passing[flight, head] = data
        else:
            coming.append((there[send], head, int(chunk), bool(joins), data))
    for _, at, what, adds, data in sorted(coming, key=lambda one: one[0]):
        holds[at][what] = holds[at][what] + data if adds else data
    assert not passing
    return holds


def _assert_done(schedule: Schedule, fabric: Fabric) -> None:
    holds, npus = _ends_of(schedule, fabric), range(fabric.npus)
    everyone = Counter(npus)
    for chunk, owner in enumerate(schedule.owner.tolist()):
        if schedule.kind == ALL_GATHER:
            assert all(holds[npu][chunk] == Counter([owner]) for npu in npus)
        elif schedule.kind == ALL_TO_ALL:
            assert holds[int(schedule.target[chunk])][chunk] == Counter([owner])
        elif schedule.kind == REDUCE_SCATTER:
            assert holds[owner][chunk] == everyone
        else:
            assert all(holds[npu][chunk] == everyone for npu in npus)


@pytest.mark.parametrize("seed", range(8))
def test_each_contribution_counts_once_in_every_candidate(seed: int) -> None:
    fabric = _network(seed)
    for kind in KINDS:
        aim = bound_of(fabric, kind, 1.0).bandwidth
        for draft in candidates(fabric, kind, 1.0, (1 + seed % 2, seed), aim, Known()):
            found = draft.schedule()
            check(found, fabric)
            _assert_done(found, fabric)
            assert found.time >= max(aim, draft.least) * (1 - 1e-9)


@pytest.mark.parametrize("alike", [True, False])
def test_an_all_gather_run_backwards_and_forwards_is_an_all_reduce(alike: bool) -> None:
    """A ring of 4: where links are alike both ways, one part is the other's mirror."""
    npu = np.arange(4)
    tail, head = np.concatenate([npu, npu]), np.concatenate([(npu + 1) % 4, (npu - 1) % 4])
    order = np.argsort(tail, kind="stable")
    fabric = Fabric(
        npus=4,
        nodes=4,
        tail=tail[order],
        head=head[order],
        link=order,
        rate=np.where(np.arange(8) < 4, 1.0, 1.0 if alike else 2.0),
        latency=np.zeros(8),
    )
    assert (fabric.mirror() is not None) == alike
    aim = bound_of(fabric, ALL_REDUCE, 1.0).bandwidth
    (draft,) = _in_two_parts(fabric, 1.0, 16, 0, aim)
    found = draft.schedule()
    check(found, fabric)
    _assert_done(found, fabric)
    assert found.kind == ALL_REDUCE
    assert aim * (1 - 1e-9) <= found.time <= aim * 1.05

"""Collectives timed together cost what each costs by itself."""

import itertools

import pytest

from simcore.engines.collectives.placement import Placement
from simcore.engines.collectives.timer import MOST_KNOWN, CollectiveTimer
from simcore.machine import Dimension
from simcore.machine.system import System
from simcore.terms import CollectiveKind
from simcore.topologies import TOPOLOGIES

DIMENSIONS = [
    Dimension(topology=topology, npus=8, bandwidth_bytes_per_s=rate, latency_s=500e-9)
    for topology, rate in zip(TOPOLOGIES, (200e9, 100e9, 50e9), strict=False)
]
PLACEMENTS = [
    Placement(extent=(8, 1, 1), stride=(1, 1, 1)),
    Placement(extent=(1, 4, 8), stride=(1, 2, 1)),
    Placement(extent=(4, 8, 2), stride=(2, 1, 4)),
]
WANTED = list(
    itertools.product(
        [CollectiveKind.ALL_REDUCE, CollectiveKind.ALL_GATHER, CollectiveKind.REDUCE_SCATTER],
        PLACEMENTS,
        [1, 4096, 10_000_019],
    )
)


def timer(algorithm: str, policy: str) -> CollectiveTimer:
    system = System(all_reduce=(algorithm,), inter_dimension=policy, phase_end="together")
    return CollectiveTimer(DIMENSIONS, system, 1.6e12)


@pytest.mark.parametrize(
    ("algorithm", "policy"),
    [
        ("ring", "ascending"),
        ("halving_doubling", "ascending"),
        ("double_binary_tree", "ascending"),
        ("ring", "round_robin"),
    ],
)
def test_collectives_timed_together_cost_what_each_costs_by_itself(
    algorithm: str, policy: str
) -> None:
    together = timer(algorithm, policy).times([*WANTED, *WANTED])
    assert together[: len(WANTED)] == together[len(WANTED) :]
    assert together[: len(WANTED)] == [timer(algorithm, policy).time(*one) for one in WANTED]


def test_one_machine_remembers_no_more_than_it_says() -> None:
    ring, sizes = timer("ring", "ascending"), range(64, 64 + 3 * MOST_KNOWN)
    kind, place = CollectiveKind.ALL_REDUCE, PLACEMENTS[0]
    times = [ring.time(kind, place, size) for size in sizes]
    assert len(ring._known) <= MOST_KNOWN
    assert times == timer("ring", "ascending").times([(kind, place, size) for size in sizes])


def test_a_stand_in_is_told_with_the_dimension_that_needs_it() -> None:
    three = Placement(extent=(1, 3, 2), stride=(1, 1, 1))
    names = timer("halving_doubling", "ascending").stand_ins(CollectiveKind.ALL_REDUCE, three)
    assert names == (
        "ring stood in for halving_doubling in all_reduce among 3 NPUs of dimension 1",
    )

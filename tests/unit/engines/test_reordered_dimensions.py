"""Collectives of a training step whose chunks pass the dimensions in other orders."""

from random import Random

import pytest

from simcore.engines.collectives.placement import Placement
from simcore.engines.collectives.timer import CollectiveTimer
from simcore.machine.dimension import Dimension
from simcore.machine.system import System
from simcore.terms import EVERYWHERE, CollectiveKind

SWITCH = {"topology": "switch", "npus": 4, "bandwidth": "100 GB/s", "latency": "700 ns"}
KINDS = list(EVERYWHERE)


def timer(tables: list[dict[str, object]], policy: str, chunks: int = 16) -> CollectiveTimer:
    dimensions = [Dimension.from_file_data(table, at="dimension") for table in tables]
    return CollectiveTimer(dimensions, System(chunks=chunks, inter_dimension=policy), 1.6e12)


def test_equal_dimensions_share_the_load_of_an_all_reduce() -> None:
    whole = Placement(extent=(4, 4, 4), stride=(1, 1, 1))
    key = CollectiveKind.ALL_REDUCE, whole, 1 << 28
    usual = timer([SWITCH] * 3, "ascending").time(*key)
    greedy = timer([SWITCH] * 3, "offline_greedy").time(*key)
    assert greedy.duration_ns < 0.7 * usual.duration_ns
    assert sum(greedy.sent_bytes) == pytest.approx(sum(usual.sent_bytes))
    assert max(greedy.sent_bytes) < 0.6 * max(usual.sent_bytes)


@pytest.mark.parametrize("policy", ["round_robin", "offline_greedy"])
def test_members_agree_on_the_order_and_end_together(policy: str) -> None:
    random = Random(5)
    for _ in range(15):
        sizes = [random.choice([2, 3, 4, 8]) for _ in range(random.randint(2, 3))]
        topologies = [random.choice(["switch", "ring", "fully_connected"]) for _ in sizes]
        tables = [
            {**SWITCH, "npus": npus, "topology": topology}
            for npus, topology in zip(sizes, topologies, strict=True)
        ]
        whole = Placement(extent=tuple(sizes), stride=(1,) * len(sizes))
        timed = timer(tables, policy)
        for kind in KINDS:
            assert timed.time(kind, whole, random.randrange(1 << 20, 1 << 24)).held_ns == 0

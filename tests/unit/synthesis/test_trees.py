"""Trees over networks whose switches do not copy: even loads, few hops one after the other."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simcore.errors import SimulationError
from simcore.graphs.network_table import NetworkFile
from simcore.synthesis.bounds import bound_of
from simcore.synthesis.fabric import Fabric, fabric_of, fabric_of_table
from simcore.synthesis.kinds import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, KINDS, REDUCE_SCATTER
from simcore.synthesis.plan import outward_plan
from simcore.synthesis.replay import check
from simcore.synthesis.synthesise import synthesise
from simcore.synthesis.trees import gather_trees


@pytest.fixture(scope="module")
def rails() -> Fabric:
    """16 servers of 8 NPUs, whose rails are kept busy all the time by a best all-gather."""
    table: dict[str, Any] = {
        "family": "rails",
        "params": {"servers": 16, "npus_per_server": 8, "servers_per_pod": 16, "spines": 2},
        "cables": {"npu-nvswitch": {"bandwidth": "450 GB/s", "latency": "0 s"}},
        "bandwidth": "50 GB/s",
        "latency": "0 s",
    }
    return fabric_of(NetworkFile.from_file_data(table, at="").graph())


def test_no_rail_carries_much_more_than_its_part_and_trees_stay_shallow(rails: Fabric) -> None:
    aim = bound_of(rails, ALL_GATHER, 1.0).bandwidth
    trees = gather_trees(rails, 2, 1.0, aim, seed=0)
    plan = outward_plan(*trees, 0.5, np.zeros(2 * rails.npus))
    # one chunk on a rail is a thirtieth of the least time
    assert plan.busiest(rails) <= aim * (1 + 3 / 30)
    assert plan.longest(rails) <= aim / 2


def test_a_plan_run_backwards_and_forwards_comes_close_to_its_busiest_link(rails: Fabric) -> None:
    aim = bound_of(rails, ALL_GATHER, 1.0).bandwidth
    plan = outward_plan(*gather_trees(rails, 2, 1.0, aim, seed=0), 0.5, np.zeros(2 * rails.npus))
    start, end = plan.timed(rails)
    assert plan.busiest(rails) <= end <= 1.35 * plan.busiest(rails)
    first = np.full(len(plan.arc), True)
    first[plan.after] = False
    assert start[first].min() == 0.0


@pytest.mark.parametrize("kind", [ALL_GATHER, REDUCE_SCATTER, ALL_REDUCE])
def test_npus_that_pass_nothing_on_may_still_use_what_is_for_them(kind: str) -> None:
    """Two servers of two NPUs, a rail each: no switch joins NPU 0 to NPU 3, nor 1 to 2."""
    cables = [(0, 4), (1, 4), (2, 5), (3, 5), (0, 6), (2, 6), (1, 7), (3, 7)]
    rows = [[a, b, 1, 0] for a, b in cables] + [[b, a, 1, 0] for a, b in cables]
    table = {"npus": 4, "nodes": 8, "links": rows, "npus_forward": False}
    found = synthesise(fabric_of_table(table), kind, chunks=16)
    assert found.share > 0.9


def test_a_sum_that_one_switch_completes_may_be_handed_out_by_another() -> None:
    """Unequal leaves and spines that reduce and copy: some roots have one switch below them."""
    rows = [[npu, 6 + (npu > 3), 1, 0] for npu in range(6)]
    rows += [[leaf, spine, rate, 0] for leaf, rate in ((6, 1), (7, 2)) for spine in (8, 9, 10)]
    rows += [[b, a, rate, latency] for a, b, rate, latency in rows]
    able = {"switch_copies": True, "switch_reduces": True}
    fabric = fabric_of_table({"npus": 6, "nodes": 11, "links": rows, **able})
    found = synthesise(fabric, ALL_REDUCE, chunks=16)
    assert found.share > 0.9


def test_switches_that_reduce_and_do_not_copy_leave_npus_to_send_twice() -> None:
    """Each of four NPUs brings what is its own, and three receive what no switch can double."""
    rows = [[npu, 4, 1, 0] for npu in range(4)] + [[4, npu, 1, 0] for npu in range(4)]
    table = {"npus": 4, "nodes": 5, "links": rows, "switch_reduces": True}
    bound = bound_of(fabric_of_table(table), ALL_REDUCE, 1.0)
    assert bound.bandwidth == pytest.approx(2 * 3 * 4 / 4)
    assert bound.by == "what NPUs must send"


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_pass_switches_as_they_come_in(kind: str) -> None:
    """A ring of one chunk a piece over three tiers of switches is never held up by any of them."""
    table = {"family": "fat_tree", "params": {"k": 4}, "bandwidth": "1 GB/s", "latency": "0 s"}
    fabric = fabric_of(NetworkFile.from_file_data(table, at="").graph())
    found = synthesise(fabric, kind, 1e9, chunks=1)
    if kind != ALL_TO_ALL:
        assert found.schedule.time == pytest.approx(found.bound.bandwidth, rel=1e-9)


def test_a_switch_sends_on_no_sooner_than_all_of_a_chunk_comes_in_time() -> None:
    """Out of a switch four times as fast as into it: three quarters of the chunk come first."""
    rows = [[0, 2, 1, 0], [2, 1, 4, 0], [1, 2, 4, 0], [2, 0, 1, 0]]
    fabric = fabric_of_table({"npus": 2, "nodes": 3, "links": rows})
    found = synthesise(fabric, ALL_TO_ALL, chunks=1)
    assert found.schedule.time == pytest.approx(1.0)
    sent = dict(zip(found.schedule.link.tolist(), found.schedule.start.tolist(), strict=True))
    assert sent == pytest.approx({0: 0.0, 1: 0.75, 2: 0.0, 3: 0.0})
    soon = replace(found.schedule, start=np.minimum(found.schedule.start, 0.5))
    with pytest.raises(SimulationError, match="does not hold"):
        check(soon, fabric)


def test_a_ring_may_pass_a_link_more_than_once() -> None:
    """Six routers with an NPU each: neighbours in different groups share the links between them."""
    table = {"family": "dragonfly", "params": {"p": 1, "a": 2, "h": 1}, "bandwidth": "1 GB/s"}
    network = NetworkFile.from_file_data({**table, "latency": "0 s"}, at="")
    found = synthesise(fabric_of(network.graph()), ALL_REDUCE, 1e9, chunks=4)
    assert found.share > 0.9

"""Placements: permutations, swaps that never cost more, optima that are known, and bad input."""

from typing import Any

import numpy as np
import pytest

from simcore.engines.placed.links import PlacedLinks
from simcore.errors import ConfigError
from simcore.kernels.placement.swaps import swap_ranks
from simcore.machine import load_platform
from simcore.network.dimensions import engine_dimensions
from simcore.placement import PLACEMENTS, Floats, PlacementRule, Ranks
from simcore.placement.choice import Placement, PlacementChoice
from simcore.placement.greedy import pairs_of
from simcore.schema import Schema


class Holder(Schema):
    """A file with a placement."""

    placement: Placement


def chosen(given: Any) -> PlacementChoice:
    return Holder.from_file_data({"placement": given}, at="").placement


def ranks(traffic: Floats, distance: Floats) -> Ranks:
    return Ranks(len(traffic), lambda: traffic, lambda: distance)


def leaves(npus: int, per_leaf: int) -> Floats:
    """Links between NPUs under leaves: two within one, four between two."""
    leaf = np.arange(npus) // per_leaf
    return np.where(leaf[:, None] == leaf, 2.0, 4.0) * (1 - np.eye(npus))


def torus(side: int) -> Floats:
    at = np.divmod(np.arange(side * side), side)
    apart = [np.abs(one[:, None] - one) for one in at]
    return np.asarray(sum(np.minimum(one, side - one) for one in apart), np.float64)


def random_traffic(seed: int, count: int) -> Floats:
    generator = np.random.default_rng(seed)
    sends = generator.random((count, count)) < 0.3
    return np.asarray(sends * generator.random((count, count)) * (1 - np.eye(count)))


@pytest.mark.parametrize("rule", [name for name in PLACEMENTS if name != "listed"])
def test_every_rank_gets_an_npu_of_its_own(rule: str) -> None:
    for seed, count in enumerate((1, 2, 7, 16)):
        question = ranks(random_traffic(seed, count), leaves(count, 4))
        where = chosen(rule).place(question)
        assert sorted(where.tolist()) == list(range(count))
        assert where.tolist() == chosen(rule).place(question).tolist()


def test_swaps_never_cost_more_and_save_what_they_say() -> None:
    for seed in range(20):
        traffic = random_traffic(seed, 12)
        generator = np.random.default_rng(seed)
        distance = generator.random((12, 12))  # not even the same both ways
        question, where = ranks(traffic, distance), generator.permutation(12)
        before = question.cost(where)
        swap_ranks(pairs_of(traffic, distance), where, before, 10**9)
        assert question.cost(where) <= before * (1 + 1e-12)
        settled = question.cost(where)
        for one in range(12):
            for other in range(one):
                moved = where.copy()
                moved[[one, other]] = moved[[other, one]]
                assert question.cost(moved) >= settled * (1 - 1e-9)
        own = chosen("greedy").place(question)
        assert question.cost(own) <= question.cost(np.arange(12)) * (1 + 1e-12)


def drawn_network(generator: np.random.Generator) -> dict[str, Any]:
    """Up to 24 NPUs at switches of a random tree, and cables of random speed between some."""
    npus, switches = int(generator.integers(5, 25)), int(generator.integers(1, 7))
    cables = {(f"n{npu}", f"s{generator.integers(switches)}") for npu in range(npus)}
    cables |= {(f"s{generator.integers(one)}", f"s{one}") for one in range(1, switches)}
    cables |= {(f"n{npu}", f"n{generator.integers(npu)}") for npu in (1, npus // 2, npus - 1)}
    rates = generator.integers(10, 200, len(cables))
    rows = [
        {"source": a, "target": b, "bandwidth": f"{rate} GB/s", "latency": "1 us"}
        for (a, b), rate in zip(sorted(cables), rates, strict=True)
    ]
    nodes = [{"id": f"n{npu}"} for npu in range(npus)]
    nodes += [{"id": f"s{one}", "kind": "switch"} for one in range(switches)]
    rule = ["ecmp_hash", "spray", "minimal_lowest"][int(generator.integers(3))]
    return {"graph": {"nodes": nodes, "links": rows}, "routing": {"rule": rule}}


def test_on_random_networks_no_list_and_no_order_costs_less() -> None:
    generator = np.random.default_rng(7)
    for _ in range(50):
        table = {"npu": "h100_80", "network": drawn_network(generator)}
        dimensions = engine_dimensions(load_platform(table).dimensions)
        npus = np.arange(int(np.prod([one.npus for one in dimensions])))
        sends = generator.random((len(npus), len(npus))) * (1 - np.eye(len(npus)))
        traffic = sends**3 * (sends > generator.random())
        question = ranks(traffic, PlacedLinks(dimensions).distance(npus))
        placed = question.cost(chosen("greedy").place(question))
        for listed in (npus, generator.permutation(npus)):
            where = chosen(listed.tolist()).place(question)
            assert placed <= question.cost(where) * (1 + 1e-12)


def test_on_a_full_mesh_all_placements_cost_the_same() -> None:
    traffic = random_traffic(3, 10)
    question = ranks(traffic, 1.0 - np.eye(10))
    costs = [question.cost(np.random.default_rng(seed).permutation(10)) for seed in range(5)]
    assert costs == pytest.approx([traffic.sum()] * 5, rel=1e-12)
    assert chosen("greedy").place(question).tolist() == list(range(10))  # nothing to gain


@pytest.mark.parametrize("groups", [2, 4])
def test_groups_scattered_over_leaves_are_brought_together(groups: int) -> None:
    npus = 32
    group = np.arange(npus) % groups
    traffic = (group[:, None] == group) * (1.0 - np.eye(npus))
    question = ranks(traffic, leaves(npus, npus // groups))
    where = chosen({"rule": "greedy", "options": {"swaps": False}}).place(question)
    assert question.cost(where) == 2.0 * traffic.sum()  # no byte leaves its leaf
    assert question.cost(chosen("greedy").place(question)) == 2.0 * traffic.sum()


def test_partners_anywhere_on_a_torus_become_neighbours() -> None:
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(64)
        traffic = np.zeros((64, 64))
        traffic[order[::2], order[1::2]] = 1.0
        question = ranks(traffic, torus(8))
        assert question.cost(chosen("greedy").place(question)) == 32.0


def test_blocks_of_a_drawn_placement_stay_together() -> None:
    question = ranks(np.zeros((24, 24)), np.zeros((24, 24)))
    where = chosen({"rule": "shuffled", "options": {"seed": 1, "block": 4}}).place(question)
    assert where.tolist() != list(range(24))
    assert (np.diff(where.reshape(6, 4)) == 1).all()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("greddy", "did you mean 'greedy'?"),
        ([0, 1, 1, 3], "NPU 1 twice"),
        ([0, 1, 2, 4], "NPU 4"),
        ([0, 1], "2 NPUs"),
        ({"rule": "greedy", "options": {"tries": 0}}, "options.tries"),
        ({"rule": "greedy", "options": {"restarts": 1}}, "unknown key"),
        ({"rule": "listed"}, "must list the NPU of each rank"),
    ],
)
def test_a_wrong_placement_is_told_in_a_sentence(given: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=told.replace("?", r"\?")):
        chosen(given).place(ranks(np.zeros((4, 4)), np.zeros((4, 4))))


class Backwards(PlacementRule):
    """Ranks in the order of falling numbers."""

    def place(self, ranks: Ranks, options: Any) -> Any:
        return np.arange(ranks.count)[::-1]


class Nowhere(PlacementRule):
    """A rule that forgets a rank."""

    def place(self, ranks: Ranks, options: Any) -> Any:
        return np.arange(ranks.count - 1)


def test_placements_from_outside_are_named_by_their_place() -> None:
    question = ranks(np.zeros((3, 3)), np.zeros((3, 3)))
    assert chosen(f"{__name__}:Backwards").place(question).tolist() == [2, 1, 0]
    with pytest.raises(ConfigError, match="an NPU of its own"):
        chosen(f"{__name__}:Nowhere").place(question)

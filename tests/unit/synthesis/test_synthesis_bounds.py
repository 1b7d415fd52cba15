"""Bounds: against every parting of small networks, closed forms, linear programs, exact optima."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simcore.synthesis.bounds import Bound, bound_of
from simcore.synthesis.fabric import Fabric, fabric_of_table, read_fabric
from simcore.synthesis.kinds import ALL_REDUCE, ALL_TO_ALL

BOUNDS = Path(__file__).resolve().parents[4] / "shared" / "golden" / "flow" / "bounds"


def _fabric(npus: int, nodes: int, cables: list[tuple[float, ...]], **more: Any) -> Fabric:
    rows = [[a, b, rate, 0] for a, b, rate, *_ in cables]
    rows += [[b, a, back[0] if back else rate, 0] for a, b, rate, *back in cables]
    return fabric_of_table({"npus": npus, "nodes": nodes, "links": rows, **more})


def _bound(fabric: Fabric) -> Bound:
    return bound_of(fabric, ALL_REDUCE, 1.0)


def _partings(nodes: int) -> Iterator[list[int]]:
    """Every parting of the nodes: the part of each."""

    def grown(parts: list[int]) -> Iterator[list[int]]:
        if len(parts) == nodes:
            yield parts
            return
        for part in range(max(parts) + 2):
            yield from grown([*parts, part])

    yield from grown([0])


@pytest.mark.parametrize("seed", range(6))
def test_no_parting_of_a_small_network_is_worse_than_the_one_found(seed: int) -> None:
    """Switches lie in parts of NPUs or between them; cables are unlike in speed both ways."""
    rng = np.random.default_rng(seed)
    npus, nodes = 5, 5 + seed % 3
    cables = [(i, int(rng.integers(i)), *rng.integers(1, 5, 2).tolist()) for i in range(1, nodes)]
    more = rng.integers(nodes, size=(5, 2))
    cables += [(a, b, *rng.integers(1, 5, 2).tolist()) for a, b in more.tolist() if a != b]
    fabric = _fabric(npus, nodes, cables)
    worst = 0.0
    for parts in _partings(nodes):
        part = np.array(parts)
        with_npus = np.unique(part[:npus])
        if len(with_npus) < 2:
            continue
        crosses = part[fabric.tail] != part[fabric.head]
        enters = crosses & np.isin(part[fabric.head], with_npus)
        leaves = crosses & np.isin(part[fabric.tail], with_npus)
        rates = fabric.rate[fabric.link]
        for share in (0.0, 0.5, 1.0):
            around = share * rates[leaves].sum() + (1 - share) * rates[enters].sum()
            worst = max(worst, 2 * npus * (len(with_npus) - 1) / around)
    found = _bound(fabric)
    if found.by == "the worst cut between two NPUs":
        assert found.bandwidth >= worst * (1 - 1e-9)
    else:
        assert found.bandwidth == pytest.approx(worst, rel=1e-9)


def test_servers_joined_by_rails_are_the_parts_that_count() -> None:
    """Each of 4 servers gets 2 * 3 / 4 of all 16 parts over its 4 rails of speed 1."""
    cables: list[tuple[float, ...]] = [(npu, 16 + npu // 4, 9) for npu in range(16)]
    cables += [(npu, 20 + npu % 4, 1) for npu in range(16)]
    found = _bound(_fabric(16, 24, cables))
    assert found.bandwidth == pytest.approx(2 * 3 / 4 * 16 / 4)
    assert found.by == "what 4 parts of the network must receive"
    multicast = _bound(_fabric(16, 24, cables, switch_copies=True))
    assert multicast.bandwidth == pytest.approx(6.0)
    able = _bound(_fabric(16, 24, cables, switch_copies=True, switch_reduces=True))
    assert able.bandwidth == pytest.approx(16 / 4)


def test_a_half_duplex_cable_carries_one_transfer_at_a_time() -> None:
    pair = _fabric(2, 2, [(0, 1, 1)])
    both = Fabric(
        npus=2,
        nodes=2,
        tail=pair.tail,
        head=pair.head,
        link=np.zeros(2, np.int64),
        rate=np.ones(1),
        latency=np.zeros(1),
    )
    assert _bound(pair).bandwidth == pytest.approx(2.0)
    assert _bound(both).bandwidth == pytest.approx(4.0)


@pytest.mark.parametrize("graph", ["rails4x4_plain", "mesh5x5_failed5pct", "islands4_6"])
def test_the_bound_is_what_the_best_trees_reach(graph: str) -> None:
    """Their optimum by linear programs is known; cuts and counts of all NPUs alone are below it."""
    if not BOUNDS.is_dir():
        pytest.skip("no golden bounds here")
    with open(BOUNDS / "bounds.csv", newline="") as file:
        (row,) = (
            row
            for row in csv.DictReader(file)
            if (row["graph"], row["collective"]) == (graph, ALL_REDUCE)
        )
    fabric = read_fabric(BOUNDS / "graphs" / f"{graph}.json").without_latency()
    assert _bound(fabric).bandwidth == pytest.approx(float(row["achievable"]), rel=1e-6)


def _least_by_flows(fabric: Fabric) -> float:
    """Least time of an all-to-all by a linear program over flows from each NPU."""
    linprog = pytest.importorskip("scipy.optimize").linprog
    npus, arcs, links = fabric.npus, len(fabric.tail), fabric.links
    keeps, wants = [], []
    for source in range(npus):
        for node in range(fabric.nodes):
            if node != source:
                row = np.zeros(npus * arcs + 1)
                own = row[source * arcs : (source + 1) * arcs]
                own += 1.0 * (fabric.head == node) - 1.0 * (fabric.tail == node)
                keeps.append(row)
                wants.append(float(node < npus))
    room = np.zeros((links, npus * arcs + 1))
    for arc in range(arcs):
        room[fabric.link[arc], arc : npus * arcs : arcs] = 1.0
    room[:, -1] = -fabric.rate
    cost = np.append(np.zeros(npus * arcs), 1.0)
    return float(linprog(cost, room, np.zeros(links), keeps, wants).fun)


@pytest.mark.parametrize("seed", range(3))
def test_prices_come_near_the_least_time_of_all_to_alls_and_never_above_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cables = [(i, int(rng.integers(i)), *rng.integers(1, 5, 2).tolist()) for i in range(1, 8)]
    more = rng.integers(8, size=(5, 2)).tolist()
    cables += [(a, b, *rng.integers(1, 5, 2).tolist()) for a, b in more if a != b]
    fabric = _fabric(7, 8, cables)
    exact = _least_by_flows(fabric)
    found = bound_of(fabric, ALL_TO_ALL, 1.0).bandwidth
    assert 0.95 * exact <= found <= exact * (1 + 1e-6)

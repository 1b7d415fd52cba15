"""Flits on random networks: none is lost or doubled, and a lone packet takes its shortest way.

Formula of a lone packet: a cycle before it, 3 in and out of the network, 4 for each router, those
of the links, and one for each flit behind the first.
"""

import heapq
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from simcore.flits.case import read_case
from simcore.flits.simulate import Network, batch
from simcore.kernels.flits import network as words

ROUTER = {"num_vcs": 4, "vc_buf_size": 16, "traffic": "mine"}

GRIDS: dict[str, dict[str, Any]] = {
    "mesh": {"k": 4, "n": 2, "routing_function": "romm"},
    "torus": {"k": 4, "n": 2, "routing_function": "dim_order_bal"},
    "cmesh": {"k": 2, "n": 2, "c": 4, "x": 2, "y": 2, "xr": 2, "yr": 2},
    "fly": {"k": 4, "n": 2, "routing_function": "dest_tag"},
    "fattree": {"k": 4, "n": 2, "routing_function": "nca"},
    "flatfly": {"k": 4, "n": 2, "c": 1, "x": 4, "y": 4, "routing_function": "ran_min"},
}
GRIDS["cmesh"]["routing_function"] = "dor_no_express"


@st.composite
def graphs(draw: st.DrawFn) -> dict[tuple[int, int], int]:
    """Cycles of the links of a connected graph, each in either direction."""
    routers = draw(st.integers(2, 7))
    pairs = {(draw(st.integers(0, node - 1)), node) for node in range(1, routers)}
    more = st.tuples(st.integers(0, routers - 1), st.integers(0, routers - 1))
    pairs |= {(min(pair), max(pair)) for pair in draw(st.lists(more, max_size=6))}
    both = sorted((a, b) for pair in pairs for a, b in (pair, pair[::-1]) if a != b)
    return {link: draw(st.integers(1, 60)) for link in both}


def shortest(links: dict[tuple[int, int], int], source: int, target: int) -> set[tuple[int, int]]:
    """(cycles, links) of all shortest ways by cycles."""
    best: dict[int, int] = {}
    found, heap = set[tuple[int, int]](), [(0, 0, source)]
    while heap:
        cycles, hops, at = heapq.heappop(heap)
        if cycles > best.setdefault(at, cycles):
            continue
        if at == target:
            found.add((cycles, hops))
            continue
        for (a, b), more in links.items():
            if a == at and hops < len(links):
                heapq.heappush(heap, (cycles + more, hops + 1, b))
    return found


@settings(max_examples=40, deadline=None)
@given(links=graphs(), ends=st.tuples(st.integers(0, 6), st.integers(0, 6)), size=st.integers(1, 9))
def test_a_lone_packet_on_a_random_graph_takes_its_shortest_way(
    links: dict[tuple[int, int], int], ends: tuple[int, int], size: int
) -> None:
    routers = 1 + max(node for link in links for node in link)
    source, target = (end % routers for end in ends)
    ways = shortest(links, source, target)
    assume(len(ways) == 1)
    ((cycles, hops),) = ways
    # each other node sends to itself: the target is done with that when the packet comes
    assume(source == target or 4 * hops + cycles >= size)
    with TemporaryDirectory() as folder:
        lines = [
            " ".join(
                [f"router {at} node {at}"]
                + [f"router {b} {more}" for (a, b), more in links.items() if a == at]
            )
            for at in range(routers)
        ]
        (Path(folder) / "net.txt").write_text("\n".join(lines) + "\n")
        config = {**ROUTER, "topology": "anynet", "routing_function": "min"}
        config |= {"network_file": "net.txt", "batch_size": 1, "packet_size": size}
        case = read_case(config, Path(folder))
    targets = [target if node == source else node for node in range(routers)]
    found = batch(case, {"mine": targets}, seed=1)
    assert found["batch_duration"] == 1 + 3 + 4 * (hops + 1) + cycles + size - 1


@settings(max_examples=24, deadline=None)
@given(data=st.data())
def test_every_flit_passes_each_link_of_its_way_once(data: st.DataObject) -> None:
    """All that is sent arrives where it should, and links carry flits times routers, no more."""
    topology = data.draw(st.sampled_from(sorted(GRIDS)))
    size, packets, depth = (data.draw(st.integers(*ends)) for ends in ((1, 5), (1, 9), (1, 6)))
    config = {**ROUTER, **GRIDS[topology], "topology": topology, "vc_buf_size": depth}
    case = read_case({**config, "batch_size": packets, "packet_size": size})
    targets = data.draw(st.permutations(range(case.nodes)))
    one = Network(case, {"mine": targets}, seed=data.draw(st.integers(1, 9)))
    one.run(0.0, 50_000, (0, 1 << 60))
    assert one.total(words.ARRIVALS) == packets * case.nodes
    assert (one.arrived() == size * packets).all()  # a permutation: each gets what it sent
    to, carried = np.asarray(case.links.router), one.carried()
    between, out = to >= 0, (to < 0) & (to != words.NOWHERE)
    assert carried[out].sum() == size * packets * case.nodes
    assert carried[between].sum() == size * (one.total(words.PASSED) - packets * case.nodes)
    assert not carried[to == words.NOWHERE].any()

"""The network backend ``flow``: idle links, fair shares, and nothing lost, on stacks of shapes."""

import numpy as np
import pytest
from engine_runs import collective, dimension, options, program, receive, run_of, send
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.engines.events.input import SystemOptions
from simcore.engines.events.run import run_unfolded
from simcore.flows.live import LiveFlows
from simcore.flows.simulate import FlowTable, simulate_flows
from simcore.graphs.graph import NetworkGraph
from simcore.graphs.routing import RouteTable
from simcore.graphs.stack import ShapedLine, StackedGraph
from simcore.network import BACKENDS, ExternalNetwork
from simcore.terms import CollectiveKind
from simcore.topologies import TOPOLOGIES


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_ways_through_a_stack_have_the_links_of_its_shapes(topology: str) -> None:
    shape = TOPOLOGIES[topology]
    graph = StackedGraph([ShapedLine(topology, 4, 2.0, 10.0), ShapedLine("ring", 3, 1.0, 20.0)])
    for source in range(12):
        for target in range(12):
            way, parts = graph.way(source, target)
            inner = shape.hops(4, source % 4, target % 4)
            outer = TOPOLOGIES["ring"].hops(3, source // 4, target // 4)
            latency = graph.latency_ns[way]
            assert latency.tolist() == [10.0] * inner + [20.0] * outer
            assert parts.tolist() == [1.0] * len(way)


def test_messages_to_one_npu_share_its_link_and_to_two_do_not_at_a_switch() -> None:
    network = [dimension("switch", 4)]
    both = [program([receive(1), receive(2)]), program([send(0)]), program([send(0)]), program([])]
    found = run_unfolded(run_of(network, both, SystemOptions(), backend="flow"))
    assert found.finish_ns[0] == 2 * 500 + 40
    pairs = [program([send(2)]), program([send(3)]), program([receive(0)]), program([receive(1)])]
    found = run_unfolded(run_of(network, pairs, SystemOptions(), backend="flow"))
    assert found.finish_ns.tolist()[2:] == [2 * 500 + 20] * 2


def test_a_ring_of_neighbours_takes_the_time_of_idle_links() -> None:
    network = [dimension("ring", 8)]
    nodes = [collective(CollectiveKind.ALL_REDUCE, 1 << 20)]
    found = [
        run_unfolded(run_of(network, [program(nodes)], options("ring"), backend=backend))
        for backend in ("flow", "congestion_unaware")
    ]
    late_ns = found[0].finish_ns - found[1].finish_ns  # one rounds up at each step, the other down
    assert late_ns.min() >= 0
    assert late_ns.max() <= 2 * (8 - 1)
    assert found[0].sent_bytes == found[1].sent_bytes


def test_messages_that_meet_are_slower_than_on_idle_links() -> None:
    network = [dimension("ring", 8)]
    nodes = [collective(CollectiveKind.ALL_TO_ALL, 1 << 20)]
    flow, idle = (
        run_unfolded(run_of(network, [program(nodes)], options("direct"), backend=backend))
        for backend in ("flow", "congestion_unaware")
    )
    assert flow.finish_ns.max() > idle.finish_ns.max()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**9))
def test_flows_that_come_one_by_one_end_as_those_that_are_known_before(seed: int) -> None:
    draw = np.random.default_rng(seed)
    links, count = 20, int(draw.integers(1, 600))
    capacity = draw.integers(1, 5, links).astype(float)
    most = int(draw.choice([4, 20]))  # routes of few links, and of more than there is room for
    ways = [draw.permutation(links)[: draw.integers(0, most)] for _ in range(count)]
    parts = [draw.integers(1, 5, len(way)) / 4 for way in ways]
    start = np.sort(draw.integers(0, 2000, count)).astype(float)
    size = draw.integers(0, 500, count).astype(float)
    live, ends = LiveFlows(capacity), np.full(count, np.nan)
    number: dict[int, int] = {}
    for flow in range(count):
        for end, ended in live.advance(int(start[flow])):
            ends[number.pop(ended)] = end
        route = live.add_route(ways[flow].tolist(), 7.0 * len(ways[flow]), parts[flow])
        number[live.begin(int(start[flow]), route, size[flow])] = flow
    for end, ended in live.advance(10**12):
        ends[number.pop(ended)] = end
    graph = NetworkGraph(
        npus=2,
        nodes=2,
        tier_of=np.zeros(0, np.int64),
        tiers=(),
        link_from=np.zeros(links, np.int64),
        link_to=np.ones(links, np.int64),
        bytes_per_s=capacity * 1e9,
        latency_ns=np.full(links, 7.0),
        half=np.zeros(links, np.bool_),
        cable_of=np.arange(links),
        kind_of=np.zeros(links, np.int64),
        kinds=("link",),
    )
    offsets = np.concatenate([[0], np.cumsum([len(way) for way in ways])]).astype(np.int64)
    none = np.zeros(0, np.int64)
    flat = np.concatenate([none, *ways]), np.concatenate([none.astype(float), *parts])
    table = RouteTable.of_arrays(graph, offsets, *flat)
    flows = FlowTable(route=np.arange(count), size_bytes=size, start_ns=start)
    finish = simulate_flows(graph, table, flows).finish_ns
    assert ((ends > finish - 1e-6) & (ends < finish + 1 + 1e-6)).all()  # rounded up


def test_flow_is_a_network_with_an_event_loop_of_its_own() -> None:
    assert issubclass(BACKENDS["flow"], ExternalNetwork)
    assert BACKENDS["flow"].messages_meet

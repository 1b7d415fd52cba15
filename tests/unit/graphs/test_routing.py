"""Routes: legal, around failures, free of deadlock; and what is refused."""

import numpy as np
import pytest

from simcore.errors import ConfigError
from simcore.graphs.families import FAMILIES, build_family
from simcore.graphs.graph import NetworkGraph
from simcore.graphs.routing import (
    ROUTINGS,
    Demands,
    RouteTable,
    check_virtual_channels,
    virtual_channels,
)


def _graph(family: str, **params: object) -> NetworkGraph:
    return build_family(FAMILIES[family], params)


def _all_pairs(graph: NetworkGraph) -> Demands:
    source, target = (index.ravel() for index in np.indices((graph.npus, graph.npus)))
    number = np.arange(len(source))
    return Demands(source=source, target=target, number=number, size_bytes=np.ones(len(source)))


def _routes(rule: str, graph: NetworkGraph, **options: object) -> RouteTable:
    routing = ROUTINGS[rule]
    return routing.routes(graph, _all_pairs(graph), routing.options.build("", **options))


@pytest.mark.parametrize("rule", ["minimal_lowest", "ecmp_hash", "up_down", "valiant", "ugal"])
@pytest.mark.parametrize(
    ("family", "params"),
    [
        ("torus", {"dims": (4, 3)}),
        ("fat_tree", {"k": 4, "failed": (16, 33)}),
        ("dragonfly", {"p": 1, "a": 2, "h": 2}),
        ("rails", {"servers": 4, "npus_per_server": 2, "servers_per_pod": 2, "spines": 2}),
    ],
)
def test_routes_lead_from_sender_to_receiver(rule: str, family: str, params: dict) -> None:  # type: ignore[type-arg]
    graph = _graph(family, **params)
    table, demands = _routes(rule, graph), _all_pairs(graph)
    for flow, links in enumerate(np.split(table.links, table.offsets[1:-1])):
        begin, end = graph.link_from[links], graph.link_to[links]
        assert begin[1:].tolist() == end[:-1].tolist()
        ends = [begin[0], end[-1]] if len(links) else [demands.source[flow]] * 2
        assert ends == [demands.source[flow], demands.target[flow]]


def test_messages_pass_no_npu_where_npus_do_not_forward() -> None:
    graph = _graph("rails", servers=4, npus_per_server=2, servers_per_pod=2, spines=2)
    graph = graph.forwarding(False)
    table = _routes("ecmp_hash", graph)
    inner = np.ones(len(table.links), bool)
    inner[table.offsets[1:][np.diff(table.offsets) > 0] - 1] = False
    assert (graph.link_to[table.links[inner]] >= graph.npus).all()


def test_up_down_never_deadlocks_and_a_ring_of_shortest_ways_does() -> None:
    graph = _graph("ring", n=8)
    assert virtual_channels(_routes("up_down", graph)) == 1
    needed = virtual_channels(_routes("minimal_lowest", graph))
    assert needed == 2  # Dally and Seitz, 1987: two on a ring
    with pytest.raises(ConfigError, match="virtual_channels: must be 2 or more"):
        check_virtual_channels(_routes("minimal_lowest", graph), 1)


def test_dimension_order_on_a_mesh_needs_one_channel() -> None:
    assert virtual_channels(_routes("dimension_order", _graph("mesh", dims=(4, 4)))) == 1


def test_dimension_order_names_the_cable_that_has_failed() -> None:
    with pytest.raises(ConfigError, match="none between NPU 0 and NPU 1"):
        _routes("dimension_order", _graph("mesh", dims=(3, 3), failed=(0,)))


def test_an_unreachable_pair_is_named() -> None:
    with pytest.raises(ConfigError, match="none from NPU 0 to NPU 2"):
        _routes("ecmp_hash", _graph("mesh", dims=(3,), failed=(1,)))


def test_ugal_goes_straight_until_the_shortest_way_is_fuller() -> None:
    graph = _graph("dragonfly", p=4, a=2, h=1)
    flows = 64
    source = np.arange(flows) % 8
    demands = Demands(
        source=source,
        target=8 + source,
        number=np.arange(flows),
        size_bytes=np.ones(flows),
    )
    most = {}
    for rule in ("ecmp_hash", "ugal"):
        routing = ROUTINGS[rule]
        table = routing.routes(graph, demands, routing.options.build(seed=1))
        cables = np.bincount(table.links, minlength=graph.links)[graph.kind_of[graph.cable_of] == 2]
        most[rule] = int(cables.max())
    assert most["ecmp_hash"] == flows  # one cable joins the two groups
    assert most["ugal"] < flows


@pytest.mark.parametrize(
    ("family", "params"),
    [
        ("leaf_spine", {"leaves": 3, "npus_per_leaf": 2, "spines": 3, "links_per_pair": 2}),
        ("torus", {"dims": (4, 3), "failed": (2,)}),
        ("dragonfly", {"p": 1, "a": 2, "h": 2}),
        ("rails", {"servers": 2, "npus_per_server": 3, "servers_per_pod": 2, "spines": 0}),
    ],
)
def test_spread_parts_are_those_of_exact_fractions(family: str, params: dict) -> None:  # type: ignore[type-arg]
    graph, spray = _graph(family, **params), ROUTINGS["spray"]
    table = _routes("spray", graph)
    found = spray.exact(graph, _all_pairs(graph), spray.options.build(""))
    exact = RouteTable.of(graph, found)
    assert table.offsets.tolist() == exact.offsets.tolist()
    assert table.links.tolist() == exact.links.tolist()
    assert table.parts == pytest.approx(exact.parts, rel=1e-14)

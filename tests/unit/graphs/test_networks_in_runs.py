"""Networks of any form in the place of dimensions: what runs on them, what they are refused for."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from engine_runs import collective, dimension, options, program, run_of

from simcore import ConfigError, lower_bounds
from simcore.config import load_run
from simcore.engines.events.run import run_unfolded
from simcore.flows.levels import levels_of
from simcore.graphs.network_table import NetworkFile
from simcore.graphs.routed import routed
from simcore.machine.graph_dimensions import network_dimensions
from simcore.network import NetworkDimension
from simcore.network.dimensions import engine_dimensions
from simcore.terms import CollectiveKind

SPEEDS = {"bandwidth": "1 GB/s", "latency": "500 ns"}
LEAVES = {"leaves": 4, "npus_per_leaf": 4, "spines": 2}


def network(family: str, routing: Mapping[str, Any] | None = None, **params: Any) -> NetworkFile:
    table = {"family": family, "params": params, "routing": dict(routing or {}), **SPEEDS}
    return NetworkFile.from_file_data(table, at="")


def on(given: NetworkFile) -> tuple[NetworkDimension, ...]:
    return engine_dimensions(network_dimensions(given, ""))


def plain(topology: str, npus: int) -> NetworkDimension:
    return dimension(topology, npus, bytes_per_ns=1.0)


def last_ns(dimensions: Any, kind: CollectiveKind, algorithm: str, size: int = 1 << 16) -> int:
    nodes = [collective(kind, size)]
    inputs = run_of(list(dimensions), [program(nodes)], options(algorithm), backend="flow")
    return int(run_unfolded(inputs).finish_ns.max())


@pytest.mark.parametrize(
    ("family", "params", "like"),
    [
        ("star", {"n": 6}, "switch"),
        ("ring", {"n": 6}, "ring"),
        ("fully_connected", {"n": 6}, "fully_connected"),
        ("mesh", {"dims": [6]}, "mesh"),
    ],
)
@pytest.mark.parametrize("kind", [CollectiveKind.ALL_REDUCE, CollectiveKind.ALL_TO_ALL])
def test_a_family_that_is_a_shape_takes_the_time_of_the_shape(
    family: str, params: dict[str, Any], like: str, kind: CollectiveKind
) -> None:
    shaped = [plain(like, 6)]
    rule = {"rule": "minimal_lowest"} if family != "ring" else {"rule": "dimension_order"}
    graph = on(network(family, rule, **params))
    assert [one.topology for one in graph] == [like]
    assert graph[0].bytes_per_ns == pytest.approx(shaped[0].bytes_per_ns)
    algorithm = "ring" if kind is CollectiveKind.ALL_REDUCE else "direct"
    assert last_ns(graph, kind, algorithm) == last_ns(shaped, kind, algorithm)


def test_a_torus_is_a_stack_of_rings() -> None:
    torus = on(network("torus", {"rule": "dimension_order"}, dims=[4, 3]))
    stack = [plain("ring", 4), plain("ring", 3)]
    kind = CollectiveKind.ALL_REDUCE
    assert last_ns(torus, kind, "ring") == last_ns(stack, kind, "ring")


def test_a_network_can_be_one_dimension_of_several() -> None:
    star = on(network("star", n=3))
    kind = CollectiveKind.ALL_REDUCE
    mixed = [plain("ring", 4), *star, plain("switch", 2)]
    stack = [plain("ring", 4), plain("switch", 3), plain("switch", 2)]
    assert last_ns(mixed, kind, "ring") == last_ns(stack, kind, "ring")


@pytest.mark.parametrize(("spines", "share"), [(4, 1.0), (2, 0.5), (1, 0.25)])
def test_an_oversubscribed_level_has_that_part_of_the_bandwidth(spines: int, share: float) -> None:
    given = network("leaf_spine", {"rule": "spray"}, **{**LEAVES, "spines": spines})
    leaf, above = levels_of(given)
    assert (leaf.npus, above.npus) == (4, 4)
    assert leaf.bandwidth_bytes_per_s == pytest.approx(1e9)
    assert above.bandwidth_bytes_per_s == pytest.approx(share * 1e9)
    assert leaf.latency_s == pytest.approx(500e-9)
    assert above.latency_s == pytest.approx(1000e-9)  # four cables for a switch's two links
    assert (leaf.shares_ports, above.shares_ports) == (False, True)


def test_messages_go_around_a_failed_cable_and_take_longer() -> None:
    whole, broken = (network("torus", dims=[4, 4], failed=failed) for failed in ([], [0]))
    kind = CollectiveKind.ALL_REDUCE
    assert last_ns(on(broken), kind, "ring") > last_ns(on(whole), kind, "ring")


def test_rails_have_ports_of_their_own_beside_those_within_a_server() -> None:
    given = network("rails", servers=4, npus_per_server=4, servers_per_pod=4, spines=2)
    inside, rails = levels_of(given)
    assert (inside.npus, rails.npus) == (4, 4)
    assert (inside.shares_ports, rails.shares_ports) == (False, False)
    assert rails.bandwidth_bytes_per_s == pytest.approx(1e9)  # NPUs of one rail share a leaf


def test_a_slow_cable_slows_the_ring_that_passes_it() -> None:
    ring = {"family": "ring", "params": {"n": 6}, **SPEEDS}
    slow = {**ring, "cable_scale": {2: {"bandwidth": 0.5, "latency": 3}}}
    plain, scaled = (NetworkFile.from_file_data(one, at="").graph() for one in (ring, slow))
    own = plain.cable_of == 2
    assert (scaled.bytes_per_s / plain.bytes_per_s).tolist() == np.where(own, 0.5, 1).tolist()
    assert (scaled.latency_ns / plain.latency_ns).tolist() == np.where(own, 3, 1).tolist()
    dimensions = on(NetworkFile.from_file_data(slow, at=""))
    took_ns = last_ns(dimensions, CollectiveKind.ALL_REDUCE, "ring", 6 * 1000)
    assert 10 * 2000 < took_ns < 10 * (1500 + 2000)  # ten messages pass it, one after the other
    with pytest.raises(ConfigError, match="cable_scale: must be numbers of cables, 0 to 5"):
        NetworkFile.from_file_data({**ring, "cable_scale": {6: {}}}, at="").graph()


def run_table(**network: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "workload": {"model": "gpt3_13b", "sequence": 2048, "global_batch": 32},
        "platform": {"npu": "a100_80", "network": {**SPEEDS, **network}},
        "plan": {"tp": 8, "dp": 4},
        "backend": "flow",
    }


TORUS = {"family": "torus", "params": {"dims": [4, 8]}}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"family": "star", "params": {"n": 32, "failed": [3]}},
            r"platform.network: must join all NPUs .* 'none from NPU 0 to NPU 3'",
        ),
        (
            {
                "family": "nvl_rails",
                "params": {
                    "racks": 4, "npus_per_rack": 8, "nvswitches": 1, "rails": 3, "spines": 1
                },
            },
            r"platform.network.params.rails: must divide the 8 NPUs of a rack",
        ),
        (
            {**TORUS, "routing": {"rule": "dimension_order", "virtual_channels": 1}},
            r"platform.network.routing.virtual_channels: must be \d or more: fewer can",
        ),
        (
            {
                "family": "torus",
                "params": {"dims": [4, 8], "failed": [0]},
                "routing": {"rule": "dimension_order"},
            },
            r"platform.network.routing.rule: dimension_order must find every cable",
        ),
        ({**TORUS, "routing": {"rule": "sprai"}}, r"did you mean 'spray'"),
        ({**TORUS, "shape": [5, 6]}, r"platform.network.shape: .* multiply to the 32 NPUs"),
        ({"famly": "torus"}, r"platform.network.famly: unknown key"),
        ({**TORUS, "graph": {}}, r"platform.network.family: .* or a graph in its place"),
    ],
)  # fmt: skip
def test_a_network_that_breaks_a_rule_is_refused_in_one_sentence(
    given: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        load_run(run_table(**given))


def test_a_network_without_speeds_or_beside_dimensions_is_refused() -> None:
    table = run_table(**TORUS)
    table["platform"]["dimensions"] = [{"topology": "ring", "npus": 2, **SPEEDS}]
    with pytest.raises(ConfigError, match="must stand in the place of dimensions"):
        load_run(table)
    with pytest.raises(ConfigError, match="must tell the speed of cables"):
        load_run({**run_table(), "platform": {"npu": "a100_80", "network": TORUS}})


def test_values_of_a_design_reach_into_its_network() -> None:
    table = run_table(family="leaf_spine", params={**LEAVES, "npus_per_leaf": 8})
    run = load_run(table, {"platform.network.params.spines": 8, "platform.network.shape": (32,)})
    assert [one.npus for one in run.platform.dimensions] == [32]
    assert run.platform.network is not None
    assert run.platform.network.params["spines"] == 8


def test_all_cables_of_a_network_get_faster_together() -> None:
    platform = load_run(run_table(**TORUS)).platform
    twice = platform.with_bandwidth(0, 2.0)
    rates = [one.bandwidth_bytes_per_s for one in platform.dimensions]
    assert [one.bandwidth_bytes_per_s for one in twice.dimensions] == [2 * r for r in rates]
    graph = twice.dimensions[1].network
    assert graph is not None
    assert np.all(graph.graph().bytes_per_s == 2e9)


def test_bounds_say_that_they_know_no_graphs() -> None:
    with pytest.raises(ConfigError, match="no bounds are known of networks that are graphs"):
        lower_bounds(run_table(**TORUS), [{"plan.tp": 8}])


def test_a_study_chooses_among_families_that_each_have_their_parameters() -> None:
    table = run_table(
        family="leaf_spine",
        families={
            "leaf_spine": {"params": {**LEAVES, "npus_per_leaf": 8}, "routing": {"rule": "spray"}},
            "torus": {"params": {"dims": [4, 8]}, "routing": {"rule": "dimension_order"}},
        },
    )
    named = {"platform.network.family": "torus"}
    chosen = load_run(table, named).platform.network
    alone = load_run(run_table(**TORUS, routing={"rule": "dimension_order"})).platform.network
    assert chosen == alone
    inside = {"platform.network.families.leaf_spine.params.spines": 8}
    spines = load_run(table, inside).platform.network
    assert spines is not None
    assert spines.params["spines"] == 8
    with pytest.raises(ConfigError, match=r"network\.families: must be a table of families"):
        load_run(table, {"platform.network.family": "ring"})


def test_a_study_names_its_networks_as_it_likes() -> None:
    small = {
        "family": "torus",
        "params": {"dims": [2, 4]},
        "bandwidth": "9 GB/s",
        "latency": "1 us",
    }
    families = {"small": small, "large": {**small, "params": {"dims": [4, 8]}, "shape": [32]}}
    for name, npus, shape in (("small", 8, ()), ("large", 32, (32,))):
        chosen = NetworkFile.from_file_data({"family": name, "families": families}, at="")
        assert (chosen.family, chosen.graph().npus, chosen.shape) == ("torus", npus, shape)
        assert chosen.graph().bytes_per_s.tolist()[0] == 9e9


def test_several_cables_join_any_two_groups_of_a_dragonfly() -> None:
    few: dict[str, Any] = {"p": 1, "a": 2, "h": 3, "groups": 3}
    for per_pair in (2, 3):
        graph = network("dragonfly", **few, links_per_pair=per_pair).graph()
        a, b = graph.cable_ends()
        far = graph.kind_of == graph.kinds.index("global")
        group = [(end[far] - graph.npus) // 2 for end in (a, b)]
        pairs, counts = np.unique(np.stack(group), axis=1, return_counts=True)
        assert pairs.T.tolist() == [[0, 1], [0, 2], [1, 2]]
        assert counts.tolist() == [per_pair] * 3
        ports = np.bincount(np.concatenate([a[far], b[far]]), minlength=graph.nodes)
        assert ports.max() <= 3
    with pytest.raises(ConfigError, match="groups"):
        network("dragonfly", **few, links_per_pair=4).graph()


def test_messages_within_a_domain_stay_on_its_cables() -> None:
    leaves = {"family": "leaf_spine", "params": {"leaves": 2, "npus_per_leaf": 4, "spines": 2}}
    params = {"npus_per_domain": 4, "nvswitches": 2, "planes": False, "networks": {"l": leaves}}
    network = NetworkFile.from_file_data(
        {"family": "domains", "params": {**params, "outside": "l"}, **SPEEDS}, at=""
    )
    over = routed(network)
    source, target = (index.ravel() for index in np.indices((8, 8)))
    routes = over.routes(source, target)
    kind = over.graph.kind_of[over.graph.cable_of[routes.links]]
    inside = over.graph.kinds.index("npu-nvswitch")
    own = np.repeat(source // 4 == target // 4, np.diff(routes.offsets))
    assert set(kind[own].tolist()) == {inside}
    assert inside not in kind[~own]
    first = slice(routes.offsets[1], routes.offsets[2])
    assert routes.parts[first].tolist() == [0.5] * 4  # both switches, up and down


def domains(planes: bool) -> dict[str, Any]:
    torus = {"family": "torus", "params": {"dims": [2, 4] if planes else [4, 8]}}
    return {"npus_per_domain": 4, "planes": planes, "networks": {"t": torus}, "outside": "t"}


def test_domains_are_joined_place_by_place_or_all_together() -> None:
    planes = NetworkFile.from_file_data(
        {"family": "domains", "params": domains(True), "routing": {"rule": "spray"}, **SPEEDS},
        at="",
    )
    assert [level.npus for level in levels_of(planes)] == [4, 2, 4]
    graph = planes.graph()
    assert graph.npus == 32
    # 8 switches of 4 NPUs; a torus of 2 x 4 has 4 + 8 cables, and there is one for each place
    assert graph.cables == 32 + 4 * 12
    direct = np.maximum(graph.link_from, graph.link_to) < graph.npus
    assert np.all(graph.link_from[direct] % 4 == graph.link_to[direct] % 4)
    joined = NetworkFile.from_file_data(
        {"family": "domains", "params": domains(False), **SPEEDS}, at=""
    )
    assert joined.graph().cables == 32 + 64
    assert [level.npus for level in levels_of(joined)] == [4, 8]


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"outside": "u"}, "params.outside: must be a name of networks: t"),
        ({"networks": {"t": {"family": "tores"}}}, "did you mean 'torus'"),
        ({"networks": {"t": {"family": "domains"}}}, "must be a family other than that of domains"),
        (
            {"planes": False, "networks": {"t": {"family": "ring", "params": {"n": 6}}}},
            "npus_per_domain: must divide the 6 NPUs of the network outside",
        ),
    ],
)
def test_domains_that_break_a_rule_are_refused(params: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        network("domains", **{**domains(True), **params}).graph()


def test_a_way_that_comes_to_a_switch_again_keeps_all_of_its_links() -> None:
    over = routed(network("dragonfly", {"rule": "valiant"}, p=1, a=2, h=1, groups=2))
    again = 0
    for source in range(4):
        for target in set(range(4)) - {source}:
            links, parts = over.way(source, target)
            begin, end = over.graph.link_from[links].tolist(), over.graph.link_to[links].tolist()
            assert len(links) == len(parts)
            assert begin == [source, *end[:-1]]
            assert end[-1] == target
            again += len(set(begin)) < len(begin)
    assert again > 0

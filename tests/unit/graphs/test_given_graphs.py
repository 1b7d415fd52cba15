"""Graphs of other programs, and pictures."""

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner

from simcore.cli.app import cli
from simcore.errors import ConfigError
from simcore.graphs.draw import drawing, placed
from simcore.graphs.families import FAMILIES, build_family
from simcore.graphs.read import read_networks
from simcore.graphs.structure import describe

NODES = [{"id": "a"}, {"id": "s", "tier": "leaf"}, {"id": "b", "kind": "npu"}]
EDGES = [
    {"source": "a", "target": "s", "bandwidth": "50 GB/s", "latency": "500 ns", "kind": "up"},
    {"source": "s", "target": "b"},
]
GRAPHML = """<?xml version="1.0"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="node" attr.name="tier" attr.type="string"/>
<key id="d1" for="edge" attr.name="bandwidth" attr.type="string"/>
<graph edgedefault="undirected"><node id="a"/><node id="s"><data key="d0">leaf</data></node>
<node id="b"/><edge source="a" target="s"><data key="d1">50 GB/s</data></edge>
<edge source="s" target="b"/></graph></graphml>"""


@pytest.mark.parametrize("key", ["links", "edges"])
def test_node_link_json_is_a_network(tmp_path: Path, key: str) -> None:
    file = tmp_path / "own.json"
    file.write_text(json.dumps({"directed": False, "nodes": NODES, key: EDGES}))
    (network,), listed = read_networks(file)
    graph = network.graph()
    found = describe(graph, [(0, 1)])
    assert not listed
    assert found.switches_by_tier == {"leaf": 1}
    assert found.links_by_kind == {"up": 1, "cable": 1}
    assert found.pairs == [[0, 1, 2, 1]]
    assert graph.bytes_per_s[:2].tolist() == [50e9] * 2
    assert graph.latency_ns[:2].tolist() == [500.0] * 2


def test_graphml_is_a_network(tmp_path: Path) -> None:
    file = tmp_path / "own.graphml"
    file.write_text(GRAPHML)
    (network,), _ = read_networks(file)
    assert describe(network.graph()).switches_by_tier == {"leaf": 1}
    assert network.graph().bytes_per_s[:2].tolist() == [50e9] * 2


def test_graphml_that_declares_entities_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "own.graphml"
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><graphml>&b;</graphml>'
    file.write_text(bomb)
    with pytest.raises(ConfigError, match="must be XML without a document type"):
        read_networks(file)


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        ([{"name": "a"}], [], r"nodes\[0\]: must be a table with an id"),
        ([{"id": 1}, {"id": 1}], [], r"nodes\[1\].id: must be an id of its own"),
        ([{"id": 1, "tier": "leaf"}], [], "must hold an NPU"),
        ([{"id": 1}], [{"source": 1, "target": 2}], "must join nodes that there are"),
        ([{"id": 1}], [{"source": 1, "target": 1}], "must join two different nodes"),
        (NODES, [{"source": "a", "target": "b", "bandwidth": "50"}], r"links\[0\].bandwidth"),
    ],
)
def test_graphs_that_break_a_rule_are_named(
    tmp_path: Path, nodes: list[object], edges: list[object], message: str
) -> None:
    file = tmp_path / "own.json"
    file.write_text(json.dumps({"nodes": nodes, "links": edges}))
    with pytest.raises(ConfigError, match=message):
        read_networks(file)


@pytest.mark.parametrize(
    ("family", "params"),
    [
        ("torus", {"dims": [4, 3]}),
        ("ring", {"n": 5}),
        ("hybrid_cube_mesh", {"generation": "v100"}),
        ("rails", {"servers": 2, "npus_per_server": 2, "servers_per_pod": 2, "spines": 1}),
    ],
)
def test_a_picture_has_every_part(family: str, params: dict[str, object]) -> None:
    graph = build_family(FAMILIES[family], params)
    picture = ElementTree.fromstring(drawing(graph, "a < b"))
    tags = [element.tag.rpartition("}")[2] for element in picture.iter()]
    assert tags.count("path") == graph.cables
    assert tags.count("title") == graph.nodes
    assert tags.count("circle") == graph.nodes - graph.npus


def test_draw_writes_a_file_and_refuses_a_blot(tmp_path: Path) -> None:
    file, out = tmp_path / "net.yaml", tmp_path / "net.svg"
    file.write_text("{family: star, params: {n: 3}}")
    assert CliRunner().invoke(cli, ["network", "draw", str(file), "--out", str(out)]).exit_code == 0
    assert out.read_text().startswith("<svg")
    file.write_text("{family: star, params: {n: 5000}}")
    done = CliRunner().invoke(cli, ["network", "draw", str(file), "--out", str(out)])
    assert "must have at most 4,096 NPUs" in str(done.exception)


def test_edges_both_ways_of_a_directed_graph_are_one_cable(tmp_path: Path) -> None:
    speed = {"bandwidth": "50 GB/s", "latency": "1 us"}
    ways = [{"source": a, "target": b, **speed} for a, b in ("as", "sa", "sb", "bs", "as", "sa")]
    file = tmp_path / "graph.json"
    file.write_text(json.dumps({"directed": True, "nodes": NODES, "edges": ways}))
    assert read_networks(file)[0][0].graph().cables == 3  # two of them side by side
    xml = GRAPHML.replace("undirected", "directed").replace(
        '<edge source="s" target="b"/>',
        '<edge source="s" target="b"/><edge source="b" target="s"/>',
    )
    (tmp_path / "graph.graphml").write_text(xml)
    assert read_networks(tmp_path / "graph.graphml")[0][0].graph().cables == 2
    ways[3]["bandwidth"] = "25 GB/s"
    file.write_text(json.dumps({"directed": True, "nodes": NODES, "edges": ways}))
    with pytest.raises(ConfigError, match=r"edges\[3\].bandwidth: must be '50 GB/s'"):
        read_networks(file)


@pytest.mark.parametrize(
    ("family", "params"),
    [
        ("dragonfly", {"p": 1, "a": 4, "h": 2, "groups": 9}),
        ("dragonfly_plus", {"p": 2, "leaves": 2, "spines": 2, "h": 2, "groups": 5}),
        ("slim_fly", {"q": 5, "terminals": 1}),
        ("hyperx", {"dims": [4, 4], "terminals": 2}),
        ("dcell", {"n": 4, "k": 1}),
    ],
)
def test_no_cable_runs_over_the_nodes_between_its_ends(
    family: str, params: dict[str, object]
) -> None:
    graph = build_family(FAMILIES[family], params)
    places, _ = placed(graph)
    for a, b in zip(*graph.cable_ends(), strict=True):
        along = places[b] - places[a]
        if max(a, b) < graph.npus:
            continue  # drawn as an arc
        share = (places - places[a]) @ along / (along @ along)
        away = np.abs((places - places[a]) @ (along[::-1] * (1, -1))) / np.hypot(*along)
        assert not ((share > 0.01) & (share < 0.99) & (away < 1.0)).any()


GPU = """<pci busid="{bus}" class="0x030200" link_speed="32.0 GT/s" link_width="16">
<gpu dev="{dev}" sm="90" rank="{dev}"><nvlink target="{target}" count="{count}" tclass="{kind}"/>
</gpu></pci>"""


def nccl(first: dict[str, object], second: dict[str, object]) -> str:
    card = '<nic><net name="mlx5_0" dev="0" speed="400000" port="1"/></nic>'
    gpus = GPU.format(bus="0000:18:00.0", dev=0, **first)
    gpus += GPU.format(bus="0000:19:00.0", dev=1, **second)
    return f"""<system version="1"><cpu numaid="0" vendor="GenuineIntel">
    <pci busid="0000:17:00.0" class="0x060400" link_speed="32.0 GT/s" link_width="16">{gpus}
    <pci busid="0000:1a:00.0" class="0x020700" link_speed="16.0 GT/s PCIe" link_width="8">
    {card}</pci></pci></cpu></system>"""


def test_a_server_as_nccl_describes_it_is_a_network(tmp_path: Path) -> None:
    file = tmp_path / "server.xml"
    switch = {"target": "0000:05:00.0", "count": 18, "kind": "0x068000"}
    file.write_text(nccl(switch, switch))
    (network,), _ = read_networks(file)
    graph = network.graph()
    found = describe(graph)
    assert (found.npus, found.diameter_links) == (2, 2)
    assert found.switches_by_tier == {"cpu": 1, "pci": 1, "nic": 1, "nvswitch": 1}
    assert found.links_by_kind == {"pci": 4, "nvlink": 2}
    rates = dict(zip(graph.kind_of[graph.cable_of].tolist(), graph.bytes_per_s, strict=True))
    assert rates[graph.kinds.index("nvlink")] == pytest.approx(18 * 20.6e9)
    assert sorted(set(graph.bytes_per_s))[:2] == [12e9, 48e9]  # Gen4 x8, Gen5 x16


def test_nvlinks_between_two_gpus_are_one_cable(tmp_path: Path) -> None:
    file = tmp_path / "server.xml"
    other = {"count": 6, "kind": "0x030200"}
    file.write_text(nccl({"target": "0000:19:00.0", **other}, {"target": "0000:18:00.0", **other}))
    (network,), _ = read_networks(file)
    found = describe(network.graph())
    assert found.links_by_kind["nvlink"] == 1
    assert found.diameter_links == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<system/>", "must describe a server with GPUs"),
        ('<system><cpu><pci><gpu dev="x" sm="90"/></pci></cpu></system>', "a whole number"),
        ("<system>", "must be valid XML"),
    ],
)
def test_servers_that_break_a_rule_are_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "server.xml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_networks(file)


def test_show_prints_what_a_network_costs_by_part(tmp_path: Path) -> None:
    file, out = tmp_path / "tree.json", tmp_path / "out.json"
    speeds = {"bandwidth": "50 GB/s", "latency": "500 ns"}
    file.write_text(json.dumps({"family": "fat_tree", "params": {"k": 4}, **speeds}))
    command = ["network", "show", str(file), "--npu", "h100_80", "--json", str(out)]
    shown = CliRunner().invoke(cli, command, catch_exceptions=False).output
    data = json.loads(out.read_text())
    assert data["cost_usd"] == pytest.approx(sum(part["usd"] for part in data["cost_lines"]))
    assert {part["part"]: part["count"] for part in data["cost_lines"]}["ndr_64"] == 20
    assert f"{data['cost_usd']:,.0f} USD" in shown
    assert data["bisection_bytes_per_s"] == 8 * 50e9

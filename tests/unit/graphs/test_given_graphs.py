"""Graphs of other programs, and pictures."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from simcore.cli.app import cli
from simcore.errors import ConfigError
from simcore.graphs.draw import drawing
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

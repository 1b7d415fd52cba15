"""Graphs of other programs: node-link JSON as networkx writes it, and GraphML.

A node is an NPU unless it says otherwise: a ``tier``, or a ``kind`` other than npu, makes it a
switch. An edge is a cable; ``bandwidth`` (``50 GB/s``), ``latency`` and ``kind`` may tell more. In
a directed graph an edge and one back of the same are the two ways of a cable.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from simcore.errors import ConfigError
from simcore.graphs.graph import NetworkGraph, Wiring
from simcore.graphs.read.xml_file import read_xml
from simcore.units import parse_quantity

Table = Mapping[str, Any]


def is_node_link(data: object) -> bool:
    """True if *data* is a graph as networkx writes it."""
    if not isinstance(data, dict) or not isinstance(data.get("nodes"), list):
        return False
    return isinstance(data.get("links", data.get("edges")), list) and "npus" not in data


def graph_of_node_link(data: Table) -> NetworkGraph:
    """The graph of node-link data: ``nodes`` with ``id``, ``links`` or ``edges`` between them.

    Raises:
        ConfigError: A node or an edge breaks a rule.
    """
    nodes: dict[str, Table] = {}
    for at, node in enumerate(data["nodes"]):
        if not isinstance(node, Mapping) or "id" not in node:
            raise ConfigError(f"nodes[{at}]", "must be a table with an id", got=node)
        if str(node["id"]) in nodes:
            raise ConfigError(f"nodes[{at}].id", "must be an id of its own", got=node["id"])
        nodes[str(node["id"])] = node
    key = "links" if "links" in data else "edges"
    edges = []
    for at, edge in enumerate(data[key]):
        if not isinstance(edge, Mapping) or not {"source", "target"} <= set(edge):
            raise ConfigError(f"{key}[{at}]", "must be a table with source and target", got=edge)
        edges.append((str(edge["source"]), str(edge["target"]), edge))
    return _graph(nodes, _cables(edges, key) if data.get("directed") is True else edges, key)


def graphml_table(path: Path) -> dict[str, Any]:
    """The node-link data of a GraphML file.

    Raises:
        ConfigError: It cannot be read, is no GraphML, or declares entities, which are not expanded.
    """
    reader = _GraphMl()
    read_xml(path, reader.start, reader.end, reader.text)
    return {
        "directed": reader.directed,
        "nodes": [{**node, "id": name} for name, node in reader.nodes.items()],
        "edges": [{**edge, "source": a, "target": b} for a, b, edge in reader.edges],
    }


class _GraphMl:
    """Nodes and edges of GraphML, as they come."""

    def __init__(self) -> None:
        self.nodes: dict[str, Table] = {}
        self.edges: list[tuple[str, str, Table]] = []
        self.directed = False
        self._names: dict[str, str] = {}
        self._owner: dict[str, Any] | None = None
        self._key, self._text = "", ""

    def start(self, name: str, found: dict[str, str]) -> None:
        """Take the beginning of an element."""
        tag = name.rpartition(":")[2]
        if tag == "key":
            self._names[found.get("id", "")] = found.get("attr.name", found.get("id", ""))
        elif tag == "graph":
            self.directed |= found.get("edgedefault") == "directed"
        elif tag == "node":
            self._owner = self.nodes.setdefault(found.get("id", ""), {})  # type: ignore[assignment]
        elif tag == "edge":
            self._owner = {}
            ends = found.get("source", ""), found.get("target", "")
            self.edges.append((*ends, self._owner))
        elif tag == "data":
            self._key, self._text = found.get("key", ""), ""

    def text(self, text: str) -> None:
        """Take text of an element."""
        self._text += text

    def end(self, name: str) -> None:
        """Take the end of an element."""
        tag = name.rpartition(":")[2]
        if tag == "data" and self._owner is not None:
            self._owner[self._names.get(self._key, self._key)] = self._text.strip()
        elif tag in ("node", "edge"):
            self._owner = None


_OF_CABLE = ("bandwidth", "latency", "kind")


def _cables(edges: list[tuple[str, str, Table]], key: str) -> list[tuple[str, str, Table]]:
    """Edges of a directed graph without those that are the ways back of others.

    Raises:
        ConfigError: A way back has another speed or kind.
    """
    waiting: dict[tuple[str, str], list[Table]] = {}
    found = []
    for at, (source, target, edge) in enumerate(edges):
        ahead = waiting.get((target, source))
        if not ahead:
            waiting.setdefault((source, target), []).append(edge)
            found.append((source, target, edge))
            continue
        there = ahead.pop(0)
        for name in _OF_CABLE:
            if edge.get(name) != there.get(name):
                rule = f"must be {there.get(name)!r}, as that of the edge from {target} to {source}"
                rule += ": both are one cable"
                raise ConfigError(f"{key}[{at}].{name}", rule, got=edge.get(name))
    return found


def _graph(
    nodes: Mapping[str, Table], edges: list[tuple[str, str, Table]], key: str
) -> NetworkGraph:
    tiers = {name: _tier(node) for name, node in nodes.items()}
    npus = [name for name, tier in tiers.items() if not tier]
    if not npus:
        raise ConfigError("nodes", "must hold an NPU: a node without a tier", got=len(nodes))
    wiring = Wiring(len(npus))
    places = {name: at for at, name in enumerate(npus)}
    for name, tier in tiers.items():
        if tier:
            places[name] = wiring.switches(tier, 1)
    rates, latencies = [], []
    for at, (source, target, edge) in enumerate(edges):
        for end in (source, target):
            if end not in places:
                raise ConfigError(f"{key}[{at}]", "must join nodes that there are", got=end)
        if source == target:
            raise ConfigError(f"{key}[{at}]", "must join two different nodes", got=source)
        wiring.cable(str(edge.get("kind", "cable")), places[source], places[target])
        rates.append(_quantity(edge, "bandwidth", "B/s", f"{key}[{at}]", 1.0))
        latencies.append(1e9 * _quantity(edge, "latency", "s", f"{key}[{at}]", 0.0))
    graph = wiring.graph()
    return replace(
        graph,
        npus_forward=not any(tiers.values()),
        bytes_per_s=np.repeat(np.array(rates, np.float64), 2),
        latency_ns=np.repeat(np.array(latencies, np.float64), 2),
    )


def _tier(node: Table) -> str:
    """Tier of a switch; empty: the node is an NPU."""
    tier = node.get("tier", "")
    if not tier and str(node.get("kind", "npu")).lower() != "npu":
        tier = node["kind"]
    return str(tier)


def _quantity(edge: Table, name: str, base: str, at: str, default: float) -> float:
    text = edge.get(name)
    if text is None:
        return default
    try:
        value = parse_quantity(str(text), base)
    except ValueError as error:
        raise ConfigError(f"{at}.{name}", str(error), got=text) from None
    if value < 0 or (name == "bandwidth" and value == 0):
        raise ConfigError(f"{at}.{name}", "must be above 0", got=text)
    return value

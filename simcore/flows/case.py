"""Files of flows: a graph, who sends what to whom and when, and the routes or their rule."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from simcore.errors import ConfigError
from simcore.files.json_file import read_json
from simcore.flows.controls import FlowControl, control_of_table
from simcore.flows.simulate import FlowResult, FlowTable, simulate_flows
from simcore.graphs.circuits import refuse_circuits
from simcore.graphs.graph import Ints, NetworkGraph
from simcore.graphs.read import graph_of_table
from simcore.graphs.read.link_list import checked_rows, is_number, is_whole
from simcore.graphs.routing import (
    ROUTINGS,
    Demands,
    Route,
    RouteTable,
    check_virtual_channels,
)

_COLUMNS = ("id", "src", "dst", "size_bytes", "start_ns", "cap_Bps", "deps")
_EXPLICIT = "explicit"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlowCase:
    """Flows on a graph.

    Attributes:
        graph: The network.
        flows: The flows, flow i with route i.
        routes: Their routes.
        routed: Routes as lists, where a rule found them.
        control: What senders do; None: rates are max-min fair at every instant.
        back: Routes of acknowledgements, where senders react.
    """

    graph: NetworkGraph
    flows: FlowTable
    routes: RouteTable
    routed: list[Route] | None
    control: FlowControl | None = None
    back: RouteTable | None = None

    def simulate(self, *, rates: bool = False) -> FlowResult:
        """Run the flows.

        Raises:
            ConfigError: Rates over time are asked for where senders react, or a way is spread.
            SimulationError: Flows wait for each other.
        """
        if self.control is None or self.back is None:
            return simulate_flows(self.graph, self.routes, self.flows, rates=rates)
        if rates:
            raise ConfigError("rates", "must be false where senders react (control)", got=rates)
        from simcore.flows.controlled import simulate_controlled  # few need its kernel

        ways = self.routes, self.back
        return simulate_controlled(self.graph, *ways, self.flows, self.control)


def read_case(path: Path) -> FlowCase:
    """The flows of a JSON file.

    Raises:
        ConfigError: The file cannot be read, or breaks a rule.
    """
    try:
        return case_of(read_json(path))
    except ConfigError as error:
        raise error.in_file(path) from None


def case_of(data: object) -> FlowCase:
    """The flows of a table with ``graph``, ``flows`` and, of kind ``rule``, ``routing``.

    With ``control`` senders react, and acknowledgements come back by the same rule, or on the links
    of the way there in the other direction.

    Raises:
        ConfigError: A rule is broken.
    """
    if not isinstance(data, Mapping):
        raise ConfigError("", "must be a table of keys and values", got=data)
    graph = graph_of_table(data.get("graph"))
    refuse_circuits(graph, "files of flows")
    kind = data.get("kind", _EXPLICIT)
    if kind not in (_EXPLICIT, "rule"):
        raise ConfigError("kind", "must be explicit or rule", got=kind)
    columns = (*_COLUMNS, "route") if kind == _EXPLICIT else _COLUMNS
    rows = checked_rows(data, "flows", columns, "")
    for number, row in enumerate(rows):
        _check_flow(row, number, len(rows), graph.npus)
    source, target = _whole_column(rows, 1), _whole_column(rows, 2)
    sizes = np.array([row[3] for row in rows], np.float64)
    demands = Demands(source=source, target=target, number=np.arange(len(rows)), size_bytes=sizes)
    control = control_of_table(data["control"]) if "control" in data else None
    back = None
    if kind == _EXPLICIT:
        routed, routes = None, _explicit(graph, rows)
        if control is not None:
            back = _reversed(graph, routes)
    else:
        graph, routed = _by_rule(graph, demands, data.get("routing"))
        routes = RouteTable.of(graph, routed)
        if control is not None:
            home = replace(demands, source=target, target=source)
            back = RouteTable.of(graph, _by_rule(graph, home, data.get("routing"))[1])
    flows = _columns_of(rows, sizes)
    return FlowCase(
        graph=graph, flows=flows, routes=routes, routed=routed, control=control, back=back
    )


def _reversed(graph: NetworkGraph, routes: RouteTable) -> RouteTable:
    """Ways back over the same cables.

    Raises:
        ConfigError: A link has none.
    """
    ends = zip(graph.link_from.tolist(), graph.link_to.tolist(), strict=True)
    to_link = {pair: link for link, pair in reversed(list(enumerate(ends)))}
    back = np.zeros(graph.links, np.int64)
    for link in np.unique(routes.links).tolist():
        a, b = int(graph.link_from[link]), int(graph.link_to[link])
        found = link if graph.half[link] else to_link.get((b, a))
        if found is None:
            rule = f"must have a link from node {b} to node {a} for acknowledgements (control)"
            raise ConfigError("graph.links", rule, got=f"link {link} alone")
        back[link] = found
    ways = zip(routes.offsets[:-1].tolist(), routes.offsets[1:].tolist(), strict=True)
    links = [back[routes.links[first:end][::-1]].tolist() for first, end in ways]
    return RouteTable.of(graph, links)


def _columns_of(rows: list[list[Any]], sizes: Any) -> FlowTable:
    caps = [np.inf if row[5] is None else float(row[5]) for row in rows]
    counts = [len(row[6]) for row in rows]
    return FlowTable(
        route=np.arange(len(rows)),
        size_bytes=sizes,
        start_ns=np.array([row[4] for row in rows], np.float64),
        cap_bytes_per_s=np.array(caps, np.float64),
        waits_offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        waits_for=np.array([other for row in rows for other in row[6]], np.int64),
    )


def _whole_column(rows: list[list[Any]], column: int) -> Ints:
    return np.array([row[column] for row in rows], np.int64)


def _check_flow(row: list[Any], number: int, flows: int, npus: int) -> None:
    flow, source, target, size, start, cap, waits = row[:7]
    place = f"flows[{number}]"
    if not is_whole(flow) or flow != number:
        raise ConfigError(f"{place}.id", "must count up from 0", got=flow)
    for name, npu in (("src", source), ("dst", target)):
        if not is_whole(npu) or not 0 <= npu < npus:
            raise ConfigError(f"{place}.{name}", f"must be an NPU, 0 to {npus - 1}", got=npu)
    for name, value in (("size_bytes", size), ("start_ns", start)):
        if not is_number(value) or value < 0:
            raise ConfigError(f"{place}.{name}", "must be a number, 0 or more", got=value)
    if cap is not None and not (is_number(cap) and cap > 0):
        raise ConfigError(f"{place}.cap_Bps", "must be a number above 0, or null", got=cap)
    fine = isinstance(waits, list) and all(is_whole(w) and 0 <= w < flows for w in waits)
    if not fine or len(set(waits)) < len(waits) or number in waits:
        rule = f"must be a list of other flows, 0 to {flows - 1}, each once"
        raise ConfigError(f"{place}.deps", rule, got=waits)


def _explicit(graph: NetworkGraph, rows: list[list[Any]]) -> RouteTable:
    routes = [_checked_route(graph, row, number) for number, row in enumerate(rows)]
    return RouteTable.of(graph, routes)


def _checked_route(graph: NetworkGraph, row: list[Any], number: int) -> list[int]:
    """Links that lead from the flow's source to its target, one after the other."""
    place, route = f"flows[{number}].route", row[7]
    fine = isinstance(route, list)
    if not fine or not all(is_whole(link) and 0 <= link < graph.links for link in route):
        rule = f"must be a list of links, 0 to {graph.links - 1}"
        raise ConfigError(place, rule, got=route)
    node = row[1]
    for link in route:
        begin, end = int(graph.link_from[link]), int(graph.link_to[link])
        if node == end and graph.half[link]:
            begin, end = end, begin
        if node != begin:
            raise ConfigError(place, f"must go on from node {node}", got=f"link {link}")
        node = end
    if node != row[2]:
        raise ConfigError(place, f"must end at NPU {row[2]}", got=f"node {node}")
    return cast("list[int]", route)


def _by_rule(
    graph: NetworkGraph, demands: Demands, table: object
) -> tuple[NetworkGraph, list[Route]]:
    if not isinstance(table, Mapping) or "rule" not in table:
        raise ConfigError("routing", "must be a table with a rule", got=table)
    rule = table["rule"]
    if rule not in ROUTINGS:
        raise ROUTINGS.unknown(rule, at="routing.rule")
    routing = ROUTINGS[rule]
    rest = {key: value for key, value in table.items() if key != "rule"}
    options = routing.options.from_file_data(rest, at="routing")
    if options.npus_forward is not None:
        graph = graph.forwarding(options.npus_forward)
    routed = routing.exact(graph, demands, options)
    if options.virtual_channels is not None:
        table_of = routing.routes(graph, demands, options)
        check_virtual_channels(table_of, options.virtual_channels)
    return graph, routed

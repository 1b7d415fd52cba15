"""A case: a network, the flows on it, and the parameters of the run, as read from a file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from simcore.errors import ConfigError
from simcore.files.json_file import read_json
from simcore.packets.files.flows import Flows, read_flows
from simcore.packets.files.link_rows import LinkChange, read_link_changes
from simcore.packets.files.rows import table_rows, whole
from simcore.packets.parameters import MOST_RATE, Parameters
from simcore.registry import did_you_mean
from simcore.schema import Schema

MOST_NODES = 1 << 20
_LINK_COLUMNS = ("a", "b", "rate_bps", "delay_ns")
_KEYS = (
    "name", "topology", "params", "flows_cols", "flows", "ecmp_next_hops", "link_changes_cols",
    "link_changes",
)  # fmt: skip
# of a recorded case: what was measured, and notes, none of which changes a run
_NOTES = ("family", "cc", "note", "deterministic", "expect", "expect_stats", "reference")


class _TopologyTable(Schema):
    kind: str = ""
    num_nodes: Annotated[int, Field(ge=2, le=MOST_NODES)]
    switches: list[Annotated[int, Field(ge=0)]]
    links_cols: list[str] = Field(default_factory=lambda: list(_LINK_COLUMNS))
    links: list[list[Any]]
    switch_buffer_bytes: Annotated[int, Field(ge=1, lt=1 << 32)] | None = None


class _NextHopsTable(Schema):
    cols: list[str] = Field(default_factory=list)
    rows: list[tuple[int, list[int], list[int]]]


@dataclass(frozen=True)
class Topology:
    """Hosts, switches and the links between them.

    Attributes:
        nodes: How many; all that are not switches are hosts.
        switches: Their ids.
        links: Of each link its two ends, its rate in bit/s and its delay in ns.
        buffer_bytes: Buffer of a switch.
        next_hops: Of some switches and hosts, the order in which a hash picks equal next hops.
        ways_told: No ways are looked for: whoever begins a flow tells its way.
        changes: Of links, by time.
    """

    nodes: int
    switches: tuple[int, ...]
    links: tuple[tuple[int, int, int, int], ...]
    buffer_bytes: int
    next_hops: Mapping[tuple[int, int], tuple[int, ...]]
    ways_told: bool = False
    changes: tuple[LinkChange, ...] = ()

    def with_ways_told(self, told: bool) -> "Topology":
        """This topology, whose ways are told or looked for."""
        return replace(self, ways_told=told)

    def with_changes(self, changes: tuple[LinkChange, ...]) -> "Topology":
        """This topology, whose links change so."""
        return replace(self, changes=changes)


@dataclass(frozen=True)
class Case:
    """One case, checked but for its paths; see ``read_case``."""

    name: str
    topology: Topology
    flows: Flows
    parameters: Parameters


def read_case(path: Path) -> Case:
    """The case in a JSON file.

    Raises:
        ConfigError: The file or its content breaks a rule.
    """
    try:
        return case_of(read_json(path))
    except ConfigError as error:
        raise error.in_file(path) from None


def case_of(data: object) -> Case:
    """The case that the content of a file describes.

    Raises:
        ConfigError: It breaks a rule.
    """
    if not isinstance(data, dict):
        raise ConfigError("", "a case must be a table of keys and values", got=data)
    for key in data:
        if key not in _KEYS and key not in _NOTES:
            rule = f"unknown key; the keys here are {', '.join(_KEYS)}{did_you_mean(key, _KEYS)}"
            raise ConfigError(str(key), rule, got=data[key])
    for key in ("topology", "flows"):
        if key not in data:
            raise ConfigError(key, "this key is required", got=None)
    name = data.get("name", "")
    if not isinstance(name, str):
        raise ConfigError("name", "must be text", got=name)
    parameters = Parameters.from_file_data(data.get("params", {}), at="params")
    topology = _topology(data["topology"], data.get("ecmp_next_hops"), parameters)
    changes = data.get("link_changes", [])
    topology = replace(topology, changes=read_link_changes(data.get("link_changes_cols"), changes))
    flows = read_flows(data.get("flows_cols"), data["flows"])
    _check_ends(flows, topology)
    return Case(name, topology, flows, parameters)


def _topology(data: object, hops: object, parameters: Parameters) -> Topology:
    table = _TopologyTable.from_file_data(data, at="topology")
    switches = tuple(table.switches)
    seen: set[int] = set()
    for index, switch in enumerate(switches):
        if switch >= table.num_nodes or switch in seen:
            rule = f"must be a node below {table.num_nodes}, named once"
            raise ConfigError(f"topology.switches[{index}]", rule, got=switch)
        seen.add(switch)
    default = parameters.buffer_size << 20
    buffer_bytes = table.switch_buffer_bytes or default
    if buffer_bytes != default and "buffer_size" in parameters.model_fields_set:
        rule = f"must be params.buffer_size of 1 MiB each, {default}, or left out"
        raise ConfigError("topology.switch_buffer_bytes", rule, got=buffer_bytes)
    links = _links(table)
    return Topology(
        table.num_nodes, switches, links, buffer_bytes, next_hops_of(hops, table.num_nodes)
    )


def _links(table: _TopologyTable) -> tuple[tuple[int, int, int, int], ...]:
    links = []
    for at, row in table_rows("topology.links", table.links, table.links_cols, _LINK_COLUMNS):
        ends = [whole(row[key], 0, table.num_nodes - 1, at=f"{at}.{key}") for key in ("a", "b")]
        if ends[0] == ends[1]:
            raise ConfigError(at, "must lead from one node to another", got=row["b"])
        rate = whole(row["rate_bps"], 1, MOST_RATE, at=f"{at}.rate_bps")
        delay = whole(row["delay_ns"], 0, 10**12, at=f"{at}.delay_ns")
        links.append((ends[0], ends[1], rate, delay))
    return tuple(links)


def next_hops_of(data: object, nodes: int) -> dict[tuple[int, int], tuple[int, ...]]:
    """The order of next hops by node and destination, as listed; of none where *data* is None.

    Raises:
        ConfigError: The list breaks a rule.
    """
    if data is None:
        return {}
    found: dict[tuple[int, int], tuple[int, ...]] = {}
    rows = _NextHopsTable.from_file_data(data, at="ecmp_next_hops").rows
    for index, (node, hops, targets) in enumerate(rows):
        at = f"ecmp_next_hops.rows[{index}]"
        for value in (node, *hops, *targets):
            whole(value, 0, nodes - 1, at=at)
        for target in targets:
            if (node, target) in found:
                rule = f"must tell the next hops of node {node} towards {target} once"
                raise ConfigError(at, rule, got=hops)
            found[node, target] = tuple(hops)
    return found


def _check_ends(flows: Flows, topology: Topology) -> None:
    switches = set(topology.switches)
    for index, ends in enumerate(zip(flows.source, flows.target, strict=True)):
        for key, node in zip(("src", "dst"), ends, strict=True):
            if node >= topology.nodes or node in switches:
                rule = f"must be a host: a node below {topology.nodes} that is no switch"
                raise ConfigError(f"flows[{index}].{key}", rule, got=node)
        if ends[0] == ends[1]:
            rule = "must lead to another host than its source"
            raise ConfigError(f"flows[{index}].dst", rule, got=ends[1])


def is_case(data: object) -> bool:
    """True if the content of a file is one case, rather than a list of them."""
    return not isinstance(data, Sequence)

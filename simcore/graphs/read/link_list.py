"""A graph as a list of its links: rows of numbers under named columns."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any

import numpy as np

from simcore.errors import ConfigError
from simcore.graphs.families import FAMILIES
from simcore.graphs.graph import MOST_NODES, NetworkGraph

_COLUMNS = ("id", "a", "b", "Bps", "latency_ns", "duplex")
_DUPLEX = ("simplex", "half")


def graph_of_links(table: Mapping[str, Any], at: str = "graph") -> NetworkGraph:
    """The graph of a table with ``nodes``, ``npus``, ``links_cols`` and ``links``.

    A row is one link: ``simplex`` from node a to node b, or ``half``, which carries both directions
    in one capacity. A full-duplex cable is two rows. With ``family`` and ``params`` the NPUs have
    the coordinates of that family.

    Raises:
        ConfigError: A key, column or row that breaks a rule.
    """
    nodes = _whole(table, "nodes", at, 1, MOST_NODES)
    npus = _whole(table, "npus", at, 1, nodes)
    rows = checked_rows(table, "links", _COLUMNS, at)
    columns: list[list[Any]] = [[], [], [], [], []]
    for number, row in enumerate(rows):
        for column, value in zip(columns, _checked(row, number, nodes, f"{at}.links"), strict=True):
            column.append(value)
    begin, end, rate, latency, half = columns
    count = len(rows)
    graph = NetworkGraph(
        npus=npus,
        nodes=nodes,
        tier_of=np.zeros(nodes - npus, np.int64),
        tiers=("switch",) if nodes > npus else (),
        link_from=np.array(begin, np.int64),
        link_to=np.array(end, np.int64),
        bytes_per_s=np.array(rate, np.float64),
        latency_ns=np.array(latency, np.float64),
        half=np.array(half, np.bool_),
        cable_of=np.arange(count),
        kind_of=np.zeros(count, np.int64),
        kinds=("link",) if count else (),
        npus_forward=bool(table.get("npus_forward", True)),
    )
    return _with_coordinates(graph, table, at)


def _with_coordinates(graph: NetworkGraph, table: Mapping[str, Any], at: str) -> NetworkGraph:
    if "family" not in table:
        return graph
    name = table["family"]
    if name not in FAMILIES:
        raise FAMILIES.unknown(name, at=f"{at}.family")
    family = FAMILIES[name]
    place = f"{at}.params"
    parameters = family.parameters.from_file_data(table.get("params", {}), at=place)
    return replace(graph, dims=family.dims(parameters), wraps=family.wraps())


def checked_rows(
    table: Mapping[str, Any], key: str, columns: Sequence[str], at: str
) -> list[list[Any]]:
    """Rows of a list under its named columns, in the order of *columns*.

    Raises:
        ConfigError: The list or its columns are not as they must be.
    """
    names = table.get(f"{key}_cols", list(columns))
    if not isinstance(names, list) or sorted(map(str, names)) != sorted(columns):
        rule = f"must be the columns {', '.join(columns)}"
        raise ConfigError(f"{at}.{key}_cols", rule, got=names)
    rows = table.get(key)
    if not isinstance(rows, list):
        raise ConfigError(f"{at}.{key}", "must be a list of rows", got=rows)
    places = [names.index(name) for name in columns]
    found = []
    for number, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != len(names):
            rule = f"must be a list of {len(names)} values"
            raise ConfigError(f"{at}.{key}[{number}]", rule, got=row)
        found.append([row[place] for place in places])
    return found


def is_whole(value: object) -> bool:
    """True if *value* is a whole number, which ``true`` is not."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    """True if *value* is a finite number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return abs(value) < 1 << 1000
    return isinstance(value, float) and isfinite(value)


def _whole(table: Mapping[str, Any], key: str, at: str, least: int, most: int) -> int:
    value = table.get(key)
    if not is_whole(value) or not least <= value <= most:  # type: ignore[operator]
        rule = f"must be a whole number, {least} to {most}"
        raise ConfigError(f"{at}.{key}", rule, got=value)
    return int(value)  # type: ignore[arg-type]


def _checked(
    row: list[Any], number: int, nodes: int, at: str
) -> tuple[int, int, float, float, bool]:
    link, a, b, rate, latency, duplex = row
    place = f"{at}[{number}]"
    if not is_whole(link) or link != number:
        raise ConfigError(f"{place}.id", "must count up from 0", got=link)
    for name, node in (("a", a), ("b", b)):
        if not is_whole(node) or not 0 <= node < nodes:
            raise ConfigError(f"{place}.{name}", f"must be a node, 0 to {nodes - 1}", got=node)
    if a == b:
        raise ConfigError(place, "must join two different nodes", got=[a, b])
    if not is_number(rate) or not rate > 0:
        raise ConfigError(f"{place}.Bps", "must be a number above 0", got=rate)
    if not is_number(latency) or latency < 0:
        raise ConfigError(f"{place}.latency_ns", "must be a number, 0 or more", got=latency)
    if duplex not in _DUPLEX:
        raise ConfigError(f"{place}.duplex", f"must be one of {', '.join(_DUPLEX)}", got=duplex)
    return a, b, float(rate), float(latency), duplex == "half"

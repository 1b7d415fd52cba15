"""Nodes that share a router: a block of them on a plane of nodes."""

from collections.abc import Mapping
from typing import Any

from simcore.errors import ConfigError
from simcore.flits.topologies.wires import MOST_PORTS, Wires, whole

MOST_NODES = 1 << 16


def add_nodes_in_blocks(wires: Wires, config: Mapping[str, Any], first_port: int) -> None:
    """Attach c nodes to each router of k to the n-th.

    On two dimensions nodes are numbered row by row over a plane of ``x xr`` by ``y yr`` of them,
    and a router has the block of xr by yr around it; otherwise router r has nodes r c to
    r c + c - 1.

    Raises:
        ConfigError: c, x, y, xr or yr break their rules.
    """
    c, k = whole(config, "c", 1, MOST_PORTS), wires.side
    if wires.routers * c > MOST_NODES:
        raise ConfigError("c", f"must give at most {MOST_NODES:,} nodes", got=c)
    across, deep = _block(config, c)
    if wires.dimensions != 2:
        across, deep = c, 1
    for name in ("x", "y"):
        if wires.dimensions == 2 and whole(config, name, 1, MOST_NODES, k) != k:
            raise ConfigError(name, f"must be {k}, as k says", got=config[name])
    width = k * across
    for node in range(wires.routers * c):
        if wires.dimensions == 2:
            column, row = node % width, node // width
            router = row // deep * k + column // across
            port = first_port + row % deep * across + column % across
        else:
            router, port = node // c, first_port + node % c
        wires.nodes.append((router, port, router, port))
    wires.base = k * across if across == deep else 0
    wires.digits = wires.dimensions


def _block(config: Mapping[str, Any], c: int) -> tuple[int, int]:
    root = round(c**0.5)
    if "xr" not in config and "yr" not in config:
        return (root, root) if root * root == c else (c, 1)
    across = whole(config, "xr", 1, c)
    deep = whole(config, "yr", 1, c)
    if across * deep != c:
        raise ConfigError("xr", f"must give c = {c} with yr, multiplied", got=across)
    return across, deep

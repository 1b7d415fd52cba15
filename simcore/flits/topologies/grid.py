"""Meshes, tori and concentrated meshes.

Router ``sum(x_d k^d)`` has output ``2 d`` towards higher and ``2 d + 1`` towards lower x_d, and
inputs by the same numbers from there; nodes have the last ports.
"""

from collections.abc import Mapping
from typing import Any

from simcore.flits.topologies.blocks import add_nodes_in_blocks
from simcore.flits.topologies.wires import Wires, sides, whole


def mesh(config: Mapping[str, Any]) -> Wires:
    """Mesh of k routers along each of n dimensions, with links of one cycle."""
    wires = _grid(config, 1, wraps=False)
    _add_node_each(wires)
    return wires


def torus(config: Mapping[str, Any]) -> Wires:
    """Mesh whose lines are rings; folded, so that links take two cycles, unless told not to."""
    folded = whole(config, "use_noc_latency", 0, 1, 1)
    wires = _grid(config, 1 + folded, wraps=True)
    _add_node_each(wires)
    return wires


def concentrated(config: Mapping[str, Any]) -> Wires:
    """Mesh of k by k routers with c nodes each, without express links."""
    wires = _grid(config, 1, wraps=False)
    add_nodes_in_blocks(wires, config, first_port=2 * wires.dimensions)
    return wires


def _grid(config: Mapping[str, Any], latency: int, *, wraps: bool) -> Wires:
    k, n, routers = sides(config)
    wires = Wires(routers=routers, side=k, dimensions=n, base=k, digits=n)
    for router in range(routers):
        for d in range(n):
            stride = k**d
            x = router // stride % k
            for way, step in enumerate((1, -1)):
                y = (x + step) % k if wraps else x + step
                if 0 <= y < k:
                    other = router + (y - x) * stride
                    wires.ends.append((router, 2 * d + way, other, 2 * d + 1 - way, latency))
    return wires


def _add_node_each(wires: Wires) -> None:
    port = 2 * wires.dimensions
    wires.nodes.extend((router, port, router, port) for router in range(wires.routers))

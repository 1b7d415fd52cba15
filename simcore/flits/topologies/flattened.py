"""Flattened butterflies: grids in which every line of routers is fully connected.

Source: J. Kim, W. Dally, D. Abts, "Flattened butterfly: a cost-efficient topology for high-radix
networks", ISCA 2007.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from simcore.flits.topologies.blocks import add_nodes_in_blocks
from simcore.flits.topologies.wires import Wires, sides, whole


def flattened(config: Mapping[str, Any]) -> Wires:
    """Flattened butterfly of k^n routers with c nodes each; links take one cycle.

    Nodes have the first c ports; then come those of each dimension, by the place they lead to.
    """
    k, n, routers = sides(config)
    c = whole(config, "c", 1, 1 << 12)
    wires = Wires(routers=routers, side=k, dimensions=n, first=c)
    add_nodes_in_blocks(wires, config, first_port=0)
    homes = np.array([node[0] for node in wires.nodes])
    table = np.zeros((routers, len(homes)), np.int64)
    for router in range(routers):
        for d in reversed(range(n)):  # the lowest dimension that differs comes first
            stride = k**d
            here, there = router // stride % k, homes // stride % k
            output = c + d * (k - 1) + there - (there > here)
            table[router] = np.where(there != here, output, table[router])
            for y in range(k):
                if y != here:
                    port = c + d * (k - 1) + here - (here > y)
                    way = c + d * (k - 1) + y - (y > here)
                    wires.ends.append((router, way, router + (y - here) * stride, port, 1))
    wires.table = table
    return wires

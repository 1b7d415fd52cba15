"""Butterflies: n stages of k by k switches, one way, with one path for each pair.

Source: W. Dally, B. Towles, Principles and Practices of Interconnection Networks, 2004, chapter 4.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from simcore.flits.topologies.wires import Wires, sides


def butterfly(config: Mapping[str, Any]) -> Wires:
    """Butterfly of k^n nodes.

    Behind stage s the lowest digit of a wire's number changes places with digit n - 1 - s, so that
    output d of a switch there sets that digit of the target to d.
    """
    k, n, nodes = sides(config)
    each = nodes // k
    wires = Wires(routers=n * each, side=k, dimensions=n, base=k, digits=n)
    for stage in range(n - 1):
        far = k ** (n - 1 - stage)
        for wire in range(nodes):
            low, high = wire % k, wire // far % k
            other = wire + (high - low) + (low - high) * far
            ends = stage * each + wire // k, low, (stage + 1) * each + other // k, other % k, 1
            wires.ends.append(ends)
    last = (n - 1) * each
    wires.nodes.extend((node // k, node % k, last + node // k, node % k) for node in range(nodes))
    table = np.zeros((wires.routers, nodes), np.int64)
    for stage in range(n):
        table[stage * each : (stage + 1) * each] = np.arange(nodes) // k ** (n - 1 - stage) % k
    wires.table = table
    return wires

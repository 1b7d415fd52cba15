"""Fat trees: n levels of k^(n-1) switches above k^n nodes.

Source: F. Petrini, M. Vanneschi, "k-ary n-trees: high performance networks for massively parallel
architectures", IPPS 1997.
"""

from collections.abc import Mapping
from typing import Any

from simcore.flits.topologies.wires import Wires, sides


def fat_tree(config: Mapping[str, Any]) -> Wires:
    """Fat tree of k^n nodes; level 0 is the top, and outputs below k lead down.

    Output j upwards of a switch at level l leads to the switch whose digit n - 1 - l is j, where
    nodes below a switch of that level share the digits above.
    """
    k, n, nodes = sides(config)
    each = nodes // k
    wires = Wires(routers=n * each, side=k, dimensions=n, base=k, digits=n)
    for level in range(1, n):
        stride = k ** (n - 1 - level)
        for place in range(each):
            digit = place // stride % k
            for up in range(k):
                parent = (level - 1) * each + place + (up - digit) * stride
                child = level * each + place
                wires.ends.append((child, k + up, parent, digit, 1))
                wires.ends.append((parent, digit, child, k + up, 1))
    leaves = (n - 1) * each
    for node in range(nodes):
        leaf = leaves + node // k
        wires.nodes.append((leaf, node % k, leaf, node % k))
    return wires

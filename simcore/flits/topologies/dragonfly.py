"""Dragonflies: groups of fully connected routers, each two groups joined by one link.

Source: J. Kim, W. Dally, S. Scott, D. Abts, "Technology-driven, highly-scalable dragonfly
topology", ISCA 2008; cycles of links as in BookSim 2.
"""

from collections.abc import Mapping
from typing import Any

from simcore.flits.topologies.wires import Wires, whole

LOCAL_CYCLES, GLOBAL_CYCLES = 10, 100
MOST_PER_ROUTER = 11


def dragonfly(config: Mapping[str, Any]) -> Wires:
    """Balanced dragonfly: k nodes and k links to other groups per router, 2 k routers per group.

    There are 2 k^2 + 1 groups. Nodes have the first k ports; then come the other routers of the
    group, by their place in it, and the links to other groups.
    """
    p = whole(config, "k", 1, MOST_PER_ROUTER)
    whole(config, "n", 1, 1, 1)
    each = 2 * p
    groups, first = each * p + 1, p + each - 1
    wires = Wires(routers=each * groups, side=p, dimensions=1, first=p)
    for router in range(wires.routers):
        group, here = divmod(router, each)
        for there in range(each):
            if there != here:
                ends = p + there - (there > here), group * each + there, p + here - (here > there)
                wires.ends.append((router, *ends, LOCAL_CYCLES))
        for j in range(p):
            link = here * p + j
            other = link if link < group else link + 1
            back = group if group < other else group - 1
            far = other * each + back // p, first + back % p
            wires.ends.append((router, first + j, *far, GLOBAL_CYCLES))
        wires.nodes.extend((router, j, router, j) for j in range(p))
    return wires

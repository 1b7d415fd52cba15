"""Links of routers on a grid, with or without a way round, each with one node."""

import numpy as np

from simcore.kernels.flits.network import NOWHERE, Links

ENDPOINT_LATENCY = 1


def grid(side: int, dimensions: int, latency: int, *, wraps: bool, credit_delay: int = 0) -> Links:
    """Links of a mesh, or where it *wraps*, of a torus.

    Router ``sum(x_d side^d)`` has output ``2 d`` towards higher and ``2 d + 1`` towards lower x_d,
    and inputs by the same numbers from there; the last port is that of the node of its number.

    Args:
        side: Routers along a dimension.
        dimensions: Their number.
        latency: Cycles of a link between routers.
        wraps: Whether the last router of a line leads to the first one.
        credit_delay: Cycles until a router may use a credit that arrived.
    """
    routers, ports = side**dimensions, 2 * dimensions + 1
    ends = np.full((3, routers, ports), NOWHERE, np.int64)
    starts = ends.copy()
    for router in range(routers):
        for d in range(dimensions):
            stride = side**d
            x = router // stride % side
            for way, step in enumerate((1, -1)):
                y = (x + step) % side if wraps else x + step
                if not 0 <= y < side:
                    continue
                other, there = router + (y - x) * stride, 2 * d + 1 - way
                ends[:, router, 2 * d + way] = other, there, latency
                starts[:, other, there] = router, 2 * d + way, latency + credit_delay
    nodes = np.arange(routers)
    ends[0, :, -1], ends[2, :, -1] = -1 - nodes, ENDPOINT_LATENCY
    starts[0, :, -1], starts[2, :, -1] = -1 - nodes, ENDPOINT_LATENCY
    own = np.full(routers, ports - 1, np.int64)
    back = ENDPOINT_LATENCY + credit_delay
    to, back_from = (ends[0], ends[1], ends[2]), (starts[0], starts[1], starts[2])
    return Links(*to, *back_from, nodes, own, back)

"""The children of nodes, from what each of them waits for."""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.classes.layout import Ints
from simcore.kernels.jit import njit
from simcore.kernels.npu.layout import CHILDREN, MISSING


@njit(cache=True)
def invert_dependencies(
    dep_start: Ints, dep: NDArray[np.int32], first: int, child: Ints, node: Ints
) -> None:
    """Write the children of one program's nodes, from the dependencies of each node.

    Args:
        dep_start: (N + 1,) int64, where each node's dependencies begin.
        dep: (D,) int32, their positions within the program.
        first: Position of the program's first node among all nodes.
        child: (E,) int64; the program's part is ``child[node[first, CHILDREN]:]``, filled here.
        node: (T, NODE_FIELDS) int64; CHILDREN of the program's first node is given, the others
            are filled, as is MISSING.
    """
    nodes = dep_start.size - 1
    at = np.zeros(nodes + 1, np.int64)
    for parent in dep:
        at[parent + 1] += 1
    at[0] = node[first, CHILDREN]
    for position in range(nodes):
        at[position + 1] += at[position]
        node[first + position, CHILDREN] = at[position]
        node[first + position, MISSING] = dep_start[position + 1] - dep_start[position]
    for position in range(nodes):
        for edge in range(dep_start[position], dep_start[position + 1]):
            parent = dep[edge]
            child[at[parent]] = first + position
            at[parent] += 1

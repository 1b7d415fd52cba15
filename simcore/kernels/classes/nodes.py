"""The records of the nodes of a stage, each written once."""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.classes import layout as f
from simcore.kernels.classes.layout import Ints
from simcore.kernels.jit import njit
from simcore.kernels.npu import layout as n

TIME, LEAD, CATEGORY, KIND, ITEM_FIELDS = range(5)
"""Fields of an item: how long its nodes take, how long before their end the event that ends them
was scheduled, what their time is booked under, and their kind for the kernels."""


@njit(cache=True)
def write_nodes(
    kind: NDArray[np.int8],
    item: NDArray[np.int32],
    stage: int,
    first_item: Ints,
    items: Ints,
    node: Ints,
) -> None:
    """Write the records of one stage's nodes, but for children, mates and times of messages.

    Args:
        kind: (N,) int8, ``NodeKind`` of each node.
        item: (N,) int32, number of its item among those of its kind; of messages anything below 0.
        stage: Their stage.
        first_item: (kinds,) int64, by ``NodeKind``, where the items of a kind begin.
        items: (I, ITEM_FIELDS) int64.
        node: (N, NODE_FIELDS) int64, written here.
    """
    for position in range(kind.size):
        at = first_item[kind[position]] + max(item[position], 0)
        for field in range(f.NODE_FIELDS):
            node[position, field] = 0
        node[position, n.KIND] = items[at, KIND]
        node[position, n.DURATION] = items[at, TIME]
        node[position, n.LAST_STEP] = items[at, LEAD]
        node[position, n.CATEGORY] = items[at, CATEGORY]
        node[position, f.STAGE] = stage
        node[position, n.MATE] = node[position, f.STARTED] = -1
        node[position, f.HAS_ENDED] = node[position, f.ITEM] = -1

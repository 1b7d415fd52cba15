"""Orders in which ASTRA-sim walks its hash sets and maps of nodes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.engines.events.programs import Ints, Program
from simcore.kernels.events.structures.set_layout import set_words
from simcore.kernels.native import call


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HashedOrders:
    """Order of a custom collective's nodes.

    Attributes:
        nodes: (T,) int64, all nodes in the order of their map.
        child_start: (T + 1,) int64; those that wait for node t are
            ``children[child_start[t]:child_start[t + 1]]``.
        children: (E,) int64, those of each node in the order of its set.
    """

    nodes: Ints
    child_start: Ints
    children: Ints


def hashed_orders(program: Program) -> HashedOrders:
    """The orders of a program whose positions and dependencies stand as in its file."""
    size = program.kind.size
    waiting = np.repeat(np.arange(size), np.diff(program.dep_start))
    order = np.argsort(program.dep, kind="stable")
    child_start = np.searchsorted(program.dep[order], np.arange(size + 1))
    children, nodes = waiting[order], np.empty(size, np.int64)
    call(
        "order_nodes",
        program.dep_start,
        program.dep,
        child_start,
        children,
        nodes,
        _scratch(program.node_id),
    )
    return HashedOrders(nodes=nodes, child_start=child_start, children=children)


def walked_set(ids: NDArray[np.uint64]) -> Ints:
    """The order, as indices into *ids*, in which a hash set walks them that got them in a row.

    Args:
        ids: (T,) uint64, distinct.
    """
    order = np.empty(ids.size, np.int64)
    nothing, starts = np.empty(0, np.int64), np.zeros(ids.size + 1, np.int64)
    call("order_nodes", starts, nothing, starts, nothing, order, _scratch(ids))
    return order


def _scratch(ids: NDArray[np.uint64]) -> Ints:
    scratch = np.zeros(2 * ids.size + set_words(ids.size), np.int64)
    scratch[: ids.size] = ids.view(np.int64)
    return scratch

"""The orders in which a custom collective looks at its nodes: those of ASTRA-sim's hash maps."""

from simcore.kernels.events.compiled import kernel
from simcore.kernels.events.layout import Ints
from simcore.kernels.events.structures.hashed_set import add_item, begin_set, has_items, take_first


@kernel
def order_nodes(
    dep_start: Ints, dep: Ints, child_start: Ints, children: Ints, order: Ints, scratch: Ints
) -> None:
    """Order the nodes as a whole, and the children of each node.

    All nodes stand in one map: each is entered when its line of the file is read, right before the
    nodes for which it waits, if these are not in yet. The nodes that wait for another one stand in
    a set of that node, entered as their lines are read.

    Args:
        dep_start: (T + 1,) where the dependencies of each node start; nodes in file order.
        dep: (E,) the nodes that each waits for, as the file lists them, each once.
        child_start: (T + 1,) where the children of each node start.
        children: (E,) in file order per node; receives them in the order of their set.
        order: (T,) receives the nodes in the order of the map.
        scratch: First the T ids, T words of 0, and room for a set of T items.
    """
    nodes = order.size
    met, at = nodes, 2 * nodes
    found = 0
    for node in range(nodes):
        found = _enter(scratch, met, node, order, found)
        begin_set(scratch, at, nodes, 0, 1)
        for edge in range(dep_start[node], dep_start[node + 1]):
            add_item(scratch, at, dep[edge])
        while has_items(scratch, at):
            found = _enter(scratch, met, take_first(scratch, at), order, found)
    _walk(scratch, at, nodes, order)
    for node in range(nodes):
        _walk(scratch, at, nodes, children[child_start[node] : child_start[node + 1]])


@kernel
def _enter(scratch: Ints, met: int, node: int, order: Ints, found: int) -> int:
    """Note *node* as the next one, unless it has been met; returns how many have."""
    if scratch[met + node] != 0:
        return found
    scratch[met + node] = 1
    order[found] = node
    return found + 1


@kernel
def _walk(scratch: Ints, at: int, nodes: int, items: Ints) -> None:
    """Put *items* from the order in which they enter a set into the order of the set."""
    begin_set(scratch, at, nodes, 0, 1)
    for item in items:
        add_item(scratch, at, item)
    for place in range(items.size):
        items[place] = take_first(scratch, at)

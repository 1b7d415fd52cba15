"""Ends of the members of a double binary tree, given when each starts.

Source: the rules of ASTRA-sim 2.0's collective algorithms.
"""

from simcore.kernels.collectives.phase_machine import reduction_ns, travel_ns
from simcore.kernels.collectives.records import Ints, Machine, Record
from simcore.kernels.jit import njit


@njit(cache=True)
def tree_ends(
    row: Record, size: int, ids: Ints, machine: Machine, start: Ints, end: Ints, maximal: bool
) -> float:
    """Write when each member of a double binary tree has its chunk, up to the root and down again.

    Arguments and result are those of ``phase_members.member_ends``.

    The root, the first member or in the *maximal* tree the last, has one child, which heads a
    complete binary tree over the other members in order. A member that has its children's chunks,
    each reduced on arrival, sends on; what comes back down passes the same way.
    """
    members, shift = row["members"], 1 if maximal else 0
    delay_ns = machine.delay_ns
    both_ns = delay_ns + reduction_ns(size, machine.memory_bytes_per_s)
    root, top = members * shift, members // 2
    for i in range(members):
        end[i] = start[i] + delay_ns
    step = 2  # distance of neighbours whose parents stand in one level: places step, 3 step, ...
    while step < members:
        for place in range(step, members, 2 * step):
            me = place - shift
            end[me] = 0
            for child in (me - step // 2, me + step // 2):
                arrival = end[child] + travel_ns(machine, ids[child], ids[me], size)
                end[me] = max(end[me], max(arrival, start[me]) + both_ns)
        step *= 2
    me, child = root - shift, top - shift
    arrival = end[child] + travel_ns(machine, ids[child], ids[me], size)
    end[me] = max(arrival, start[me]) + both_ns
    step = members // 2
    while step > 0:
        for place in range(step, members, 2 * step):
            me = place - shift
            parent = tree_parent(place, step, members, root) - shift
            arrival = end[parent] + travel_ns(machine, ids[parent], ids[me], size)
            end[me] = arrival + (both_ns if step > 1 else delay_ns)
        step //= 2
    # the chunk goes up and down each of the tree's edges once
    return 2.0 * size * (members - 1) / members


@njit(cache=True)
def tree_parent(place: int, step: int, members: int, root: int) -> int:
    """Place of the parent of *place*, whose lowest set bit is *step*."""
    if step == members // 2:
        return root
    return place - step if place & (2 * step) else place + step

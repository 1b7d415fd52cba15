"""Double binary tree: up to the root and down again; leaves, inner members and roots differ.

The tree is a root with one child, which heads a complete binary tree whose members are numbered in
order. In the minimal tree the first member is the root, in the maximal tree the last one.

Source: P. Sanders, J. Speck, J. Larsson Träff, "Two-tree algorithms for full bandwidth broadcast,
reduction and scan", Parallel Computing 35(12), 2009; bookkeeping of ASTRA-sim 2.0.
"""

from simcore.kernels.collectives.phase_machine import reduction_ns
from simcore.kernels.collectives.records import PEERS_TREE
from simcore.kernels.events import layout as f
from simcore.kernels.events.bundles import pass_bundle
from simcore.kernels.events.compiled import kernel
from simcore.kernels.events.fold.stand_ins import present_in_tree
from simcore.kernels.events.layout import Floats, Ints
from simcore.kernels.events.messages import new_message, receive, send
from simcore.kernels.events.stepwise import member_id
from simcore.kernels.events.structures.arena import new_event


@kernel
def begin_tree(arena: Ints, rates: Floats, walk: int, maximal: bool) -> None:
    """Find the member's place in the tree; leaves start, the others post their receives."""
    arena[walk + f.WALK_PEERS] = PEERS_TREE
    size = arena[arena[walk + f.WALK_STREAM] + f.STREAM_BYTES]
    arena[walk + f.WALK_BYTES] = size
    arena[walk + f.WALK_REDUCE_NS] = reduction_ns(size, rates[f.MEMORY_BYTES_PER_S])
    _find_place(arena, walk, maximal)
    if arena[walk + f.WALK_FIRST_CHILD] < 0:
        pass_bundle(arena, rates, walk, f.NOT_REDUCED, size, f.YES, f.NO)
        return
    _receive(arena, rates, walk, arena[walk + f.WALK_FIRST_CHILD])
    if arena[walk + f.WALK_SECOND_CHILD] >= 0:
        _receive(arena, rates, walk, arena[walk + f.WALK_SECOND_CHILD])


@kernel
def _find_place(arena: Ints, walk: int, maximal: bool) -> None:
    """Ids of parent and children, -1 where there is none."""
    members = arena[arena[walk + f.WALK_PHASE] + f.PHASE_MEMBERS]
    shift = 1 if maximal else 0
    place = arena[walk + f.WALK_INDEX] + shift  # 1..members - 1 in the complete tree
    parent, first, second = -1, -1, -1
    if place == members * shift:
        first = members // 2
    else:
        step = place & -place  # 1 for a leaf, doubling with each level
        if step == members // 2:
            parent = members * shift
        else:
            parent = place - step if place & (2 * step) else place + step
        if step > 1:
            first, second = place - step // 2, place + step // 2
    index = arena[walk + f.WALK_INDEX] + shift
    arena[walk + f.WALK_PARENT] = -1 if parent < 0 else member_id(arena, walk, parent - index)
    arena[walk + f.WALK_FIRST_CHILD] = -1 if first < 0 else member_id(arena, walk, first - index)
    arena[walk + f.WALK_SECOND_CHILD] = -1 if second < 0 else member_id(arena, walk, second - index)


@kernel
def receive_in_tree(arena: Ints, rates: Floats, walk: int) -> None:
    """A message came: its bundle passes the bus, reduced unless this is a leaf."""
    arena[walk + f.WALK_RECEIVED] += 1
    leaf = arena[walk + f.WALK_FIRST_CHILD] < 0
    reduce_ns = f.NOT_REDUCED if leaf else arena[walk + f.WALK_REDUCE_NS]
    inner = not leaf and arena[walk + f.WALK_PARENT] >= 0
    sends_back = not leaf and (not inner or arena[walk + f.WALK_RECEIVED] > 1)
    size = arena[walk + f.WALK_BYTES]
    pass_bundle(arena, rates, walk, reduce_ns, size, f.NO, sends_back)


@kernel
def go_on_in_tree(arena: Ints, rates: Floats, walk: int) -> bool:
    """A bundle has passed. Returns whether the phase is over for this member."""
    arena[walk + f.WALK_STAGE] += 1
    stage = arena[walk + f.WALK_STAGE]
    parent = arena[walk + f.WALK_PARENT]
    first, second = arena[walk + f.WALK_FIRST_CHILD], arena[walk + f.WALK_SECOND_CHILD]
    children = 0 if first < 0 else (1 if second < 0 else 2)
    if parent < 0:
        _send(arena, rates, walk, first)
        return True
    if stage == (1 if children == 0 else 2):
        _send(arena, rates, walk, parent)
        _receive(arena, rates, walk, parent)
    elif stage > children:
        if children == 2:
            _send(arena, rates, walk, first)
            _send(arena, rates, walk, second)
        return True
    return False


@kernel
def _send(arena: Ints, rates: Floats, walk: int, dst: int) -> None:
    me, tag = arena[walk + f.WALK_ID], arena[walk + f.WALK_TAG]
    message = new_message(arena, tag, me, dst, arena[walk + f.WALK_BYTES])
    if arena[f.PLACES] != 0:
        present_in_tree(arena, rates, walk, message)
    send(arena, rates, message)


@kernel
def _receive(arena: Ints, rates: Floats, walk: int, src: int) -> None:
    then = new_event(arena, f.DO_STEP_RECEIVED, walk, f.NOTHING)
    me, tag = arena[walk + f.WALK_ID], arena[walk + f.WALK_TAG]
    receive(arena, rates, tag, src, me, arena[walk + f.WALK_BYTES], then)

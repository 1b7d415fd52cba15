"""Members of a phase, and their positions."""

from simcore.kernels.events import layout as f
from simcore.kernels.events.compiled import kernel
from simcore.kernels.events.layout import Ints


@kernel
def sorted_place(arena: Ints, phase: int, npu_id: int) -> int:
    """Position of a member in the sorted list of a phase."""
    low, high = 0, arena[phase + f.PHASE_MEMBERS] - 1
    sorted_ids = arena[phase + f.PHASE_LIST] + f.LIST_MEMBERS + arena[phase + f.PHASE_MEMBERS]
    while low < high:
        middle = (low + high) // 2
        if arena[sorted_ids + middle] < npu_id:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def position_of(arena: Ints, phase: int, npu_id: int) -> int:
    """Position of an NPU among the members of a phase, in the order in which they communicate."""
    members, ids = arena[phase + f.PHASE_MEMBERS], arena[phase + f.PHASE_LIST]
    if ids == 0:
        return npu_id // arena[phase + f.PHASE_STRIDE] % members
    return arena[ids + f.LIST_MEMBERS + 2 * members + sorted_place(arena, phase, npu_id)]


@kernel
def listed_id(arena: Ints, ids: int, position: int) -> int:
    """NPU id at a position of a list group."""
    return arena[ids + f.LIST_MEMBERS + position]

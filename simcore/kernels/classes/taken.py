"""Cores and memory bandwidth that communication takes from computes beside it.

While collectives and sends are under way, the engines that carry them out take a part of an NPU's
cores and of its memory bandwidth, and a compute loses part of its rate: of the cores' part what it
is bound by cores, of the memory's what it is bound by memory. Where several are under way, the one
that takes most counts, for they share their engines. A compute's end is put off by what it has
lost: it is looked at when it would end if nothing more were lost, which is never too late.

Arrays: see ``classes.layout``.
"""

from simcore.kernels.classes import layout as f
from simcore.kernels.classes.layout import Ints
from simcore.kernels.heaps import push_event
from simcore.kernels.jit import njit
from simcore.kernels.npu import layout as n
from simcore.kernels.npu.feeder import book
from simcore.kernels.npu.layout import NpuLayout


@njit(cache=True)
def lose(fixed: Ints, live: Ints, at: NpuLayout, npu: int, now: int) -> None:
    """Note what computes of an NPU have lost since its last event; what it did is booked next."""
    passed, cores, memory = now - live[npu + n.BOOKED_UNTIL], n.ZERO, n.ZERO
    first = npu + at.slot + at.compute_slots * at.slot_fields
    behind = npu + at.slot + (at.slots - at.lanes + 2) * at.slot_fields
    for slot in range(first, behind, at.slot_fields):
        if live[slot] >= 0:
            row = live[slot + n.ROW]
            # a member of a shared collective waits until the last one has started
            if fixed[row + n.KIND] != n.SHARED or live[slot + n.END] != n.NEVER:
                cores = max(cores, fixed[row + f.CORES])
                memory = max(memory, fixed[row + f.MEMORY])
    if passed == 0 or cores + memory == 0:
        return
    for slot in range(npu + at.slot, first, at.slot_fields):
        if live[slot] >= 0:
            row = live[slot + n.ROW]
            lost = cores * fixed[row + f.CORES] + memory * fixed[row + f.MEMORY]
            part = min(lost >> f.WHOLE_BITS, f.MOST_LOST)
            # in two parts, so that no time is too long to be multiplied
            rest = live[slot + f.REST] + (passed & (f.WHOLE - 1)) * part
            live[slot + f.LOST] += (passed >> f.WHOLE_BITS) * part + (rest >> f.WHOLE_BITS)
            live[slot + f.REST] = rest & (f.WHOLE - 1)


@njit(cache=True)
def goes_on(
    fixed: Ints,
    live: Ints,
    at: NpuLayout,
    event: Ints,
    counter: Ints,
    who: int,
    slot: int,
    now: int,
) -> bool:
    """True if the compute in a slot, which would end *now*, has lost time: its end is put off."""
    if live[slot + n.END] > now:
        return True  # it was put off when another node of its NPU ended
    lose(fixed, live, at, who * at.npu_size, now)
    book(fixed, live, at, who * at.npu_size, now)
    end = live[slot + f.START] + fixed[live[slot + n.ROW] + n.DURATION] + live[slot + f.LOST]
    if end <= now:
        return False
    live[slot + n.END] = end
    push_event(event, counter, end, now, who << f.POSITION_BITS | live[slot])
    return True


@njit(cache=True)
def book_lost(fixed: Ints, live: Ints, at: NpuLayout, npu: int, slot: int) -> None:
    """Book what a compute that ends has lost under the last category, in the place of its own."""
    own = npu + at.booked + fixed[live[slot + n.ROW] + n.CATEGORY]
    lost = min(live[slot + f.LOST], live[own])
    live[own] -= lost
    live[npu + at.booked + at.categories - 1] += lost

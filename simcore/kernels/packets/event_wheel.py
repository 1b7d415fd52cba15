"""Events in order of time, and of the order in which they were scheduled.

Those of the next ``SPAN_NS`` ns lie in a wheel: one first-in first-out list per ns, and a bit that
says whether it holds anything. Later ones lie in a heap, and move to the wheel as soon as it
reaches them, before anything else can be put behind them: so both keep the order.

Events of one time are of one group if the events that caused them were of one group, back to
starts of flows that were told at once. An event is carried out before another of its time if its
cause was carried out before; so the events of a group follow each other, those that go back to the
flow that was started first before others. That orders events of parts of the network of which
only one is simulated (``packets.fold``) as if all were.
"""

import numpy as np

from simcore.kernels.packets import layout as f
from simcore.kernels.packets.compiled import kernel
from simcore.kernels.packets.layout import Ints

SPAN_NS = 4096
WORDS = SPAN_NS // 64  # of bits
WHEEL_WORDS = 2 * SPAN_NS
ENTRY_WORDS = 3  # of the heap: time, order, event

_MASK = SPAN_NS - 1
# Lowest set bit by a de Bruijn sequence: the top bits of its product with 2^n tell n.
_SEQUENCE = np.int64(0x03F79D71B4CB0A89)
_BIT_OF = np.zeros(64, np.int64)
for _bit in range(64):
    _BIT_OF[(((0x03F79D71B4CB0A89 << _bit) & 0xFFFFFFFFFFFFFFFF) >> 58) & 63] = _bit


@kernel
def schedule(arena: Ints, time_ns: int, event: int) -> None:
    """Add an event that begins with the words of an event, at the present or later."""
    arena[event + f.E_KIND] = (arena[event + f.E_KIND] & f.KIND_MASK) | arena[f.CAUSE]
    if time_ns - arena[f.NOW_NS] < SPAN_NS:
        _append(arena, time_ns & _MASK, event)
    else:
        _push(arena, time_ns, event)


@kernel
def _append(arena: Ints, slot: int, event: int) -> None:
    first = arena[f.WHEEL] + 2 * slot
    arena[event + f.E_NEXT] = 0
    if arena[first] == 0:
        arena[first] = event
        arena[arena[f.WHEEL_BITS] + (slot >> 6)] |= np.int64(1) << np.int64(slot & 63)
    else:
        arena[arena[first + 1] + f.E_NEXT] = event
    arena[first + 1] = event


@kernel
def next_event(arena: Ints) -> int:
    """Take the next event and go to its time; 0: there is none."""
    slot = arena[f.NOW_NS] & _MASK
    event = arena[arena[f.WHEEL] + 2 * slot]
    if event == 0:
        slot = _advance(arena)
        if slot < 0:
            return 0
        event = arena[arena[f.WHEEL] + 2 * slot]
    follower = arena[event + f.E_NEXT]
    arena[arena[f.WHEEL] + 2 * slot] = follower
    if follower == 0:
        arena[arena[f.WHEEL_BITS] + (slot >> 6)] &= ~(np.int64(1) << np.int64(slot & 63))
    return event


@kernel
def enter_group(arena: Ints, event: int) -> None:
    """Let what is scheduled next be caused by *event*, the one that is carried out now."""
    word = arena[event + f.E_KIND]
    cause = word >> f.GROUP_SHIFT
    if cause != arena[f.GROUP_CAUSE] or arena[f.NOW_NS] != arena[f.GROUP_NS]:
        arena[f.GROUP_CAUSE], arena[f.GROUP_NS] = cause, arena[f.NOW_NS]
        arena[f.GROUP] = (arena[f.GROUP] + 1) & f.GROUP_MASK
    arena[f.CAUSE] = arena[f.GROUP] << f.GROUP_SHIFT | word & f.ROOT_MASK


@kernel
def has_more_now(arena: Ints) -> bool:
    """True if events of the present ns are left."""
    return arena[arena[f.WHEEL] + 2 * (arena[f.NOW_NS] & _MASK)] != 0


@kernel
def next_time_ns(arena: Ints) -> int:
    """Time of the next event; -1: there is none."""
    now = arena[f.NOW_NS]
    if arena[arena[f.WHEEL] + 2 * (now & _MASK)] != 0:
        return now
    slot = _next_slot(arena, (now + 1) & _MASK)
    if slot >= 0:
        return now + ((slot - now) & _MASK)
    return arena[arena[f.HEAP]] if arena[f.HEAP_SIZE] > 0 else -1


@kernel
def _advance(arena: Ints) -> int:
    """Go to the time of the next event; its slot, or -1."""
    now = arena[f.NOW_NS]
    slot = _next_slot(arena, (now + 1) & _MASK)
    if slot >= 0:
        time_ns = now + ((slot - now) & _MASK)
    elif arena[f.HEAP_SIZE] > 0:
        time_ns = arena[arena[f.HEAP]]
        slot = time_ns & _MASK
    else:
        return -1
    arena[f.NOW_NS] = time_ns
    heap = arena[f.HEAP]
    while arena[f.HEAP_SIZE] > 0 and arena[heap] - time_ns < SPAN_NS:
        _append(arena, arena[heap] & _MASK, arena[heap + 2])
        _drop_first(arena)
    return slot


@kernel
def _next_slot(arena: Ints, slot: int) -> int:
    """First slot from *slot* on, around the wheel, that holds an event, or -1."""
    bits = arena[f.WHEEL_BITS]
    word = slot >> 6
    found = arena[bits + word] & (np.int64(-1) << np.int64(slot & 63))
    for _ in range(WORDS + 1):
        if found != 0:
            lowest = found & -found
            return (word << 6) + _BIT_OF[((lowest * _SEQUENCE) >> 58) & 63]
        word = (word + 1) & (WORDS - 1)
        found = arena[bits + word]
    return -1


@kernel
def _push(arena: Ints, time_ns: int, event: int) -> None:
    heap, at = arena[f.HEAP], arena[f.HEAP_SIZE]
    arena[f.HEAP_SIZE] += 1
    arena[f.ORDER] += 1
    while at > 0:  # a later order never goes before an equal time
        parent = (at - 1) >> 1
        above, here = heap + ENTRY_WORDS * parent, heap + ENTRY_WORDS * at
        if time_ns >= arena[above]:
            break
        _copy(arena, above, here)
        at = parent
    here = heap + ENTRY_WORDS * at
    arena[here] = time_ns
    arena[here + 1] = arena[f.ORDER]
    arena[here + 2] = event


@kernel
def _drop_first(arena: Ints) -> None:
    heap = arena[f.HEAP]
    arena[f.HEAP_SIZE] -= 1
    size = arena[f.HEAP_SIZE]
    last = heap + ENTRY_WORDS * size
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        child = heap + ENTRY_WORDS * below
        if below + 1 < size and _before(arena, child + ENTRY_WORDS, child):
            below += 1
            child += ENTRY_WORDS
        if _before(arena, last, child):
            break
        _copy(arena, child, heap + ENTRY_WORDS * at)
        at = below
    _copy(arena, last, heap + ENTRY_WORDS * at)


@kernel
def _before(arena: Ints, one: int, two: int) -> bool:
    if arena[one] != arena[two]:
        return arena[one] < arena[two]
    return arena[one + 1] < arena[two + 1]


@kernel
def _copy(arena: Ints, source: int, target: int) -> None:
    for word in range(ENTRY_WORDS):
        arena[target + word] = arena[source + word]


@kernel
def double_heap(arena: Ints) -> None:
    """Move the heap to the end of the arena, where it has twice the room; there must be enough."""
    words = ENTRY_WORDS * arena[f.HEAP_CAPACITY]
    old, new = arena[f.HEAP], arena[f.NEXT_WORD]
    for word in range(words):
        arena[new + word] = arena[old + word]
    arena[f.HEAP] = new
    arena[f.HEAP_CAPACITY] *= 2
    arena[f.NEXT_WORD] += 2 * words

"""The queue of events.

Events of one time run in the order in which they were scheduled. The bookkeeping of one NPU
(endpoint delays, compute, memory) is kept in a table per NPU and time, and the whole table runs as
one event, at the place of its first entry (the event order of ASTRA-sim 2.0).
"""

from simcore.kernels.events import layout as f
from simcore.kernels.events.compiled import kernel
from simcore.kernels.events.fold.ties import enter_tie, note_entry
from simcore.kernels.events.layout import Ints
from simcore.kernels.events.structures.arena import new_event
from simcore.kernels.events.structures.keyed_fifo import (
    append,
    drop_fifo,
    find_fifo,
    new_fifo,
    pop,
)
from simcore.kernels.heaps import drop_lowest, push_number


@kernel
def schedule(arena: Ints, time_ns: int, event: int) -> None:
    """Put *event* after everything already scheduled for *time_ns*."""
    bucket = arena[f.LATEST_BUCKET]
    if bucket == 0 or arena[bucket + f.FIFO_KEY] != time_ns:
        bucket = find_fifo(arena, time_ns, f.GLOBAL_OWNER)
        if bucket == 0:
            bucket = new_fifo(arena, time_ns, f.GLOBAL_OWNER)
            push_number(arena, arena[f.HEAP], arena[f.HEAP_SIZE], time_ns)
            arena[f.HEAP_SIZE] += 1
        arena[f.LATEST_BUCKET] = bucket
    arena[event + f.EVENT_BORN] = arena[f.MARK]
    append(arena, bucket, event)


@kernel
def register(arena: Ints, npu: int, delay_ns: int, event: int) -> None:
    """Put *event* into the table that *npu* has for *delay_ns* from now."""
    time_ns = arena[f.NOW_NS] + delay_ns
    table = arena[npu + f.NPU_LATEST_TABLE]
    if table == 0 or arena[table + f.FIFO_KEY] != time_ns:
        table = find_fifo(arena, time_ns, npu)
        if table == 0:
            table = new_fifo(arena, time_ns, npu)
            arena[table + f.EVENT_KIND] = f.DO_TABLE
            arena[table + f.FIFO_MARK] = arena[f.MARK]
            schedule(arena, time_ns, table)
        arena[npu + f.NPU_LATEST_TABLE] = table
    arena[event + f.EVENT_BORN] = arena[f.MARK]
    if arena[f.PLACES] != 0:
        note_entry(arena, npu, table, delay_ns)
    append(arena, table, event)


@kernel
def do_later(arena: Ints, npu: int, delay_ns: int, kind: int, a: int, b: int) -> None:
    """Do *kind* with *a* and *b* in the table that *npu* has for *delay_ns* from now."""
    register(arena, npu, delay_ns, new_event(arena, kind, a, b))


@kernel
def next_event(arena: Ints) -> int:
    """Take the next event and set the time; 0 where none is left before the horizon."""
    while True:
        table = arena[f.CURRENT_TABLE]
        if table != 0:
            event = pop(arena, table)
            if event != 0:
                return event
            _end_table(arena, table)
        bucket = arena[f.CURRENT_BUCKET]
        if bucket != 0:
            event = pop(arena, bucket)
            if event == 0:
                _end_bucket(arena, bucket)
                continue
            if arena[f.PLACES] != 0:
                enter_tie(arena, event)
            if arena[event + f.EVENT_KIND] == f.DO_TABLE:
                arena[f.CURRENT_TABLE] = event
                if arena[f.PLACES] != 0:
                    arena[arena[event + f.FIFO_OWNER] + f.NPU_TABLE_TIE] = arena[f.TIES]
            else:
                return event
        elif arena[f.HEAP_SIZE] == 0 or arena[arena[f.HEAP]] > arena[f.HORIZON_NS]:
            return 0
        else:
            arena[f.NOW_NS] = arena[arena[f.HEAP]]
            arena[f.CURRENT_BUCKET] = find_fifo(arena, arena[f.NOW_NS], f.GLOBAL_OWNER)
            arena[f.HEAP_SIZE] -= 1
            drop_lowest(arena, arena[f.HEAP], arena[f.HEAP_SIZE])


@kernel
def _end_table(arena: Ints, table: int) -> None:
    npu = arena[table + f.FIFO_OWNER]
    if arena[npu + f.NPU_LATEST_TABLE] == table:
        arena[npu + f.NPU_LATEST_TABLE] = 0
    drop_fifo(arena, table)
    arena[f.CURRENT_TABLE] = 0


@kernel
def _end_bucket(arena: Ints, bucket: int) -> None:
    if arena[f.LATEST_BUCKET] == bucket:
        arena[f.LATEST_BUCKET] = 0
    drop_fifo(arena, bucket)
    arena[f.CURRENT_BUCKET] = 0


@kernel
def double_heap(arena: Ints) -> None:
    """Move the heap to twice its room; the words must be there."""
    old, capacity = arena[f.HEAP], arena[f.HEAP_CAPACITY]
    heap = arena[f.NEXT_WORD]
    arena[f.NEXT_WORD] = heap + 2 * capacity
    for word in range(arena[f.HEAP_SIZE]):
        arena[heap + word] = arena[old + word]
    arena[f.HEAP] = heap
    arena[f.HEAP_CAPACITY] = 2 * capacity

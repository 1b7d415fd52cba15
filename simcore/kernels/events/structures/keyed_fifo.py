"""FIFOs found by a pair of integers: a chained hash table that doubles between events."""

from simcore.kernels.events import layout as f
from simcore.kernels.events.compiled import kernel
from simcore.kernels.events.layout import Ints
from simcore.kernels.events.structures.arena import allocate, clear, release

_LOW = (1 << 31) - 1


@kernel
def mixed(a: int, b: int) -> int:
    """A hash of two integers, 0 or more; no product leaves 63 bits."""
    x = (a ^ (a >> 31)) & _LOW
    y = (b ^ (b >> 31)) & _LOW
    z = x * 73244475 + y * 295559667
    return z ^ (z >> 29)


@kernel
def find_fifo(arena: Ints, key: int, owner: int) -> int:
    """The FIFO of (*key*, *owner*), or 0."""
    slot = arena[f.FIFOS] + (mixed(key, owner) & (arena[f.FIFO_CAPACITY] - 1))
    fifo = arena[slot]
    while fifo != 0 and (arena[fifo + f.FIFO_KEY] != key or arena[fifo + f.FIFO_OWNER] != owner):
        fifo = arena[fifo + f.FIFO_CHAIN]
    return fifo


@kernel
def new_fifo(arena: Ints, key: int, owner: int) -> int:
    """An empty FIFO under a pair that has none."""
    fifo = allocate(arena, f.FIFO_WORDS)
    slot = arena[f.FIFOS] + (mixed(key, owner) & (arena[f.FIFO_CAPACITY] - 1))
    arena[fifo + f.FIFO_CHAIN] = arena[slot]
    arena[slot] = fifo
    arena[fifo + f.FIFO_KEY] = key
    arena[fifo + f.FIFO_OWNER] = owner
    arena[fifo + f.FIFO_HEAD] = 0
    arena[fifo + f.FIFO_MARK] = 0
    arena[f.FIFO_COUNT] += 1
    return fifo


@kernel
def drop_fifo(arena: Ints, fifo: int) -> None:
    """Take an empty FIFO out of the table."""
    where = arena[f.FIFOS] + (
        mixed(arena[fifo + f.FIFO_KEY], arena[fifo + f.FIFO_OWNER]) & (arena[f.FIFO_CAPACITY] - 1)
    )
    while arena[where] != fifo:
        where = arena[where] + f.FIFO_CHAIN
    arena[where] = arena[fifo + f.FIFO_CHAIN]
    arena[f.FIFO_COUNT] -= 1
    release(arena, fifo, f.FIFO_WORDS)


@kernel
def append(arena: Ints, fifo: int, event: int) -> None:
    """Put *event* at the end of *fifo*."""
    arena[event + f.EVENT_NEXT] = 0
    if arena[fifo + f.FIFO_HEAD] == 0:
        arena[fifo + f.FIFO_HEAD] = event
    else:
        arena[arena[fifo + f.FIFO_TAIL] + f.EVENT_NEXT] = event
    arena[fifo + f.FIFO_TAIL] = event


@kernel
def pop(arena: Ints, fifo: int) -> int:
    """Take the first event of *fifo*, or 0 where it is empty."""
    event = arena[fifo + f.FIFO_HEAD]
    if event != 0:
        arena[fifo + f.FIFO_HEAD] = arena[event + f.EVENT_NEXT]
    return event


@kernel
def double_fifo_table(arena: Ints) -> None:
    """Move the FIFOs to a table of twice the size; there must be room for it."""
    old, capacity = arena[f.FIFOS], arena[f.FIFO_CAPACITY]
    table = arena[f.NEXT_WORD]
    arena[f.NEXT_WORD] = table + 2 * capacity
    clear(arena, table, 2 * capacity)
    for slot in range(old, old + capacity):
        fifo = arena[slot]
        while fifo != 0:
            after = arena[fifo + f.FIFO_CHAIN]
            key, owner = arena[fifo + f.FIFO_KEY], arena[fifo + f.FIFO_OWNER]
            where = table + (mixed(key, owner) & (2 * capacity - 1))
            arena[fifo + f.FIFO_CHAIN] = arena[where]
            arena[where] = fifo
            fifo = after
    arena[f.FIFOS] = table
    arena[f.FIFO_CAPACITY] = 2 * capacity

"""Records in the arena: taken from a free list of their size, or from words never used."""

from simcore.kernels.events import layout as f
from simcore.kernels.events.compiled import kernel
from simcore.kernels.events.layout import Ints


@kernel
def allocate(arena: Ints, words: int) -> int:
    """A record of *words* words whose fields hold anything; there must be room."""
    record = arena[f.FREE_LISTS + words]
    if record != 0:
        arena[f.FREE_LISTS + words] = arena[record]
        return record
    record = arena[f.NEXT_WORD]
    arena[f.NEXT_WORD] = record + words
    return record


@kernel
def release(arena: Ints, record: int, words: int) -> None:
    """Give back a record of *words* words."""
    arena[record] = arena[f.FREE_LISTS + words]
    arena[f.FREE_LISTS + words] = record


@kernel
def clear(arena: Ints, first: int, words: int) -> None:
    """Set *words* words to 0 (a slice would do, but takes long to compile)."""
    for word in range(first, first + words):
        arena[word] = 0


@kernel
def new_event(arena: Ints, kind: int, a: int, b: int) -> int:
    """An event that does *kind* with the arguments *a* and *b*."""
    event = allocate(arena, f.EVENT_WORDS)
    arena[event + f.EVENT_KIND] = kind
    arena[event + f.EVENT_A] = a
    arena[event + f.EVENT_B] = b
    return event

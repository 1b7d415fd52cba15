"""Steps that an algorithm states one by one: how much each member sends, and to whom.

A table is a run of words within a larger array, from the word *at* on: the STEP_WORDS of each step
(``records``), then what permutations name.
"""

from simcore.kernels.collectives.records import (
    NOBODY,
    PEER_AHEAD,
    PEER_DIFFERING,
    PEER_SPAN,
    STEP_DENOMINATOR,
    STEP_NUMERATOR,
    STEP_PEER,
    STEP_REDUCES,
    STEP_VALUE,
    STEP_WORDS,
    Ints,
)
from simcore.kernels.jit import njit


@njit(cache=True)
def step_bytes(words: Ints, at: int, step: int, size: int) -> int:
    """Bytes of the packet of *step*, where the phase starts with *size* bytes; rounded down."""
    row = at + step * STEP_WORDS
    part, whole = words[row + STEP_NUMERATOR], words[row + STEP_DENOMINATOR]
    return size // whole * part + size % whole * part // whole  # product by parts: no overflow


@njit(cache=True)
def step_receiver(words: Ints, at: int, step: int, member: int, members: int) -> int:
    """Receiver for *member* of *members* in *step*, or NOBODY."""
    row = at + step * STEP_WORDS
    rule, value = words[row + STEP_PEER], words[row + STEP_VALUE]
    if rule == PEER_AHEAD:
        return (member + value) % members
    if rule == PEER_DIFFERING:
        return member ^ value
    if rule == PEER_SPAN:
        return member + words[at + value] if _sends(words, at + value, member) else NOBODY
    return words[at + value + member]


@njit(cache=True)
def step_sender(words: Ints, at: int, step: int, member: int, members: int) -> int:
    """Sender to *member* of *members* in *step*, or NOBODY."""
    row = at + step * STEP_WORDS
    rule, value = words[row + STEP_PEER], words[row + STEP_VALUE]
    if rule == PEER_AHEAD:
        return (member - value) % members
    if rule == PEER_DIFFERING:
        return member ^ value
    if rule == PEER_SPAN:
        sender = member - words[at + value]
        return sender if _sends(words, at + value, sender) else NOBODY
    return words[at + value + members + member]


@njit(cache=True)
def _sends(words: Ints, span: int, member: int) -> bool:
    """True if *member* is one of the senders of a span."""
    return words[span + 1] <= member < words[span + 1] + words[span + 2]


@njit(cache=True)
def step_reduces(words: Ints, at: int, step: int) -> bool:
    """True if what arrives in *step* is reduced."""
    return words[at + step * STEP_WORDS + STEP_REDUCES] != 0

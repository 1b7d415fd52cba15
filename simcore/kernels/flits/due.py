"""Nodes that send nothing until they make their next packet.

Those whose packet comes within ``SOON`` cycles are bits of a table with a row per cycle; the others
lie in a heap by its cycle, as *cycle* x *nodes* + *node*. Nodes of one cycle wake by number.
"""

from typing import Any

from numba import types
from numba.core.extending import intrinsic, overload

from simcore.kernels.flits.network import (
    AT_DUE,
    AT_NODE,
    AT_SENDING,
    AT_SOON,
    NEXT_MADE,
    NODE_WORDS,
    NODES,
    SENDING,
    SOON_NODES,
    SOON_WORDS,
    WAITING_NODES,
    Ints,
)
from simcore.kernels.heaps import drop_lowest, push_number
from simcore.kernels.jit import njit

SOON = 512
"""Cycles, a power of two."""
BITS = 32
"""Bits of a word that are used; its sign is none of them."""


def lowest_bit(word: int) -> int:
    """Number of the lowest bit of a word that is set."""
    return (int(word) & -int(word)).bit_length() - 1


@overload(lowest_bit)
def _lowest_bit(word: Any) -> Any:
    def compiled(word: Any) -> Any:
        return _trailing_zeros(word)  # type: ignore[call-arg]

    return compiled


@intrinsic
def _trailing_zeros(context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

    return types.int64(types.int64), generate


@njit(cache=True, error_model="numpy")
def rest(m: Ints, node: int, now: int) -> None:
    """Let a node wait for its next packet, which comes after a cycle, or in it before it is run."""
    due = m[m[AT_NODE] + node * NODE_WORDS + NEXT_MADE]
    if due < now + SOON:
        m[SOON_NODES] += 1
        _set_bit(m, due, node)
        return
    push_number(m, m[AT_DUE], m[WAITING_NODES], due * m[NODES] + node)
    m[WAITING_NODES] += 1


@njit(cache=True, error_model="numpy")
def _set_bit(m: Ints, cycle: int, node: int) -> None:
    row = m[AT_SOON] + (cycle & SOON - 1) * m[SOON_WORDS]
    m[row + node // BITS] |= 1 << (node & BITS - 1)


@njit(cache=True, error_model="numpy")
def wake(m: Ints, now: int) -> None:
    """Bring the nodes that make a packet in a cycle into the list of those that send."""
    while m[WAITING_NODES] > 0 and m[m[AT_DUE]] < (now + 1) * m[NODES]:
        m[SOON_NODES] += 1
        _set_bit(m, now, m[m[AT_DUE]] % m[NODES])
        m[WAITING_NODES] -= 1
        drop_lowest(m, m[AT_DUE], m[WAITING_NODES])
    if m[SOON_NODES] == 0:
        return
    row, count = m[AT_SOON] + (now & SOON - 1) * m[SOON_WORDS], m[SENDING]
    for j in range(m[SOON_WORDS]):
        bits = m[row + j]
        while bits != 0:
            m[m[AT_SENDING] + m[SENDING]] = j * BITS + lowest_bit(bits)
            m[SENDING] += 1
            bits &= bits - 1
        m[row + j] = 0
    m[SOON_NODES] -= m[SENDING] - count


@njit(cache=True, error_model="numpy")
def next_due(m: Ints, now: int, never: int) -> int:
    """Cycle, not before one, in which the first of the nodes that wait makes a packet."""
    first = m[m[AT_DUE]] // m[NODES] if m[WAITING_NODES] > 0 else never
    if m[SOON_NODES] > 0:
        for cycle in range(now, min(first, now + SOON)):
            row = m[AT_SOON] + (cycle & SOON - 1) * m[SOON_WORDS]
            for j in range(m[SOON_WORDS]):
                if m[row + j] != 0:
                    return int(cycle)
    return int(first)

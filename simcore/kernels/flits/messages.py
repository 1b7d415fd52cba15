"""Messages that are told one by one: each node sends those of its queue, packet by packet."""

from simcore.kernels.flits.network import (
    AT_MESSAGE,
    AT_NODE,
    AT_SENDING,
    ENDED,
    ENDED_AT,
    FLITS,
    FOLLOWS,
    FREE_MESSAGE,
    FREE_ROWS,
    LAST_FLITS,
    MESSAGE,
    MESSAGE_WORDS,
    NODE_WORDS,
    NONE,
    ON_WAY,
    PACKET,
    QUEUE,
    QUEUE_END,
    SENDING,
    SIZE,
    TARGET,
    TO_MAKE,
    TO_NODE,
    Ints,
    packet_row,
)
from simcore.kernels.jit import njit
from simcore.kernels.npu.pointers import pointer


@njit(cache=True, error_model="numpy")
def message_row(m: Ints, message: int) -> int:
    """Place where the words of a message begin."""
    return int(m[AT_MESSAGE] + message * MESSAGE_WORDS)


@njit(cache=True, error_model="numpy")
def add_message(words: Ints, source: int, target: int, flits: int) -> int:
    """Put a message into the queue of a node; its row, or ``NONE`` where there is none free."""
    m = pointer(words)
    message = m[FREE_MESSAGE]
    if message == NONE:
        return NONE
    r, n = message_row(m, message), m[AT_NODE] + source * NODE_WORDS
    m[FREE_MESSAGE] = m[r + FOLLOWS]
    packets = (flits + m[SIZE] - 1) // m[SIZE]
    m[r + TO_NODE], m[r + TO_MAKE], m[r + ON_WAY] = target, packets, packets
    m[r + LAST_FLITS] = flits - (packets - 1) * m[SIZE]
    m[r + FOLLOWS] = NONE
    if m[n + QUEUE] == NONE:
        m[n + QUEUE] = message
        if m[n + PACKET] == NONE:  # else it is in the list already
            m[m[AT_SENDING] + m[SENDING]] = source
            m[SENDING] += 1
    else:
        m[message_row(m, m[n + QUEUE_END]) + FOLLOWS] = message
    m[n + QUEUE_END] = message
    return int(message)


@njit(cache=True, error_model="numpy")
def begin_packet(m: Ints, node: int, packet: int) -> None:
    """Make a packet the next one of the first message of a node's queue."""
    n, p = m[AT_NODE] + node * NODE_WORDS, packet_row(m, packet)
    message = m[n + QUEUE]
    r = message_row(m, message)
    m[FREE_ROWS] -= 1
    m[r + TO_MAKE] -= 1
    m[p + FLITS] = m[SIZE] if m[r + TO_MAKE] else m[r + LAST_FLITS]
    m[p + MESSAGE], m[p + TARGET] = message, m[r + TO_NODE]
    if m[r + TO_MAKE] == 0:
        m[n + QUEUE] = m[r + FOLLOWS]


@njit(cache=True, error_model="numpy")
def end_packet(m: Ints, packet: int, now: int) -> None:
    """Count a packet that has arrived; with the last one of a message, that ends."""
    message = m[packet_row(m, packet) + MESSAGE]
    r = message_row(m, message)
    m[FREE_ROWS] += 1
    m[r + ON_WAY] -= 1
    if m[r + ON_WAY] == 0:
        m[r + ENDED_AT], m[r + FOLLOWS], m[ENDED] = now, m[ENDED], message

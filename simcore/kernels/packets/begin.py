"""Flows that begin while others are under way."""

from simcore.kernels.packets import layout as f
from simcore.kernels.packets.compiled import kernel
from simcore.kernels.packets.event_wheel import double_heap, next_time_ns, schedule
from simcore.kernels.packets.host import call_flow
from simcore.kernels.packets.layout import Ints
from simcore.kernels.packets.records import new_event

TIMERS_FIRST = -1
"""Timers were passed over while there was no packet to move: they must run first."""


@kernel
def begin_flow(arena: Ints, pair: int, number: int, size_bytes: int, now_ns: int) -> int:
    """Start a flow between the hosts of *pair*; its record.

    0: the arena is too small, see ``NEEDED_WORDS``; or ``TIMERS_FIRST``.

    Args:
        arena: (W,) int64, all state; see ``layout``.
        pair: Record of its hosts.
        number: Of the flow.
        size_bytes: Payload.
        now_ns: Start, no earlier than any event so far.
    """
    if 0 <= next_time_ns(arena) < now_ns:
        return TIMERS_FIRST
    links = 0 if arena[f.WAYS_TOLD] != 0 else arena[pair + f.PAIR_LINKS]
    ways = way_words(arena, links)
    need = arena[f.NEXT_WORD] + f.Q_WORDS + ways + arena[f.RESERVE_WORDS]
    # one event more must fit into the heap, whose reserve is for what an event adds
    heap_is_low = arena[f.HEAP_CAPACITY] - arena[f.HEAP_SIZE] <= arena[f.RESERVE_WORDS]
    if heap_is_low:
        need += 6 * arena[f.HEAP_CAPACITY]
    if need > arena.size:
        arena[f.NEEDED_WORDS] = need
        return 0
    if heap_is_low:
        double_heap(arena)
    qp = arena[f.NEXT_WORD]
    arena[f.NEXT_WORD] += f.Q_WORDS + ways
    arena[qp + f.Q_SIZE] = size_bytes
    arena[qp + f.Q_NUMBER] = number
    for word in (f.Q_START_NS, f.Q_FINISH_NS, f.Q_LAST_BYTE_NS, f.Q_NACKED):
        arena[qp + word] = -1
    arena[qp + f.Q_SOURCE] = arena[pair + f.PAIR_SOURCE]
    arena[qp + f.Q_TARGET] = arena[pair + f.PAIR_TARGET]
    window = arena[pair + f.PAIR_WINDOW]
    arena[qp + f.Q_WINDOW] = window
    arena[qp + f.Q_WINDOW_NOW] = window if window != 0 else f.NO_WINDOW
    arena[qp + f.Q_BASE_RTT_NS] = arena[pair + f.PAIR_BASE_RTT_NS]
    arena[qp + f.Q_FORTH] = qp + f.Q_WORDS
    arena[qp + f.Q_BACK] = qp + f.Q_WORDS + links
    arena[qp + f.Q_PAIR] = pair
    arena[f.FLOWS_LEFT] += 1
    arena[f.CAUSE] = arena[f.GROUP] << f.GROUP_SHIFT | (number << f.ROOT_SHIFT) & f.ROOT_MASK
    call_flow(arena, qp, now_ns)
    return qp


@kernel
def begin_group(arena: Ints) -> None:
    """Let the flows that begin next be a group: they are told at once."""
    arena[f.GROUP] = (arena[f.GROUP] + 1) & f.GROUP_MASK
    arena[f.GROUP_CAUSE] = -1


@kernel
def way_words(arena: Ints, links: int) -> int:
    """Words for the ways of a flow's data and ACKs of so many links, and what stands behind them.

    That is the time of the latest packet at each hop for flowlets, or a way that is compared.
    """
    return 4 * links if arena[f.ROUTING] >= f.BY_FLOWLET else 2 * links


@kernel
def plan_event(arena: Ints, at_ns: int, kind: int, a: int, b: int) -> None:
    """Schedule an event that does not by itself keep a run going."""
    schedule(arena, at_ns, new_event(arena, kind, a, b))

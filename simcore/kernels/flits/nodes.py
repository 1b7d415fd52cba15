"""Endpoints: nodes that make packets and send at most one flit per cycle, in a list."""

import numpy as np

from simcore.kernels.flits.crossing import put_flit
from simcore.kernels.flits.due import rest
from simcore.kernels.flits.messages import begin_packet
from simcore.kernels.flits.network import (
    AT_DOOR,
    AT_NODE,
    AT_NODE_OUTPUT,
    AT_PLACE,
    AT_SENDING,
    AT_TARGET,
    CHANCES,
    CHANNELS,
    CREDITS,
    CYCLE_BITS,
    DIMENSION,
    DIMENSIONS,
    DONE,
    DOOR_BUSY,
    DOOR_CYCLES,
    DOOR_SLOWNESS,
    DOOR_WORDS,
    ENTRY,
    EXIT,
    EXIT_PORT,
    EXIT_ROUTER,
    FLIT_BITS,
    FLITS,
    FREE,
    GOAL,
    GOES_OFF,
    GOES_ON,
    HOPS,
    INPUT_WORDS,
    IS_BATCH,
    IS_ON,
    KIND,
    LAST_VC,
    LEFT,
    LIVE,
    MADE,
    MEASURED,
    MEASURED_ON_WAY,
    MIDDLE,
    MOST_OUT,
    NEXT_FREE,
    NEXT_MADE,
    NODE_WORDS,
    NODES,
    NONE,
    ON_VC,
    OUT,
    OUTPUT_WORDS,
    PACKET,
    QUEUE,
    RETIRED,
    RETIRED_IN,
    SENDING,
    SENDS_ON,
    SENT,
    SIZE,
    SOURCE,
    SPOTS_COUNT,
    TAIL,
    TAIL_CREDIT,
    TAKEN,
    TARGET,
    TRAFFIC,
    UNTIL_CREDIT,
    UNTIL_TAIL,
    Ints,
    draw,
    packet_row,
)
from simcore.kernels.flits.routes.rule import GROUPS
from simcore.kernels.jit import njit
from simcore.kernels.npu.pointers import pointer

UNIFORM, TABLE, SPOTS = range(3)
"""Kinds of traffic: to any node; from node i to the i-th target; to any of the targets."""


@njit(cache=True, error_model="numpy")
def scale_of(chance: float) -> float:
    """Factor of the logarithm of a draw in the cycles between packets of a chance."""
    return 1.0 / np.log(1.0 - chance) if chance < 1.0 else 0.0


@njit(cache=True, error_model="numpy")
def _pause(m: Ints, scale: float, node: int) -> int:
    """Cycles from one packet of a node to the next one."""
    if m[SENDS_ON] > 0:
        return _pause_of_bursts(m, node)
    return 1 + int(np.log(1.0 - draw(m)) * scale)


@njit(cache=True, error_model="numpy")
def _pause_of_bursts(m: Ints, node: int) -> int:
    """Likewise of a node that sends in bursts: each cycle it may begin or end one, then send."""
    n, cycles = m[AT_NODE] + node * NODE_WORDS, 0
    while True:
        cycles += 1
        if m[n + IS_ON]:
            m[n + IS_ON] = int(draw(m) * CHANCES >= m[GOES_OFF])
        else:
            m[n + IS_ON] = int(draw(m) * CHANCES < m[GOES_ON])
        if m[n + IS_ON] and draw(m) * CHANCES < m[SENDS_ON]:
            return cycles


@njit(cache=True, error_model="numpy")
def begin(m: Ints, chance: float) -> None:
    """Draw the cycle of each node's first packet."""
    words, scale = pointer(m), scale_of(chance)
    for node in range(words[NODES]):
        n = words[AT_NODE] + node * NODE_WORDS
        if words[SENDS_ON] > 0:
            words[n + IS_ON] = int(draw(words) < 0.5)
        words[n + NEXT_MADE] = _pause(words, scale, node) - 1
        rest(words, node, 0)


@njit(cache=True, error_model="numpy")
def send_all(m: Ints, scale: float, when: tuple[int, int, int]) -> None:
    """Let each node that has something to send do so; those that have not leave the list."""
    sending, j = m[AT_SENDING], 0
    while j < m[SENDING]:
        node = m[sending + j]
        n = m[AT_NODE] + node * NODE_WORDS
        if m[n + PACKET] == NONE:
            _make(m, scale, node, when)
        if m[n + PACKET] != NONE:
            _inject(m, node, when[0])
        j += 1
        if m[n + PACKET] != NONE:
            continue
        if _is_done(m, n, when[0]):
            j -= 1
            m[SENDING] -= 1
            m[sending + j] = m[sending + m[SENDING]]
            if not m[IS_BATCH] and not m[LIVE]:
                rest(m, node, when[0])


@njit(cache=True, error_model="numpy")
def _is_done(m: Ints, n: int, now: int) -> bool:
    """True if a node that sends no packet has none to send now."""
    if m[LIVE]:
        return bool(m[n + QUEUE] == NONE)
    return bool(m[n + LEFT] == 0 if m[IS_BATCH] else m[n + NEXT_MADE] > now)


@njit(cache=True, error_model="numpy")
def _make(m: Ints, scale: float, node: int, when: tuple[int, int, int]) -> None:
    """Begin the next packet of a node that sends none."""
    now, begin_, end = when
    n = m[AT_NODE] + node * NODE_WORDS
    if m[LIVE]:
        if m[n + QUEUE] == NONE:
            return
        made = now
    elif m[IS_BATCH]:
        if m[n + RETIRED_IN] < now:  # what arrives in a cycle makes room in the next one
            m[n + OUT] -= m[n + RETIRED]
            m[n + RETIRED] = 0
        if m[n + LEFT] == 0 or (m[MOST_OUT] > 0 and m[n + OUT] >= m[MOST_OUT]):
            return
        m[n + LEFT] -= 1
        made = now
    else:
        if m[n + NEXT_MADE] > now:
            return
        made = m[n + NEXT_MADE]
        m[n + NEXT_MADE] = made + _pause(m, scale, node)
    packet = m[FREE]
    p = packet_row(m, packet)
    m[FREE] = m[p + NEXT_FREE]
    m[p + SOURCE], m[p + MADE], m[p + HOPS] = node, made, 0
    if m[LIVE]:
        begin_packet(m, node, packet)
    else:
        m[p + TARGET], m[p + FLITS] = _target(m, node), m[SIZE]
    door = m[AT_DOOR] + m[p + TARGET] * DOOR_WORDS
    m[p + GOAL] = m[AT_PLACE] + m[door + EXIT_ROUTER] * m[DIMENSIONS]
    m[p + EXIT] = m[door + EXIT_PORT]
    m[p + DIMENSION], m[p + MIDDLE], m[p + MEASURED] = NONE, NONE, int(begin_ <= made < end)
    m[MEASURED_ON_WAY] += m[p + MEASURED]
    m[n + OUT] += 1
    m[n + PACKET], m[n + DONE], m[n + ON_VC] = packet, 0, NONE


@njit(cache=True, error_model="numpy")
def _target(m: Ints, node: int) -> int:
    """Node that a packet goes to, by the pattern of traffic."""
    if m[TRAFFIC] == UNIFORM:
        return int(draw(m) * m[NODES])
    if m[TRAFFIC] == TABLE:
        return int(m[m[AT_TARGET] + node])
    return int(m[m[AT_TARGET] + int(draw(m) * m[SPOTS_COUNT])])


@njit(cache=True, error_model="numpy")
def _inject(m: Ints, node: int, now: int) -> None:
    """Send a flit of a node's packet if there is a slot."""
    n, each = m[AT_NODE] + node * NODE_WORDS, m[CHANNELS]
    packet, rows = m[n + PACKET], m[AT_NODE_OUTPUT] + node * each * OUTPUT_WORDS
    if m[n + ON_VC] == NONE:
        vc, tries = m[n + LAST_VC], each
        if m[KIND] >= GROUPS:  # routes by groups: any one channel, drawn anew in each cycle
            vc, tries = int(draw(m) * each) - 1, 1
        for _ in range(tries):
            vc = vc + 1 if vc + 1 < each else 0
            o = rows + vc * OUTPUT_WORDS
            if m[o + TAKEN] <= now and m[o + CREDITS] > 0:
                m[n + ON_VC] = m[n + LAST_VC] = vc
                m[o + TAKEN] = UNTIL_TAIL
                m[packet_row(m, packet) + SENT] = now
                break
    vc, door = m[n + ON_VC], m[AT_DOOR] + node * DOOR_WORDS
    o = rows + vc * OUTPUT_WORDS
    if vc == NONE or m[o + CREDITS] == 0 or m[door + DOOR_BUSY] >> CYCLE_BITS > now:
        return
    m[door + DOOR_BUSY] = max(m[door + DOOR_BUSY], now << CYCLE_BITS) + m[door + DOOR_SLOWNESS]
    m[o + CREDITS] -= 1
    flit = (packet << FLIT_BITS) + m[n + DONE]
    m[n + DONE] += 1
    is_tail = m[n + DONE] == m[packet_row(m, packet) + FLITS]
    flit = flit | TAIL if is_tail else flit
    put_flit(m, now + m[door + DOOR_CYCLES] + 1, m[door + ENTRY] + vc * INPUT_WORDS, flit)
    if is_tail:
        m[o + TAKEN] = UNTIL_CREDIT if m[TAIL_CREDIT] else now + 1
        m[n + PACKET] = NONE

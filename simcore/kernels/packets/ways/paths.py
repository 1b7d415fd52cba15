"""The path of a flow, chosen by a hash of its addresses and ports at every node with a choice."""

from simcore.kernels.packets import layout as f
from simcore.kernels.packets.compiled import kernel
from simcore.kernels.packets.layout import Ints
from simcore.kernels.packets.randoms import first_of_next_stream

# Seed of the hash by which a host with several ports chooses one; the network simulator's default.
_HOST_SEED = 0x8BADF00D
DATA_PORT = 100  # where data goes to, and ACKs come from
_DRAWS = 4  # of a host to pass by, until its switch is another than those of the flow's ends
FIRST_PORT = 10_000  # from which the first flow between two hosts comes


@kernel
def choose_paths(arena: Ints, qp: int) -> None:
    """Write the paths of a flow that starts and of its ACKs, and the ports that it sends from."""
    pair = arena[qp + f.Q_PAIR]
    source_port = (FIRST_PORT + arena[pair]) & 0xFFFF
    arena[pair] += 1
    arena[qp + f.Q_SPORT] = source_port
    target = arena[arena[qp + f.Q_TARGET] + f.NODE_ID]
    arena[qp + f.Q_LANE] = (target + source_port) % arena[f.LANES]
    if arena[f.WAYS_TOLD] != 0:
        _take_told_ways(arena, qp, pair)
        return
    _choose(arena, qp, source_port)


@kernel
def _choose(arena: Ints, qp: int, source_port: int) -> None:
    source, target = arena[qp + f.Q_SOURCE], arena[qp + f.Q_TARGET]
    forth = source_port | DATA_PORT << 16
    back = DATA_PORT | source_port << 16
    begin, end = write_path(arena, arena[qp + f.Q_FORTH], source, target, forth)
    if arena[f.ROUTING] >= f.BY_DETOUR:
        begin, end = _take_detour(arena, qp, begin, end, forth)
    arena[qp + f.Q_PORT], arena[qp + f.Q_LINKS] = begin, end - arena[qp + f.Q_FORTH] + 1
    arena[qp + f.Q_RECEIVER], _ = write_path(arena, arena[qp + f.Q_BACK], target, source, back)
    arena[qp + f.Q_LINE_RATE] = arena[begin + f.PORT_RATE]


@kernel
def choose_other_path(arena: Ints, qp: int, room: int) -> None:
    """Choose a flow's paths anew, for links have changed; what is under way keeps the old ones.

    Where its target cannot be reached, it keeps them too.

    Args:
        arena: (W,) int64, all state, with four times *room* words to spare; see ``layout``.
        qp: The flow.
        room: Links that a way may have.
    """
    source, target = arena[qp + f.Q_SOURCE], arena[qp + f.Q_TARGET]
    if not (_is_reached(arena, source, target) and _is_reached(arena, target, source)):
        return
    arena[qp + f.Q_FORTH] = arena[f.NEXT_WORD]
    arena[qp + f.Q_BACK] = arena[f.NEXT_WORD] + room
    arena[f.NEXT_WORD] += 4 * room
    old = arena[qp + f.Q_PORT]
    _choose(arena, qp, arena[qp + f.Q_SPORT])
    port = arena[qp + f.Q_PORT]
    if port != old:
        _change_list(arena, qp, old, port)


@kernel
def _is_reached(arena: Ints, source: int, target: int) -> bool:
    row = arena[f.NEXT_HOPS] + arena[target + f.NODE_ROOT] + arena[source + f.NODE_ID]
    return arena[row + 1] > arena[row]


@kernel
def _change_list(arena: Ints, qp: int, old: int, port: int) -> None:
    """Take a flow from the list of one port of its host to that of another."""
    qps, kept = arena[old + f.PORT_QPS], 0
    for index in range(arena[old + f.PORT_QP_COUNT]):
        if arena[qps + index] != qp:
            arena[qps + kept] = arena[qps + index]
            kept += 1
    if kept == arena[old + f.PORT_QP_COUNT]:  # it has not started yet
        return
    arena[old + f.PORT_QP_COUNT] = kept
    arena[arena[port + f.PORT_QPS] + arena[port + f.PORT_QP_COUNT]] = qp
    arena[port + f.PORT_QP_COUNT] += 1


@kernel
def _take_told_ways(arena: Ints, qp: int, pair: int) -> None:
    forth, back = arena[pair + f.PAIR_FORTH], arena[pair + f.PAIR_BACK]
    arena[qp + f.Q_PORT], arena[qp + f.Q_RECEIVER] = arena[forth], arena[back]
    arena[qp + f.Q_FORTH], arena[qp + f.Q_BACK] = forth + 1, back + 1
    arena[qp + f.Q_LINE_RATE] = arena[arena[forth] + f.PORT_RATE]
    links = 0
    while arena[forth + links] != 0:
        links += 1
    arena[qp + f.Q_LINKS] = links


@kernel
def next_port(arena: Ints, node: int, packet: int) -> int:
    """Port by which *packet* leaves the switch *node*."""
    routing = arena[f.ROUTING]
    if routing != f.IN_TURN and routing != f.SHORTEST_QUEUE:
        at = arena[packet + f.P_HOP]
        arena[packet + f.P_HOP] = at + 1
        return _port_of_flowlet(arena, node, packet, at) if routing == f.BY_FLOWLET else arena[at]
    return _chosen_port(arena, node, packet)


@kernel
def _port_of_flowlet(arena: Ints, node: int, packet: int, at: int) -> int:
    """Port that the flow took here before, or after a pause the one with the shortest queue.

    Source: Vanini et al., "Let it flow: resilient asymmetric load balancing with flowlet
    switching", NSDI 2017. Behind the ways of a flow stands when it came by each of their hops.
    """
    qp = arena[packet + f.P_QP]
    times = at + 2 * (arena[qp + f.Q_BACK] - arena[qp + f.Q_FORTH])
    last_ns, port = arena[times], arena[at]
    arena[times] = arena[f.NOW_NS]
    has_paused = last_ns != 0 and arena[f.NOW_NS] - last_ns > arena[f.FLOWLET_NS]
    if has_paused or arena[port + f.PORT_NODE] != node:
        arena[at] = port = _chosen_port(arena, node, packet)
    return port


@kernel
def _chosen_port(arena: Ints, node: int, packet: int) -> int:
    """One of the equally near next ports of a packet: the next in turn, or by queue."""
    qp = arena[packet + f.P_QP]
    is_data = arena[packet + f.P_TYPE] == f.DATA
    target = arena[qp + f.Q_TARGET] if is_data else arena[qp + f.Q_SOURCE]
    row = arena[f.NEXT_HOPS] + arena[target + f.NODE_ROOT] + arena[node + f.NODE_ID]
    first, count = arena[row], arena[row + 1] - arena[row]
    if count <= 1:
        return arena[first] if count == 1 else 0
    turn = arena[node + f.NODE_TURN]
    arena[node + f.NODE_TURN] += 1
    chosen = arena[first + turn % count]
    if arena[f.ROUTING] != f.IN_TURN:  # of equally short ones, the first in turn
        for step in range(1, count):
            other = arena[first + (turn + step) % count]
            if arena[other + f.PORT_EGRESS] < arena[chosen + f.PORT_EGRESS]:
                chosen = other
    return chosen


@kernel
def write_path(arena: Ints, at: int, source: int, target: int, ends: int) -> tuple[int, int]:
    """Write the switches' ports on the way between two nodes.

    Returns:
        The port at which it begins, and the place behind those written.
    """
    node, begin = source, 0
    addresses = _address(arena[source + f.NODE_ID]), _address(arena[target + f.NODE_ID])
    while node != target:
        row = arena[f.NEXT_HOPS] + arena[target + f.NODE_ROOT] + arena[node + f.NODE_ID]
        first, count = arena[row], arena[row + 1] - arena[row]
        choice = 0
        if count > 1:
            seed = arena[node + f.NODE_ID] if arena[node + f.NODE_IS_SWITCH] else _HOST_SEED
            choice = flow_hash(addresses[0], addresses[1], ends, seed) % count
        port = arena[first + choice]
        if begin == 0:
            begin = port
        if arena[node + f.NODE_IS_SWITCH] != 0:
            arena[at] = port
            at += 1
        node = arena[arena[port + f.PORT_PEER] + f.PORT_NODE]
    return begin, at


@kernel
def _take_detour(arena: Ints, qp: int, begin: int, end: int, ends: int) -> tuple[int, int]:
    """Write a way over the switch of a host drawn at random, unless the shortest one is better.

    Valiant, "A scheme for fast parallel communication", SIAM Journal on Computing 11(2), 1982; by
    queues: UGAL, Singh, "Load-balanced routing in interconnection networks", Stanford 2005: the
    queue that a way begins with, times its links. As ``write_path``.
    """
    at, source, target = arena[qp + f.Q_FORTH], arena[qp + f.Q_SOURCE], arena[qp + f.Q_TARGET]
    room = at + 2 * (arena[qp + f.Q_BACK] - at)  # behind the ways of data and of ACKs
    own, others = arena[arena[at] + f.PORT_NODE], arena[arena[end - 1] + f.PORT_NODE]
    detour, last, beyond = begin, room, own
    for _ in range(_DRAWS):
        drawn = int(first_of_next_stream(arena, f.MARK_STREAM) * arena[f.HOST_COUNT])
        middle = arena[arena[f.HOSTS] + drawn]
        if middle in (source, target):
            continue
        detour, last = write_path(arena, room, source, middle, ends)
        last -= 1  # not on to the host: its switch is what is passed
        beyond = arena[arena[last] + f.PORT_NODE]
        if beyond not in (own, others):
            break
    if beyond in (own, others):
        return begin, end
    _, last = write_path(arena, last, beyond, target, ends)
    if arena[f.ROUTING] == f.BY_QUEUED_DETOUR:
        straight = arena[arena[at] + f.PORT_EGRESS] * (end - at + 1)
        around = arena[arena[room] + f.PORT_EGRESS] * (last - room + 1)
        if straight <= around + arena[f.DETOUR_BIAS]:
            return begin, end
    for place in range(last - room):
        arena[at + place] = arena[room + place]
    return detour, at + last - room


@kernel
def _address(node: int) -> int:
    """IP address of a node."""
    return 0x0B000001 + (node // 256) * 0x10000 + (node % 256) * 0x100


@kernel
def flow_hash(source: int, target: int, ends: int, seed: int) -> int:
    """MurmurHash3 (x86, 32 bits; Austin Appleby) of two addresses and a word of two ports."""
    mixed = seed & 0xFFFFFFFF
    for word in (source, target, ends):
        word = (word * 0xCC9E2D51) & 0xFFFFFFFF
        word = ((word << 15) | (word >> 17)) & 0xFFFFFFFF
        word = (word * 0x1B873593) & 0xFFFFFFFF
        mixed ^= word
        mixed = ((mixed << 13) | (mixed >> 19)) & 0xFFFFFFFF
        mixed = (mixed * 5 + 0xE6546B64) & 0xFFFFFFFF
    mixed ^= 12
    mixed ^= mixed >> 16
    mixed = (mixed * 0x85EBCA6B) & 0xFFFFFFFF
    mixed ^= mixed >> 13
    mixed = (mixed * 0xC2B2AE35) & 0xFFFFFFFF
    return mixed ^ (mixed >> 16)

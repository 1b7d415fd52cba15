"""Packets and events: made, released, noted down."""

from simcore.kernels.packets import layout as f
from simcore.kernels.packets.compiled import kernel
from simcore.kernels.packets.layout import Floats, Ints
from simcore.kernels.packets.randoms import next_uniform


@kernel
def new_packet(arena: Ints, kind: int, qp: int, size: int) -> int:
    """A packet of a *kind* and *size* on the wire, without marks."""
    packet = arena[f.FREE_PACKETS]
    if packet != 0:
        arena[f.FREE_PACKETS] = arena[packet + f.E_NEXT]
    else:
        packet = arena[f.NEXT_WORD]
        arena[f.NEXT_WORD] += arena[f.PACKET_WORDS]
    arena[packet + f.E_KIND] = f.ARRIVAL
    arena[packet + f.P_TYPE] = kind
    arena[packet + f.P_QP] = qp
    arena[packet + f.P_BYTES] = size
    arena[packet + f.P_MARK] = 0
    arena[packet + f.P_STAMP] = 0
    arena[packet + f.P_TAIL_NS] = 0
    arena[f.SENT_PACKETS] += 1
    return packet


@kernel
def release_packet(arena: Ints, packet: int) -> None:
    """Keep the record for another packet."""
    arena[packet + f.E_NEXT] = arena[f.FREE_PACKETS]
    arena[f.FREE_PACKETS] = packet


@kernel
def new_event(arena: Ints, kind: int, a: int, b: int) -> int:
    """An event that is no packet, port or flow."""
    event = arena[f.FREE_EVENTS]
    if event != 0:
        arena[f.FREE_EVENTS] = arena[event + f.E_NEXT]
    else:
        event = arena[f.NEXT_WORD]
        arena[f.NEXT_WORD] += f.EVENT_WORDS
    arena[event + f.E_KIND] = kind
    arena[event + f.E_A] = a
    arena[event + f.E_B] = b
    return event


@kernel
def release_event(arena: Ints, event: int) -> None:
    """Keep the record for another event."""
    arena[event + f.E_NEXT] = arena[f.FREE_EVENTS]
    arena[f.FREE_EVENTS] = event


@kernel
def is_lost(arena: Ints, reals: Floats, port: int) -> bool:
    """True if the link of *port* loses the packet that it carries there."""
    if arena[f.LINKS_FAIL] != 0 and arena[port + f.PORT_DOWN] != 0:
        return True
    return reals[f.LOSS] > 0.0 and next_uniform(arena, arena[port + f.PORT_LOSS]) < reals[f.LOSS]


@kernel
def note(arena: Ints, trace: Ints, node: int, packet: int, rate: int) -> None:
    """Write a row of the trace: *packet* has come to a host."""
    row = f.TRACE_WORDS * arena[f.TRACE_ROWS]
    arena[f.TRACE_ROWS] += 1
    kind, qp = arena[packet + f.P_TYPE], arena[packet + f.P_QP]
    trace[row + f.T_NS] = arena[f.NOW_NS]
    trace[row + f.T_NODE] = arena[node + f.NODE_ID]
    trace[row + f.T_TYPE] = kind
    trace[row + f.T_FLOW] = f.DATA_CLASS if kind == f.PFC else arena[qp + f.Q_NUMBER]
    trace[row + f.T_SEQ] = arena[packet + f.P_SEQ]
    trace[row + f.T_BYTES] = arena[packet + f.P_BYTES]
    trace[row + f.T_MARK] = arena[packet + f.P_MARK]
    trace[row + f.T_RATE] = rate

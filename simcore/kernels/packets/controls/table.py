"""Calls of the congestion control that a run has, by its code; the others do nothing."""

from simcore.kernels.packets import layout as f
from simcore.kernels.packets.compiled import kernel
from simcore.kernels.packets.controls import (
    dcqcn,
    dcqcn_paper,
    dctcp,
    gap_table,
    hpcc,
    hpcc_paper,
    swift,
    tcp,
    timely,
    timely_paper,
)
from simcore.kernels.packets.layout import Floats, Ints

# Codes below are those of the reference's ``cc_mode``, which most runs have: they are asked first.
_REFERENCE_END = 100


@kernel
def on_start(arena: Ints, reals: Floats, qp: int) -> None:
    """Prepare the state of a flow that starts; all its words are 0."""
    control = arena[f.CONTROL]
    if control == dcqcn.CODE:
        dcqcn.on_start(arena, reals, qp)
    elif control == hpcc.CODE:
        hpcc.on_start(arena, reals, qp)
    elif control == timely.CODE:
        timely.on_start(arena, reals, qp)
    elif control == dctcp.CODE:
        dctcp.on_start(arena, reals, qp)
    elif control == dcqcn_paper.CODE:
        dcqcn_paper.on_start(arena, reals, qp)
    elif control == hpcc_paper.CODE:
        hpcc_paper.on_start(arena, reals, qp)
    elif control == swift.CODE:
        swift.on_start(arena, reals, qp)
    elif tcp.RENO <= control <= tcp.DCTCP:
        tcp.on_start(arena, reals, qp)


@kernel
def on_ack(arena: Ints, reals: Floats, qp: int, packet: int) -> None:
    """React to an ACK or NACK, also of a flow that has ended with it."""
    control = arena[f.CONTROL]
    if control > _REFERENCE_END:
        _on_ack_beyond(arena, reals, qp, packet)
    elif control == dcqcn.CODE:
        dcqcn.on_ack(arena, reals, qp, packet)
    elif control == hpcc.CODE:
        hpcc.on_ack(arena, reals, qp, packet)
    elif control == timely.CODE:
        timely.on_ack(arena, reals, qp, packet)
    elif control == dctcp.CODE:
        dctcp.on_ack(arena, reals, qp, packet)


@kernel
def _on_ack_beyond(arena: Ints, reals: Floats, qp: int, packet: int) -> None:
    """React as a control does that the reference lacks."""
    control = arena[f.CONTROL]
    if control == dcqcn_paper.CODE:
        dcqcn_paper.on_ack(arena, reals, qp, packet)
    elif control == hpcc_paper.CODE:
        hpcc_paper.on_ack(arena, reals, qp, packet)
    elif control == timely_paper.CODE:
        timely_paper.on_ack(arena, reals, qp, packet)
    elif control == swift.CODE:
        swift.on_ack(arena, reals, qp, packet)
    elif control == gap_table.CODE:
        gap_table.on_ack(arena, reals, qp, packet)
    elif tcp.RENO <= control <= tcp.DCTCP:
        tcp.on_ack(arena, reals, qp, packet)


@kernel
def on_timer(arena: Ints, reals: Floats, qp: int, number: int, valid: int) -> None:
    """React to a timer of a flow that has not ended; *valid* is what it was started with."""
    control = arena[f.CONTROL]
    if control == dcqcn.CODE:
        dcqcn.on_timer(arena, reals, qp, number, valid)
    elif control == dcqcn_paper.CODE:
        dcqcn_paper.on_timer(arena, reals, qp, number, valid)
    elif control == gap_table.CODE:
        gap_table.on_timer(arena, reals, qp)


@kernel
def on_timeout(arena: Ints, reals: Floats, qp: int) -> None:
    """React to bytes that nobody acknowledged for so long that they are sent again."""
    control = arena[f.CONTROL]
    if control == swift.CODE:
        swift.on_timeout(arena, reals, qp)
    elif tcp.RENO <= control <= tcp.DCTCP:
        tcp.on_timeout(arena, reals, qp)

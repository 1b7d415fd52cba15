"""Calls of the congestion control that a run has, by its code; the others do nothing."""

from simcore.kernels.packets import layout as f
from simcore.kernels.packets.compiled import kernel
from simcore.kernels.packets.controls import dcqcn, dctcp, hpcc, timely
from simcore.kernels.packets.layout import Floats, Ints


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


@kernel
def on_ack(arena: Ints, reals: Floats, qp: int, packet: int) -> None:
    """React to an ACK or NACK, also of a flow that has ended with it."""
    control = arena[f.CONTROL]
    if control == dcqcn.CODE:
        dcqcn.on_ack(arena, reals, qp, packet)
    elif control == hpcc.CODE:
        hpcc.on_ack(arena, reals, qp, packet)
    elif control == timely.CODE:
        timely.on_ack(arena, reals, qp, packet)
    elif control == dctcp.CODE:
        dctcp.on_ack(arena, reals, qp, packet)


@kernel
def on_timer(arena: Ints, reals: Floats, qp: int, number: int, valid: int) -> None:
    """React to a timer of a flow that has not ended; *valid* is what it was started with."""
    if arena[f.CONTROL] == dcqcn.CODE:
        dcqcn.on_timer(arena, reals, qp, number, valid)

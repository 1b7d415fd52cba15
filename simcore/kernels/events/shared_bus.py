"""The local bus as two LogGP endpoints per NPU, with a second pair behind the first.

Endpoint A is the NPU's side and B the memory's; behind A stand a and b, where every transfer of A
is staged. A bundle is requested at A or B, crosses to the partner, may be reduced and sent back
there, and then ends.

Source: A. Alexandrov et al., "LogGP: Incorporating Long Messages into the LogP Model", SPAA 1995;
the details are those of ASTRA-sim 2.0's shared bus.
"""

import numpy as np

from simcore.kernels.events import layout as f
from simcore.kernels.events.compiled import kernel
from simcore.kernels.events.fold.ties import touch
from simcore.kernels.events.layout import Floats, Ints
from simcore.kernels.events.structures.arena import allocate, release
from simcore.kernels.events.structures.event_queue import do_later
from simcore.kernels.events.structures.keyed_fifo import append, pop

# Where the lists of an endpoint lie.
SENDS, RECEIVES, PROCESSING = 0, 2, 4
ROLE_A, ROLE_B, ROLE_INNER_A, ROLE_INNER_B = np.arange(4)
_FREE, _SENDING, _RECEIVING = 0, 1, 2
_LONGEST_ROW = 8
_INNER_GAP_NS_PER_BYTE = 0.0038

# A transfer: word 0 links it in a list.
_BYTES, _REDUCE, _SENDS_BACK, _THEN, _ABOUT, _REDUCE_NS = 1, 2, 3, 4, 5, 6
_THEN_END, _THEN_SEND, _THEN_PROCESS, _THEN_DELIVER = np.arange(4)


@kernel
def offer_bundle(
    arena: Ints,
    rates: Floats,
    walk: int,
    npu: int,
    reduce_ns: int,
    size: int,
    at_npu_side: bool,
    sends_back: bool,
) -> None:
    """Request a bundle of a walk at endpoint A (the NPU's side) or B."""
    touch(arena, npu + f.NPU_BUS_MARK)
    size = (size + (1 << 31)) % (1 << 32) - (1 << 31)
    transfer = _new_transfer(arena, size, _THEN_END, walk)
    arena[transfer + _REDUCE] = 1 if reduce_ns >= 0 else 0
    arena[transfer + _REDUCE_NS] = reduce_ns
    arena[transfer + _SENDS_BACK] = 1 if sends_back else 0
    bus = arena[npu + f.NPU_BUS]
    if not at_npu_side:
        _request(arena, rates, bus + ROLE_B * f.END_WORDS, transfer)
        return
    _stage(arena, rates, bus, ROLE_INNER_B, transfer, _THEN_SEND)


@kernel
def bundle_of(arena: Ints, transfer: int) -> tuple[int, int]:
    """The walk of a bundle that ended and its reduction time; gives the transfer back."""
    walk, reduce_ns = arena[transfer + _ABOUT], arena[transfer + _REDUCE_NS]
    release(arena, transfer, f.TRANSFER_WORDS)
    return walk, reduce_ns


@kernel
def begin_bus_event(arena: Ints, rates: Floats, kind: int, end: int) -> int:
    """First part of an event at endpoint *end*; the outer transfer that ended with it, or 0."""
    touch(arena, arena[end + f.END_NPU] + f.NPU_BUS_MARK)
    if kind == f.DO_BUS_SENT:
        arena[end + f.END_LAST_NS] = arena[f.NOW_NS]
        arena[end + f.END_PREVIOUS] = arena[end + f.END_STATE]
        arena[end + f.END_STATE] = _FREE
        arena[end + f.END_IN_ROW] += 1
        return 0
    if kind == f.DO_BUS_REDUCED:
        arena[end + f.END_REDUCING] = 0
        return _route(arena, rates, end, pop(arena, end + PROCESSING))
    arena[end + f.END_LAST_NS] = arena[f.NOW_NS]
    arena[end + f.END_PREVIOUS] = arena[end + f.END_STATE]
    if arena[end + f.END_RECEIVES_COUNT] < 2:
        arena[end + f.END_STATE] = _FREE
    arena[end + f.END_RECEIVES_COUNT] -= 1
    transfer = pop(arena, end + RECEIVES)
    if arena[transfer + _REDUCE] == 0:
        return _route(arena, rates, end, transfer)
    arena[transfer + _REDUCE] = 0
    if arena[end + f.END_ROLE] == ROLE_A:
        _stage(arena, rates, end, ROLE_INNER_A, transfer, _THEN_PROCESS)
    else:
        append(arena, end + PROCESSING, transfer)
        _start_reduction(arena, end)
    return 0


@kernel
def end_bus_event(arena: Ints, rates: Floats, kind: int, end: int, ended: int) -> None:
    """Second part, after the bundle that *ended* has had its effect."""
    inner = arena[end + f.END_ROLE] >= ROLE_INNER_A
    if ended != 0 and inner:
        _tail(arena, rates, end - arena[end + f.END_ROLE] * f.END_WORDS)
    if kind == f.DO_BUS_REDUCED:
        _start_reduction(arena, end)
    _tail(arena, rates, end)


@kernel
def _new_transfer(arena: Ints, size: int, then: int, about: int) -> int:
    transfer = allocate(arena, f.TRANSFER_WORDS)
    arena[transfer + _BYTES] = size
    arena[transfer + _REDUCE] = 0
    arena[transfer + _SENDS_BACK] = 0
    arena[transfer + _THEN] = then
    arena[transfer + _ABOUT] = about
    arena[transfer + _REDUCE_NS] = -1
    return transfer


@kernel
def _request(arena: Ints, rates: Floats, end: int, transfer: int) -> None:
    append(arena, end + SENDS, transfer)
    if arena[end + f.END_STATE] == _FREE:
        _tail(arena, rates, end)


@kernel
def _stage(arena: Ints, rates: Floats, bus: int, role: int, transfer: int, then: int) -> None:
    """Request a transfer of the same size at an inner endpoint; at its end do *then*."""
    inner = _new_transfer(arena, arena[transfer + _BYTES], then, transfer)
    if role == ROLE_INNER_A and then != _THEN_DELIVER:
        arena[inner + _SENDS_BACK] = 1
    _request(arena, rates, bus + role * f.END_WORDS, inner)


@kernel
def _tail(arena: Ints, rates: Floats, end: int) -> None:
    """Start the next transfer, unless it is the partner's turn after a long row."""
    if arena[end + f.END_STATE] != _FREE or arena[end + SENDS + f.FIFO_HEAD] == 0:
        return
    partner = _partner(arena, end)
    if (
        arena[end + f.END_IN_ROW] > _LONGEST_ROW
        and arena[partner + SENDS + f.FIFO_HEAD] != 0
        and arena[partner + f.END_IN_ROW] <= _LONGEST_ROW
    ):
        if arena[partner + f.END_STATE] == _FREE:
            _start(arena, rates, partner)
        return
    _start(arena, rates, end)


@kernel
def _partner(arena: Ints, end: int) -> int:
    role = arena[end + f.END_ROLE]
    return end + ((role ^ 1) - role) * f.END_WORDS


@kernel
def _start(arena: Ints, rates: Floats, end: int) -> None:
    overhead = arena[f.BUS_OVERHEAD_NS]
    gap = overhead
    if arena[end + f.END_PREVIOUS] == _SENDING:
        idle = arena[f.NOW_NS] - arena[end + f.END_LAST_NS]
        if overhead + idle <= arena[f.BUS_GAP_NS]:
            gap = arena[f.BUS_GAP_NS] - idle
    rate = rates[f.BUS_GAP_NS_PER_BYTE]
    if arena[end + f.END_ROLE] >= ROLE_INNER_A:
        rate = _INNER_GAP_NS_PER_BYTE
    transfer = pop(arena, end + SENDS)
    partner = _partner(arena, end)
    append(arena, partner + RECEIVES, transfer)
    arena[partner + f.END_RECEIVES_COUNT] += 1
    arena[partner + f.END_PREVIOUS] = arena[partner + f.END_STATE]
    arena[partner + f.END_STATE] = _RECEIVING
    arena[partner + f.END_IN_ROW] = 0
    arena[end + f.END_STATE] = _SENDING
    last_byte = arena[transfer + _BYTES] - 1
    npu = arena[end + f.END_NPU]
    arrival_ns = int(gap + last_byte * rate + arena[f.BUS_LATENCY_NS] + overhead)
    do_later(arena, npu, arrival_ns, f.DO_BUS_RECEIVED, partner, f.NOTHING)
    do_later(arena, npu, int(gap + rate * last_byte), f.DO_BUS_SENT, end, f.NOTHING)


@kernel
def _start_reduction(arena: Ints, end: int) -> None:
    transfer = arena[end + PROCESSING + f.FIFO_HEAD]
    if transfer == 0 or arena[end + f.END_REDUCING] != 0:
        return
    arena[end + f.END_REDUCING] = 1
    hundreds = int(arena[transfer + _BYTES] / 100)  # towards 0, as in C
    delay_ns = hundreds * arena[f.BUS_REDUCTION_NS] + 50
    do_later(arena, arena[end + f.END_NPU], delay_ns, f.DO_BUS_REDUCED, end, f.NOTHING)


@kernel
def _route(arena: Ints, rates: Floats, end: int, transfer: int) -> int:
    """Send *transfer* back or end it; returns the outer transfer that ended, or 0."""
    at_a = arena[end + f.END_ROLE] == ROLE_A
    if arena[transfer + _SENDS_BACK] != 0:
        arena[transfer + _SENDS_BACK] = 0
        if at_a:
            _stage(arena, rates, end, ROLE_INNER_A, transfer, _THEN_SEND)
        else:
            append(arena, end + SENDS, transfer)
        return 0
    if at_a:
        _stage(arena, rates, end, ROLE_INNER_A, transfer, _THEN_DELIVER)
        return 0
    then = arena[transfer + _THEN]
    if then == _THEN_END:
        return transfer
    outer = arena[transfer + _ABOUT]
    release(arena, transfer, f.TRANSFER_WORDS)
    if then == _THEN_DELIVER:
        return outer
    end_a = end - arena[end + f.END_ROLE] * f.END_WORDS
    if then == _THEN_SEND:
        append(arena, end_a + SENDS, outer)
    else:
        append(arena, end_a + PROCESSING, outer)
        _start_reduction(arena, end_a)
    _tail(arena, rates, end_a)
    return 0

"""Takes a stage out of its finale, once all that its past units were waited for by has ended.

What is left of them, and of the unit that is about to end, is put into blocks of the pieces that
these units are elsewhere. So the stage is in a situation as before its finale.
"""

from simcore.kernels.collectives.records import Ints
from simcore.kernels.jit import njit
from simcore.kernels.npu import layout as n
from simcore.kernels.npu.feeder import book
from simcore.kernels.stages import stage_layout as f
from simcore.kernels.stages.pipeline_messages import unit_address
from simcore.kernels.stages.stage_layout import Layout
from simcore.kernels.stages.stage_states import intern, write_record


@njit(cache=True)
def leave_finale(fixed: Ints, live: Ints, at: Layout, number: int) -> None:
    """Leave the finale of a stage if its next event lets it go on without."""
    stage, npu = at.stage + number * f.STAGE_FIELDS, at.npu + number * at.npu_size
    slot = live[stage + f.AHEAD]
    if slot < 0 or live[f.FAILURE] != 0:
        return
    row = live[slot + n.ROW]
    if fixed[row + n.KIND] != n.COMPUTE or fixed[row + n.MATE] != f.CHAIN_END:
        return
    block = live[npu + f.BLOCKS] - 1
    piece, base = live[npu + at.block + 2 * block], block << at.shift
    starts, place = fixed[piece + f.STARTS], live[slot] - base
    last = fixed[piece + f.FIRST_UNIT]
    while fixed[starts + last + 1] <= place:
        last += 1
    if not _only_units(live, at, npu, base + fixed[starts + last + 1]):
        return
    left = _unfinished(fixed, live, at, number, piece, last)
    if left < 0 or block + left > at.blocks:
        return
    live[stage + f.KNOWN] += _received(fixed, live, npu + at.node + base, piece, last)
    _put_into_blocks(fixed, live, at, number, piece, last, left)
    _go_on_by_situations(fixed, live, at, number, live[slot + n.END])


@njit(cache=True)
def _only_units(live: Ints, at: Layout, npu: int, behind: int) -> bool:
    """True if nothing runs or is ready that lies at the position *behind* or above."""
    if live[npu + f.LOSS_AT] >= 0:
        return False
    for number in range(at.slots):
        if live[npu + f.SLOT + number * f.SLOT_FIELDS] >= behind:
            return False
    for lane in range(at.lanes):
        heap = npu + at.ready + lane * at.room
        for entry in range(heap, heap + live[npu + n.READY + lane]):
            if live[entry] >= behind:
                return False
    return True


@njit(cache=True)
def _piece_of(fixed: Ints, live: Ints, at: Layout, number: int, piece: int, unit: int) -> int:
    """The piece that a *unit* of the finale with *piece* is outside of it.

    Of one that the end of the iteration waits for, a piece that ends it.
    """
    stage = at.stage + number * f.STAGE_FIELDS
    absolute = live[stage + f.BEGAN] + unit - fixed[piece + f.FIRST_UNIT]
    pieces = fixed[at.program + number * f.PROGRAM_FIELDS + f.PIECES]
    which = fixed[unit_address(fixed, at, number, absolute) + f.WHICH]
    return int(pieces + which * f.PIECE_FIELDS)


@njit(cache=True)
def _is_done(live: Ints, first: int, behind: int) -> bool:
    """True if all nodes between two addresses have ended."""
    for node in range(first, behind):  # noqa: SIM110 (a compiled loop)
        if live[node] != f.DONE:
            return False
    return True


@njit(cache=True)
def _unfinished(fixed: Ints, live: Ints, at: Layout, number: int, piece: int, last: int) -> int:
    """Units up to *last* that have nodes left; -1 if the end of the iteration waits for such."""
    npu, left = at.npu + number * at.npu_size, 0
    starts = fixed[piece + f.STARTS]
    node = npu + at.node + ((live[npu + f.BLOCKS] - 1) << at.shift)
    for unit in range(fixed[piece + f.FIRST_UNIT], last + 1):
        if _is_done(live, node + fixed[starts + unit], node + fixed[starts + unit + 1]):
            continue
        if fixed[_piece_of(fixed, live, at, number, piece, unit) + f.LAST] < 0:
            return -1
        left += 1
    return left


@njit(cache=True)
def _received(fixed: Ints, live: Ints, node: int, piece: int, last: int) -> int:
    """Messages that have come for units after *last*."""
    came = 0
    receives = fixed[piece + f.RECEIVES] - fixed[piece + f.FIRST_UNIT] + last + 1
    while fixed[receives] != n.NEVER:
        if fixed[receives] >= 0 and live[node + fixed[receives]] == f.DONE:
            came += 1
        receives += 1
    return came


@njit(cache=True)
def _put_into_blocks(
    fixed: Ints, live: Ints, at: Layout, number: int, piece: int, last: int, left: int
) -> None:
    """Put the *left* units up to *last* that have nodes left into blocks of their own.

    The later ones first: their blocks lie behind all of the finale, that of the first at its start.
    """
    npu = at.npu + number * at.npu_size
    starts, first = fixed[piece + f.STARTS], fixed[piece + f.FIRST_UNIT]
    before = live[npu + f.BLOCKS] - 1
    origin = live[npu + at.block + 2 * before + 1]
    node = npu + at.node + (before << at.shift)
    block, unit = before + left, last + 1
    while block > before:
        unit -= 1
        begin, behind = fixed[starts + unit], fixed[starts + unit + 1]
        if _is_done(live, node + begin, node + behind):
            continue
        block -= 1
        own = _piece_of(fixed, live, at, number, piece, unit)
        to = npu + at.node + (block << at.shift)
        for place in range(behind - begin):
            live[to + place] = live[node + begin + place]
        base = before << at.shift
        _move(fixed, live, at, npu, base + begin, base + behind, block << at.shift, own)
        live[npu + at.block + 2 * block] = own
        live[npu + at.block + 2 * block + 1] = origin + unit - first
        if unit == last:
            live[npu + f.LAST_NODE] = (block << at.shift) + fixed[own + f.LAST]
    live[npu + f.BLOCKS] = before + left
    live[npu + f.UNIT] = origin + last - first


@njit(cache=True)
def _move(
    fixed: Ints, live: Ints, at: Layout, npu: int, first: int, behind: int, to: int, piece: int
) -> None:
    """Tell slots and heaps that the positions from *first* on are those from *to* on."""
    for number in range(at.slots):
        slot = npu + f.SLOT + number * f.SLOT_FIELDS
        if first <= live[slot] < behind:
            place = live[slot] - first
            live[slot] = to + place
            live[slot + n.ROW] = fixed[piece + f.ROWS] + place * f.NODE_FIELDS
    for lane in range(at.lanes):
        heap = npu + at.ready + lane * at.room
        for entry in range(heap, heap + live[npu + n.READY + lane]):
            if first <= live[entry] < behind:
                live[entry] += to - first


@njit(cache=True)
def _go_on_by_situations(fixed: Ints, live: Ints, at: Layout, number: int, now: int) -> None:
    """Note the situation of a stage that is about to end the last compute node of a unit."""
    stage, npu = at.stage + number * f.STAGE_FIELDS, at.npu + number * at.npu_size
    book(fixed, live, at, npu, now)
    length = write_record(fixed, live, at, npu, f.CHAIN_ENDS, now)
    if live[f.FAILURE] != 0:
        return
    unit = live[stage + f.STATE] + live[npu + f.UNIT]
    live[stage + f.AT_UNIT] = unit
    live[stage + f.STATE] = intern(live, at, npu, length, now)
    live[stage + f.MODE] = f.CHAIN_ENDS
    live[stage + f.SINCE] = live[at.due + number] = now
    live[stage + f.ARRIVES] = n.NEVER
    account = at.account + number * (at.categories + 1)
    for category in range(at.categories + 1):
        live[account + category] += live[npu + at.booked + category]
        live[npu + at.booked + category] = 0

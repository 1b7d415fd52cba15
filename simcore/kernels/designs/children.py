"""Children of designs by the thousand: crossover, moves, and repair of what breaks a rule."""

import numpy as np

from simcore.kernels.designs.luck import Luck, begin, below, unit
from simcore.kernels.designs.moves import (
    Room,
    change_word,
    copy_value,
    room_of,
    shift_factors,
    step_ladder,
    swap_dimensions,
    swap_factors,
    trade_ladders,
)
from simcore.kernels.designs.tables import (
    Codes,
    DesignTables,
    Floats,
    Ints,
    draw_block,
    find_row,
    holds,
    key_of,
    place_of,
)
from simcore.kernels.jit import leaf, njit

SHIFT, SHIFTS, SWAP, STEP, TRADE, WORD, COPY, DIMENSIONS, REDRAW, REAL, COUNT = range(11)

MOVES = {
    "shift_factor": SHIFT,
    "shift_factors": SHIFTS,  # two or three
    "swap_factors": SWAP,
    "step_ladder": STEP,
    "trade_ladders": TRADE,
    "change_word": WORD,
    "copy_value": COPY,
    "swap_dimensions": DIMENSIONS,
    "redraw_block": REDRAW,
    "move_real": REAL,  # a step of a size between 0.1 % and 30 % of the range
    "change_dimensions": COUNT,
}
"""Moves by name, as ``DesignTables.moves`` has them."""


@leaf
def _change_count(t: DesignTables, count: int, codes: Codes, luck: Luck) -> int:
    """Another number of network dimensions; blocks that still have their row keep it."""
    found = (count + 1 + below(luck, t.counts.size - 1)) % t.counts.size
    for block in range(len(t.spans)):
        if find_row(t, block, found, key_of(t, block, codes)) < 0:
            draw_block(t, block, found, codes, luck)
    return found


@leaf
def _move_real(reals: Floats, luck: Luck) -> None:
    at = below(luck, reals.size)
    normal = np.sqrt(-2.0 * np.log(1.0 - unit(luck))) * np.cos(2.0 * np.pi * unit(luck))
    step = normal * 10.0 ** (-3.0 + 2.5 * unit(luck))
    reals[at] = min(max(reals[at] + step, 0.0), 1.0)


@leaf
def _changed(
    t: DesignTables, move: int, codes: Codes, room: Room, reals: Floats, luck: Luck
) -> bool:
    """Make a move that leaves the number of dimensions; False where it does not apply."""
    if move == SHIFT:
        return shift_factors(t, codes, room, 1, luck)
    if move == SHIFTS:
        return shift_factors(t, codes, room, 3 if unit(luck) < 0.35 else 2, luck)
    if move == SWAP:
        return swap_factors(t, codes, room, luck)
    if move == STEP:
        return step_ladder(t, codes, room, luck)
    if move == TRADE:
        return trade_ladders(t, codes, room, luck)
    if move == WORD:
        return change_word(t, codes, room, luck)
    if move == COPY:
        return copy_value(t, codes, room, luck)
    if move == DIMENSIONS:
        return swap_dimensions(t, codes, room, luck)
    _move_real(reals, luck)
    return True


@leaf
def _moved(t: DesignTables, count: int, codes: Codes, room: Room, reals: Floats, luck: Luck) -> int:
    """One move, drawn by its share, if it applies and leads to a valid design.

    Returns:
        The position of the number of dimensions.
    """
    share, at = unit(luck) * t.shares[-1], 0
    while at < t.moves.size - 1 and share >= t.shares[at]:
        at += 1
    move = t.moves[at]
    if move == COUNT:
        return _change_count(t, count, codes, luck)
    if move == REDRAW:
        draw_block(t, below(luck, len(t.spans)), count, codes, luck)
        return count
    for knob in range(codes.size):
        room.touched[knob], room.before[knob] = False, codes[knob]
    if not (_changed(t, move, codes, room, reals, luck) and holds(t, count, codes, room.touched)):
        for knob in range(codes.size):
            codes[knob] = room.before[knob]
    return count


@njit(cache=True)
def move_designs(
    t: DesignTables, dimensions: Codes, codes: Codes, reals: Floats, chosen: Ints, seed: int
) -> None:
    """Make one move to some designs, in place; one to which it does not apply stays.

    Args:
        t: The space.
        dimensions: (N,) numbers of network dimensions.
        codes: (N, K).
        reals: (N, ranges) places in the continuous ranges, 0 to 1.
        chosen: Numbers of the designs; each is the number of its stream of luck.
        seed: Of the streams, from 0 on.
    """
    luck, room = np.zeros(1, np.uint64), room_of(t)
    for n in chosen:
        begin(luck, seed, n)
        count = _moved(t, place_of(t, dimensions[n]), codes[n], room, reals[n], luck)
        dimensions[n] = t.counts[count]


@leaf
def _cross(
    t: DesignTables, count: int, codes: Codes, is_alike: bool, other: Codes, luck: Luck
) -> None:
    """Take each block of *other* with a chance of a half, where it has a row here."""
    for block in range(len(t.spans)):
        is_taken = unit(luck) < 0.5
        if is_taken and (is_alike or find_row(t, block, count, key_of(t, block, other)) >= 0):
            for knob in range(t.spans[block, 0], t.spans[block, 1]):
                codes[knob] = other[knob]


@njit(cache=True)
def breed_designs(
    t: DesignTables,
    dimensions: Codes,
    codes: Codes,
    reals: Floats,
    parents: int,
    crossover: float,
    seed: int,
) -> None:
    """Set all designs behind the first *parents* to children of these.

    A child of two parents takes each block from one of them, and half of these get no move. One of
    a single parent has one move, and up to two more.

    Args:
        t: The space.
        dimensions: (N,) numbers of network dimensions.
        codes: (N, K).
        reals: (N, ranges).
        parents: How many come first.
        crossover: Share of children with two parents.
        seed: Of the streams of luck, from 0 on.
    """
    luck, room = np.zeros(1, np.uint64), room_of(t)
    for n in range(parents, len(codes)):
        begin(luck, seed, n - parents)
        one, two = below(luck, parents), below(luck, parents)
        has_two = unit(luck) < crossover
        count = place_of(t, dimensions[one])
        for knob in range(codes.shape[1]):
            codes[n, knob] = codes[one, knob]
        for at in range(reals.shape[1]):
            is_other = has_two and unit(luck) < 0.5
            reals[n, at] = reals[two, at] if is_other else reals[one, at]
        if has_two:
            is_alike = dimensions[one] == dimensions[two]
            _cross(t, count, codes[n], is_alike, codes[two], luck)
        share, moves = unit(luck), 0 if has_two else 1
        moves += (1 if share < 0.5 else 0) + (1 if share < 0.25 else 0)
        for _ in range(moves):
            count = _moved(t, count, codes[n], room, reals[n], luck)
        dimensions[n] = t.counts[count]

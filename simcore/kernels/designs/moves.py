"""Small changes that turn valid designs into others, in the terms of the field.

Each changes the codes of one design, marks the knobs that it *touched*, and is False where it does
not apply. What it makes may break a rule.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.designs.luck import Luck, below, unit
from simcore.kernels.designs.tables import NO_CODE, Codes, DesignTables, Flags, Ints
from simcore.kernels.jit import leaf, njit


class Room(NamedTuple):
    """Room for what one move notes, so that none has to be made for it.

    Attributes:
        touched: (K,) knobs that the move has changed, cleared before it.
        before: (K,) codes as they were.
        numbers, found: Whole numbers, one for each knob or network dimension.
    """

    touched: Flags
    before: Codes
    numbers: Ints
    found: Ints


@njit(cache=True)
def room_of(t: DesignTables) -> Room:
    """Room for the moves of a space."""
    knobs, most = t.tops.size, max(t.tops.size, t.places.shape[1])
    return Room(
        np.zeros(knobs, np.bool_),
        np.zeros(knobs, np.int16),
        np.zeros(most, np.int64),
        np.zeros(most, np.int64),
    )


@leaf
def _one_of(codes: NDArray[Any], knobs: Ints, taken: int, luck: Luck) -> int:
    """Place of a knob that has a meaning, drawn from *knobs* but for that at *taken*; -1: none."""
    chosen, seen = -1, 0
    for at in range(knobs.size):
        if codes[knobs[at]] >= 0 and at != taken:
            seen += 1
            if below(luck, seen) == 0:
                chosen = at
    return chosen


@leaf
def _set(codes: Codes, touched: Flags, knob: int, code: int) -> None:
    codes[knob] = code
    touched[knob] = True


@leaf
def _draw_product(t: DesignTables, luck: Luck) -> int:
    return below(luck, t.product_first.size - 1)


@leaf
def _read_numbers(t: DesignTables, codes: Codes, product: Ints, numbers: Ints) -> None:
    """Write the values of the knobs of a product to *numbers*; 1 where one has no meaning."""
    for j in range(product.size):
        code = codes[product[j]]
        numbers[j] = t.values[product[j], code] if code >= 0 else 1


@leaf
def _set_numbers(t: DesignTables, codes: Codes, room: Room, product: Ints) -> bool:
    """Set the knobs of a product that have a meaning to their numbers, if all have such choices."""
    for j in range(product.size):
        knob = product[j]
        room.found[j] = -1
        if codes[knob] < 0:
            continue
        for option in range(t.tops[knob] + 1):
            if t.values[knob, option] == room.numbers[j]:
                room.found[j] = option
                break
        if room.found[j] < 0:
            return False
    for j in range(product.size):
        if room.found[j] >= 0:
            _set(codes, room.touched, product[j], room.found[j])
    return True


@leaf
def _factor(number: int, luck: Luck) -> int:
    """A prime factor of *number*, drawn from the smallest ones; the number if it has none."""
    factor, seen = number, 0
    for prime in (2, 3, 5, 7):
        if number % prime == 0:
            seen += 1
            if below(luck, seen) == 0:
                factor = prime
    return factor


@leaf
def shift_factors(t: DesignTables, codes: Codes, room: Room, times: int, luck: Luck) -> bool:
    """Move *times* prime factors from one knob of a product to another.

    What lies between may be invalid.
    """
    group, numbers = _draw_product(t, luck), room.numbers
    product = t.products[t.product_first[group] : t.product_first[group + 1]]
    _read_numbers(t, codes, product, numbers)
    for _ in range(times):
        giver, seen = -1, 0
        for j in range(product.size):
            if numbers[j] > 1:
                seen += 1
                if below(luck, seen) == 0:
                    giver = j
        taker = _one_of(codes, product, giver, luck)
        if giver < 0 or taker < 0:
            return False
        factor = _factor(numbers[giver], luck)
        numbers[giver] //= factor
        numbers[taker] *= factor
    return _set_numbers(t, codes, room, product)


@leaf
def swap_factors(t: DesignTables, codes: Codes, room: Room, luck: Luck) -> bool:
    """Exchange the values of two knobs of a product."""
    group, numbers = _draw_product(t, luck), room.numbers
    product = t.products[t.product_first[group] : t.product_first[group + 1]]
    one = _one_of(codes, product, -1, luck)
    two = _one_of(codes, product, one, luck)
    if two < 0:
        return False
    _read_numbers(t, codes, product, numbers)
    first, second = numbers[one], numbers[two]
    numbers[one], numbers[two] = second, first
    return first != second and _set_numbers(t, codes, room, product)


@leaf
def step_ladder(t: DesignTables, codes: Codes, room: Room, luck: Luck) -> bool:
    """One step on a ladder, or now and then two."""
    at = _one_of(codes, t.ladders, -1, luck)
    if at < 0:
        return False
    knob = t.ladders[at]
    code, top = codes[knob], t.tops[knob]
    step = 1 if unit(luck) < 0.75 else 2
    step = step if unit(luck) < 0.5 else -step
    goal = min(max(code + step, 0), top)
    if goal == code:  # at an end: back
        goal = min(max(code - step, 0), top)
    _set(codes, room.touched, knob, goal)
    return True


@leaf
def trade_ladders(t: DesignTables, codes: Codes, room: Room, luck: Luck) -> bool:
    """A step up on one ladder, a step down on another of the same kind."""
    stem = t.ordered[below(luck, t.ordered.size)]
    knobs = t.stems[t.stem_first[stem] : t.stem_first[stem + 1]]
    up = _one_of(codes, knobs, -1, luck)
    down = _one_of(codes, knobs, up, luck)
    if down < 0 or codes[knobs[up]] >= t.tops[knobs[up]] or codes[knobs[down]] == 0:
        return False
    _set(codes, room.touched, knobs[up], codes[knobs[up]] + 1)
    _set(codes, room.touched, knobs[down], codes[knobs[down]] - 1)
    return True


@leaf
def change_word(t: DesignTables, codes: Codes, room: Room, luck: Luck) -> bool:
    """Another value for a knob without order."""
    at = _one_of(codes, t.words, -1, luck)
    if at < 0 or t.tops[t.words[at]] == 0:
        return False
    knob = t.words[at]
    top = t.tops[knob]
    _set(codes, room.touched, knob, (codes[knob] + 1 + below(luck, top)) % (top + 1))
    return True


@leaf
def copy_value(t: DesignTables, codes: Codes, room: Room, luck: Luck) -> bool:
    """The value that one network dimension has, for another one or for all of them."""
    stem = below(luck, t.stem_first.size - 1)
    knobs = t.stems[t.stem_first[stem] : t.stem_first[stem + 1]]
    to_all = unit(luck) < 0.5
    source = _one_of(codes, knobs, -1, luck)
    target = _one_of(codes, knobs, source, luck)
    if target < 0:
        return False
    value = codes[knobs[source]]
    for j in range(knobs.size):
        wanted = codes[knobs[j]] >= 0 and (to_all or j == target)
        if wanted and t.meanings[stem, source, j, value] == NO_CODE:
            return False
    for j in range(knobs.size):
        if codes[knobs[j]] >= 0 and (to_all or j == target):
            _set(codes, room.touched, knobs[j], t.meanings[stem, source, j, value])
    return True


@leaf
def swap_dimensions(t: DesignTables, codes: Codes, room: Room, luck: Luck) -> bool:
    """Exchange two network dimensions with all that belongs to them.

    Values that the other dimension cannot take give way to those at the same place in its list.
    """
    slots = t.places.shape[1]
    present, every = room.numbers[:slots], room.found[:slots]
    for slot in range(slots):
        present[slot], every[slot] = -1, slot
    for knob in range(codes.size):
        if t.slots[knob] >= 0 and codes[knob] >= 0:
            present[t.slots[knob]] = 0
    first = _one_of(present, every, -1, luck)
    second = _one_of(present, every, first, luck)
    if second < 0:
        return False
    for stem in range(t.stem_first.size - 1):
        one, two = t.places[stem, first], t.places[stem, second]
        if one < 0 or two < 0:
            continue
        a, b = t.stems[t.stem_first[stem] + one], t.stems[t.stem_first[stem] + two]
        code_a, code_b = codes[a], codes[b]
        if code_a < 0 or code_b < 0:
            continue
        to_b, to_a = t.meanings[stem, one, two, code_a], t.meanings[stem, two, one, code_b]
        _set(codes, room.touched, b, to_b if to_b != NO_CODE else min(code_a, t.tops[b]))
        _set(codes, room.touched, a, to_a if to_a != NO_CODE else min(code_b, t.tops[a]))
    return True

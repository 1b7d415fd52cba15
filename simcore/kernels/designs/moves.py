"""Small changes that turn valid designs into others, in the terms of the field.

Each changes the codes of one design, marks the knobs that it *touched*, and is False where it does
not apply. What it makes may break a rule.
"""

import numpy as np

from simcore.kernels.designs.luck import Luck, below, unit
from simcore.kernels.designs.tables import NO_CODE, Codes, DesignTables, Flags, Ints
from simcore.kernels.jit import njit


@njit(cache=True)
def _one_of(codes: Codes, knobs: Ints, taken: int, luck: Luck) -> int:
    """Place of a knob that has a meaning, drawn from *knobs* but for that at *taken*; -1: none."""
    chosen, seen = -1, 0
    for at in range(knobs.size):
        if codes[knobs[at]] >= 0 and at != taken:
            seen += 1
            if below(luck, seen) == 0:
                chosen = at
    return chosen


@njit(cache=True)
def _set(codes: Codes, touched: Flags, knob: int, code: int) -> None:
    codes[knob] = code
    touched[knob] = True


@njit(cache=True)
def _product(t: DesignTables, luck: Luck) -> Ints:
    group = below(luck, t.product_first.size - 1)
    return t.products[t.product_first[group] : t.product_first[group + 1]]


@njit(cache=True)
def _numbers(t: DesignTables, codes: Codes, product: Ints) -> Ints:
    """Values of the knobs of a product; 1 where one has no meaning."""
    numbers = np.ones(product.size, np.int64)
    for j in range(product.size):
        if codes[product[j]] >= 0:
            numbers[j] = t.values[product[j], codes[product[j]]]
    return numbers


@njit(cache=True)
def _set_numbers(
    t: DesignTables, codes: Codes, touched: Flags, product: Ints, numbers: Ints
) -> bool:
    """Set the knobs of a product that have a meaning to *numbers*, if all have such choices."""
    found = np.empty(product.size, np.int64)
    for j in range(product.size):
        knob = product[j]
        found[j] = -1
        if codes[knob] < 0:
            continue
        for option in range(t.tops[knob] + 1):
            if t.values[knob, option] == numbers[j]:
                found[j] = option
                break
        if found[j] < 0:
            return False
    for j in range(product.size):
        if found[j] >= 0:
            _set(codes, touched, product[j], found[j])
    return True


@njit(cache=True)
def _factor(number: int, luck: Luck) -> int:
    """A prime factor of *number*, drawn from the smallest ones; the number if it has none."""
    factor, seen = number, 0
    for prime in (2, 3, 5, 7):
        if number % prime == 0:
            seen += 1
            if below(luck, seen) == 0:
                factor = prime
    return factor


@njit(cache=True)
def shift_factors(t: DesignTables, codes: Codes, touched: Flags, times: int, luck: Luck) -> bool:
    """Move *times* prime factors from one knob of a product to another.

    What lies between may be invalid.
    """
    product = _product(t, luck)
    numbers = _numbers(t, codes, product)
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
    return _set_numbers(t, codes, touched, product, numbers)


@njit(cache=True)
def swap_factors(t: DesignTables, codes: Codes, touched: Flags, luck: Luck) -> bool:
    """Exchange the values of two knobs of a product."""
    product = _product(t, luck)
    one = _one_of(codes, product, -1, luck)
    two = _one_of(codes, product, one, luck)
    if two < 0:
        return False
    numbers = _numbers(t, codes, product)
    first, second = numbers[one], numbers[two]
    numbers[one], numbers[two] = second, first
    return first != second and _set_numbers(t, codes, touched, product, numbers)


@njit(cache=True)
def step_ladder(t: DesignTables, codes: Codes, touched: Flags, luck: Luck) -> bool:
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
    _set(codes, touched, knob, goal)
    return True


@njit(cache=True)
def trade_ladders(t: DesignTables, codes: Codes, touched: Flags, luck: Luck) -> bool:
    """A step up on one ladder, a step down on another of the same kind."""
    stem = t.ordered[below(luck, t.ordered.size)]
    knobs = t.stems[t.stem_first[stem] : t.stem_first[stem + 1]]
    up = _one_of(codes, knobs, -1, luck)
    down = _one_of(codes, knobs, up, luck)
    if down < 0 or codes[knobs[up]] >= t.tops[knobs[up]] or codes[knobs[down]] == 0:
        return False
    _set(codes, touched, knobs[up], codes[knobs[up]] + 1)
    _set(codes, touched, knobs[down], codes[knobs[down]] - 1)
    return True


@njit(cache=True)
def change_word(t: DesignTables, codes: Codes, touched: Flags, luck: Luck) -> bool:
    """Another value for a knob without order."""
    at = _one_of(codes, t.words, -1, luck)
    if at < 0 or t.tops[t.words[at]] == 0:
        return False
    knob = t.words[at]
    top = t.tops[knob]
    _set(codes, touched, knob, (codes[knob] + 1 + below(luck, top)) % (top + 1))
    return True


@njit(cache=True)
def copy_value(t: DesignTables, codes: Codes, touched: Flags, luck: Luck) -> bool:
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
            _set(codes, touched, knobs[j], t.meanings[stem, source, j, value])
    return True


@njit(cache=True)
def swap_dimensions(t: DesignTables, codes: Codes, touched: Flags, luck: Luck) -> bool:
    """Exchange two network dimensions with all that belongs to them.

    Values that the other dimension cannot take give way to those at the same place in its list.
    """
    slots = t.places.shape[1]
    present = np.full(slots, -1, np.int16)
    for knob in range(codes.size):
        if t.slots[knob] >= 0 and codes[knob] >= 0:
            present[t.slots[knob]] = 0
    every = np.arange(slots)
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
        _set(codes, touched, b, to_b if to_b != NO_CODE else min(code_a, t.tops[b]))
        _set(codes, touched, a, to_a if to_a != NO_CODE else min(code_b, t.tops[a]))
    return True

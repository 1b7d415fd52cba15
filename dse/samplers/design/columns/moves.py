"""Small changes that turn valid designs into others, in the terms of the field.

A move is made to some rows of a draft at once. Where it does not apply, or leads out of the space,
the design stays; the search then tries another.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.random import Generator

from dse.samplers.design.columns.genomes import Flags, Genomes, Ints
from dse.samplers.design.columns.neighbourhood import (
    NO_CODE,
    PRIMES,
    Draft,
    Neighbourhood,
    any_of,
    two_of,
)

Move = Callable[[Neighbourhood, Draft, Ints, Generator], None]
"""Changes rows of a draft, and notes those to which it does not apply."""


def shift_factor(near: Neighbourhood, draft: Draft, rows: Ints, rng: Generator) -> None:
    """Move a prime factor from one knob of a product to another."""
    _shift(near, draft, rows, np.ones(rows.size, np.int64), rng)


def shift_factors(near: Neighbourhood, draft: Draft, rows: Ints, rng: Generator) -> None:
    """Move two or three prime factors within a product; what lies between may be invalid."""
    _shift(near, draft, rows, 2 + (rng.random(rows.size) < 0.35), rng)


def _shift(near: Neighbourhood, draft: Draft, rows: Ints, times: Ints, rng: Generator) -> None:
    group = rng.integers(len(near.products), size=rows.size)
    for number, product in enumerate(near.products):
        own = rows[group == number]
        codes = draft.codes[own][:, product]
        active, numbers = codes >= 0, near.numbers(product, codes)
        able = (active.sum(axis=1) > 1) & (numbers.max(axis=1, initial=1) > 1)
        for turn in range(3):
            shifted = _shifted(numbers, active, rng)
            going = able & (times[group == number] > turn)
            numbers = np.where(going[:, None], shifted, numbers)
        _set_numbers(near, draft, own, product, numbers, able)


def _shifted(numbers: Ints, active: Flags, rng: Generator) -> Ints:
    """*numbers*, (N, J), after a prime factor of one has gone to another one that is active."""
    rows, result = np.arange(len(numbers)), numbers.copy()
    giver, _ = any_of(active & (numbers > 1), rng)
    others = active.copy()
    others[rows, giver] = False
    taker, _ = any_of(others, rng)
    given = numbers[rows, giver]
    which, has_prime = any_of(given[:, None] % np.array(PRIMES) == 0, rng)
    factor = np.where(has_prime, np.array(PRIMES)[which], given)
    result[rows, giver] //= factor
    result[rows, taker] *= factor
    return result


def _set_numbers(
    near: Neighbourhood, draft: Draft, rows: Ints, knobs: Sequence[int], numbers: Ints, able: Flags
) -> None:
    """Set active knobs to *numbers*, (N, J), where the row is *able* and all have such choices."""
    active = draft.codes[rows][:, knobs] >= 0
    codes = np.where(active, near.codes_of(knobs, numbers), -1)
    good = able & (codes != NO_CODE).all(axis=1)
    draft.moved[rows[~good]] = False
    draft.codes[np.ix_(rows[good], knobs)] = codes[good]
    draft.touched[np.ix_(rows[good], knobs)] = active[good]


def swap_factors(near: Neighbourhood, draft: Draft, rows: Ints, rng: Generator) -> None:
    """Exchange the values of two knobs of a product."""
    group = rng.integers(len(near.products), size=rows.size)
    for number, product in enumerate(near.products):
        own = rows[group == number]
        codes = draft.codes[own][:, product]
        active, numbers = codes >= 0, near.numbers(product, codes)
        one, two, able = two_of(active, rng)
        at = np.arange(own.size)
        first, second = numbers[at, one], numbers[at, two]
        numbers[at, one], numbers[at, two] = second, first
        _set_numbers(near, draft, own, product, numbers, able & (first != second))


def step_ladder(near: Neighbourhood, draft: Draft, rows: Ints, rng: Generator) -> None:
    """One step on a ladder, or now and then two."""
    rows, knobs, codes = _chosen(near.ladders, draft, rows, rng)
    tops = near.tops[knobs]
    step = np.where(rng.random(rows.size) < 0.75, 1, 2)
    step *= np.where(rng.random(rows.size) < 0.5, 1, -1)
    goal = np.clip(codes + step, 0, tops)
    goal = np.where(goal == codes, np.clip(codes - step, 0, tops), goal)  # at an end: back
    draft.set(rows, knobs, goal)


def _chosen(
    knobs: Sequence[int], draft: Draft, rows: Ints, rng: Generator
) -> tuple[Ints, Ints, Ints]:
    """Rows that have one of *knobs*, which one is drawn for each, and its code."""
    codes = draft.codes[rows][:, knobs]
    at, able = any_of(codes >= 0, rng)
    draft.moved[rows[~able]] = False
    own = codes[np.arange(rows.size), at].astype(np.int64)
    return rows[able], np.array(knobs)[at[able]], own[able]


def trade_ladders(near: Neighbourhood, draft: Draft, rows: Ints, rng: Generator) -> None:
    """A step up on one ladder, a step down on another of the same kind."""
    group = rng.integers(len(near.ordered_stems), size=rows.size)
    for number, stem in enumerate(near.ordered_stems):
        own = rows[group == number]
        codes, knobs = draft.codes[own][:, stem], np.array(stem)
        up, down, able = two_of(codes >= 0, rng)
        at = np.arange(own.size)
        higher, lower = codes[at, up] + 1, codes[at, down] - 1
        able &= (higher <= near.tops[knobs[up]]) & (lower >= 0)
        draft.moved[own[~able]] = False
        draft.set(own[able], knobs[up[able]], higher[able])
        draft.set(own[able], knobs[down[able]], lower[able])


def change_word(near: Neighbourhood, draft: Draft, rows: Ints, rng: Generator) -> None:
    """Another value for a knob without order."""
    rows, knobs, codes = _chosen(near.words, draft, rows, rng)
    tops = near.tops[knobs]
    draft.moved[rows[tops == 0]] = False
    step = 1 + (rng.random(rows.size) * tops).astype(np.int64)
    draft.set(rows, knobs, (codes + step) % (tops + 1))


def copy_value(near: Neighbourhood, draft: Draft, rows: Ints, rng: Generator) -> None:
    """The value that one network dimension has, for another one or for all of them."""
    group, to_all = rng.integers(len(near.stems), size=rows.size), rng.random(rows.size) < 0.5
    for number, stem in enumerate(near.stems):
        mine = group == number
        own, codes = rows[mine], draft.codes[rows[mine]][:, stem]
        active = codes >= 0
        source, target, able = two_of(active, rng)
        at = np.arange(own.size)
        wanted = active & (to_all[mine][:, None] | (np.arange(len(stem)) == target[:, None]))
        found = near.translated[number][source[:, None], np.arange(len(stem))]
        found = found[at[:, None], np.arange(len(stem)), codes[at, source][:, None]]
        able &= ((found != NO_CODE) | ~wanted).all(axis=1)
        draft.moved[own[~able]] = False
        draft.codes[np.ix_(own[able], stem)] = np.where(wanted, found, codes)[able]
        draft.touched[np.ix_(own[able], stem)] = wanted[able]


def swap_dimensions(near: Neighbourhood, draft: Draft, rows: Ints, rng: Generator) -> None:
    """Exchange two network dimensions with all that belongs to them.

    Values that the other dimension cannot take give way to those at the same place in its list.
    """
    first, second, able = two_of(near.present(draft.codes[rows]), rng)
    draft.moved[rows[~able]] = False
    before = draft.codes[rows]
    for number, stem in enumerate(near.stems):
        places = near.place_in_stem[number]
        one, two = places[first], places[second]
        both = able & (one >= 0) & (two >= 0)
        codes = before[:, stem]
        at = np.flatnonzero(both)
        at = at[(codes[at, one[at]] >= 0) & (codes[at, two[at]] >= 0)]
        for of, to in ((one[at], two[at]), (two[at], one[at])):
            code, knobs = codes[at, of], np.array(stem)[to]
            found = near.translated[number][of, to, code]
            fallback = np.minimum(code, near.tops[knobs])
            draft.set(rows[at], knobs, np.where(found == NO_CODE, fallback, found))


def redraw_block(near: Neighbourhood, draft: Draft, rows: Ints, rng: Generator) -> None:
    """Another row for one block."""
    spans = near.space.spans
    chosen = rng.integers(len(spans), size=rows.size)
    for number, span in enumerate(spans):
        own = rows[chosen == number]
        drawn = near.space.draw_blocks(number, draft.dimensions[own], rng)
        draft.codes[own, span.first : span.end] = drawn


def move_real(near: Neighbourhood, draft: Draft, rows: Ints, rng: Generator) -> None:
    """A step in a continuous range, of a size drawn between 0.1 % and 30 % of it."""
    at = rng.integers(len(near.space.reals), size=rows.size)
    step = rng.standard_normal(rows.size) * 10 ** rng.uniform(-3.0, -0.5, rows.size)
    draft.reals[rows, at] = np.clip(draft.reals[rows, at] + step, 0.0, 1.0)


def change_dimensions(near: Neighbourhood, draft: Draft, rows: Ints, rng: Generator) -> None:
    """Another number of network dimensions; blocks that still have their row keep it."""
    counts = np.array(near.space.counts, np.int16)
    place = np.searchsorted(counts, draft.dimensions[rows])
    step = 1 + rng.integers(len(counts) - 1, size=rows.size)
    draft.dimensions[rows] = count = counts[(place + step) % len(counts)]
    for number, span in enumerate(near.space.spans):
        lost = near.space.block_rows(number, count, draft.codes[rows]) < 0
        drawn = near.space.draw_blocks(number, count[lost], rng)
        draft.codes[rows[lost], span.first : span.end] = drawn


def cross(near: Neighbourhood, ones: Genomes, twos: Genomes, rng: Generator) -> Genomes:
    """Children with some blocks of *ones*, and the others of *twos*, and their dimensions."""
    codes = twos.codes.copy()
    alike = ones.dimensions == twos.dimensions
    for number, span in enumerate(near.space.spans):
        taken = rng.random(len(ones)) < 0.5
        if not alike.all():
            held = near.space.block_rows(number, twos.dimensions, ones.codes) >= 0
            taken &= alike | held
        own = slice(span.first, span.end)
        codes[taken, own] = ones.codes[taken, own]
    is_first = rng.random(ones.reals.shape) < 0.5
    return Genomes(twos.dimensions, codes, np.where(is_first, ones.reals, twos.reals))


def moves_for(near: Neighbourhood) -> list[tuple[Move, float]]:
    """The moves that a space allows, each with its share before anything is known about its use."""
    is_spread = bool(near.stems)
    offered: list[tuple[Move, float, bool]] = [
        (shift_factor, 0.16, bool(near.products)),
        (shift_factors, 0.10, bool(near.products)),
        (swap_factors, 0.10, bool(near.products)),
        (step_ladder, 0.20, bool(near.ladders)),
        (trade_ladders, 0.06, bool(near.ordered_stems)),
        (change_word, 0.12, bool(near.words)),
        (copy_value, 0.06, is_spread),
        (swap_dimensions, 0.06, is_spread),
        (redraw_block, 0.06, bool(near.space.spans)),
        (move_real, 0.10, bool(near.space.reals)),
        (change_dimensions, 0.02, len(near.space.counts) > 1),
    ]
    return [(move, share) for move, share, applies in offered if applies]

"""A space as the compiled moves read it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dse.samplers.design.columns.genomes import Floats, Ints
from dse.samplers.design.columns.space import GenomeSpace, Span
from dse.space import Value
from simcore import MOVES, DesignTables

NO_CODE = -2
"""Code of a value that a knob does not have."""

_SHARES = {
    "shift_factor": 0.16,
    "shift_factors": 0.10,
    "swap_factors": 0.10,
    "step_ladder": 0.20,
    "trade_ladders": 0.06,
    "change_word": 0.12,
    "copy_value": 0.06,
    "swap_dimensions": 0.06,
    "redraw_block": 0.06,
    "move_real": 0.10,
    "change_dimensions": 0.02,
}
"""Share of each move, where it applies, before anything is known about its use."""


def design_tables(space: GenomeSpace) -> DesignTables:
    """The tables of *space*."""
    knobs = space.knobs
    products = [product for span in space.spans for product in span.products]
    ladders, words = loose_knobs(space)
    stems = stems_of(space)
    ordered = [number for number, stem in enumerate(stems) if knobs[stem[0]].is_ordered]
    slots = sorted({knob.slot for knob in knobs if knob.slot is not None})
    loose = [_giving_way(span, {at for product in products for at in product})
             for span in space.spans]  # fmt: skip
    own = [
        space.keys(number, count) for number in range(len(space.spans)) for count in space.counts
    ]
    radix = [space.radix(number) for number in range(len(space.spans))]
    moves, shares = _moves(space, products, ladders, words, stems, ordered)
    return DesignTables(
        counts=np.array(space.counts, np.int64),
        spans=np.array([(span.first, span.end) for span in space.spans], np.int64).reshape(-1, 2),
        radix=_joined(radix),
        lowest=np.array([weights.sum() for weights in radix], np.int64),
        key_first=_firsts(own),
        keys=_joined(own),
        tops=np.array([len(knob.choices) - 1 for knob in knobs], np.int64),
        values=_values([knob.choices for knob in knobs]),
        product_first=_firsts(products),
        products=_joined(products),
        ladders=np.array(ladders, np.int64),
        words=np.array(words, np.int64),
        stem_first=_firsts(stems),
        stems=_joined(stems),
        ordered=np.array(ordered, np.int64),
        meanings=_meanings(space, stems),
        places=_places(space, stems, slots),
        slots=np.array([-1 if k.slot is None else slots.index(k.slot) for k in knobs], np.int64),
        loose_first=_firsts(loose),
        loose=np.array([at for block in loose for at, _ in block], np.int64),
        conditional=np.array([may for block in loose for _, may in block], np.int64),
        moves=moves,
        shares=shares,
    )


def loose_knobs(space: GenomeSpace) -> tuple[list[int], list[int]]:
    """Knobs of no product: those whose choices have an order, and those whose choices have none."""
    grouped = {at for span in space.spans for product in span.products for at in product}
    is_ordered = {at: k.is_ordered for at, k in enumerate(space.knobs) if at not in grouped}
    ladders = [at for at, yes in is_ordered.items() if yes]
    return ladders, [at for at, yes in is_ordered.items() if not yes]


def stems_of(space: GenomeSpace) -> list[list[int]]:
    """Knobs that say the same of different network dimensions."""
    groups: dict[str, list[int]] = {}
    for at, knob in enumerate(space.knobs):
        if knob.slot is not None:
            groups.setdefault(knob.name.replace(f"[{knob.slot}]", "[*]"), []).append(at)
    return [group for group in groups.values() if len(group) > 1]


def _moves(
    space: GenomeSpace,
    products: Sequence[Sequence[int]],
    ladders: Sequence[int],
    words: Sequence[int],
    stems: Sequence[Sequence[int]],
    ordered: Sequence[int],
) -> tuple[Ints, Floats]:
    """Numbers of the moves that the space allows, and the sums of their shares."""
    applies = {
        "shift_factor": products,
        "shift_factors": products,
        "swap_factors": products,
        "step_ladder": ladders,
        "trade_ladders": ordered,
        "change_word": words,
        "copy_value": stems,
        "swap_dimensions": stems,
        "redraw_block": space.spans,
        "move_real": space.reals,
        "change_dimensions": space.counts[1:],
    }
    able = [name for name, needed in applies.items() if needed]
    return np.array([MOVES[name] for name in able]), np.cumsum([_SHARES[name] for name in able])


def _firsts(lists: Sequence[Sequence[object] | Ints]) -> Ints:
    return np.cumsum([0, *map(len, lists)], dtype=np.int64)


def _joined(lists: Sequence[Sequence[int] | Ints]) -> Ints:
    return np.concatenate([np.zeros(0, np.int64), *(np.array(own, np.int64) for own in lists)])


def whole_numbers(choices: Sequence[Value]) -> Ints:
    """The choices of a knob of a product; zeros for other knobs."""
    is_whole = all(isinstance(one, int) and not isinstance(one, bool) for one in choices)
    return np.array(choices if is_whole else [0] * len(choices), np.int64)


def _values(choices: Sequence[Sequence[Value]]) -> Ints:
    result = np.zeros((len(choices), max(map(len, choices), default=0)), np.int64)
    for at, own in enumerate(choices):
        result[at, : len(own)] = whole_numbers(own)
    return result


def _meanings(space: GenomeSpace, stems: Sequence[Sequence[int]]) -> Ints:
    knobs = space.knobs
    places = [{value: at for at, value in enumerate(knob.choices)} for knob in knobs]
    size = max(map(len, stems), default=0)
    most = max((len(knobs[at].choices) for stem in stems for at in stem), default=0)
    result = np.full((len(stems), size, size, most), NO_CODE, np.int64)
    for number, stem in enumerate(stems):
        for of, to in np.ndindex(len(stem), len(stem)):
            for code, value in enumerate(knobs[stem[of]].choices):
                result[number, of, to, code] = places[stem[to]].get(value, NO_CODE)
    return result


def _places(
    space: GenomeSpace, stems: Sequence[Sequence[int]], slots: Sequence[int]
) -> NDArray[np.int64]:
    result = np.full((len(stems), len(slots)), -1, np.int64)
    for number, stem in enumerate(stems):
        for place, at in enumerate(stem):
            slot = space.knobs[at].slot
            assert slot is not None, "knobs of a stem belong to dimensions"
            result[number, slots.index(slot)] = place
    return result


def _giving_way(span: Span, grouped: set[int]) -> list[tuple[int, bool]]:
    """Knobs of a block that may change to mend what a move broke, and which may lose a meaning."""
    found = [(at, _is_conditional(span, at - span.first)) for at in range(span.first, span.end)]
    return [(at, may) for at, may in found if at not in grouped or may]


def _is_conditional(span: Span, column: int) -> bool:
    """True if the knob has a meaning in some rows of its block only."""
    tables = [table[:, column] for table in span.block.tables.values()]
    return any(bool((codes < 0).any() and (codes >= 0).any()) for codes in tables)

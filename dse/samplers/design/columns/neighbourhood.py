"""Facts about a space that moves need, worked out once."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dse.samplers.design.columns.genomes import Codes, Flags, Genome, Genomes, Ints
from dse.samplers.design.columns.space import GenomeSpace, Span
from dse.space import Value

PRIMES = (2, 3, 5, 7)
"""Factors to split products into; a value without them moves as a whole."""

NO_CODE = -2
"""Code of a value that a knob does not have."""

_FAR = 1 << 30
"""Distance beyond that of any two choices."""


class Neighbourhood:
    """The knobs of a space by what can be done to them.

    Attributes:
        space: The space.
        products: Positions of the knobs that multiply to a fixed number, per product.
        ladders: Positions of the other knobs whose choices have an order.
        words: Positions of the other knobs whose choices have none.
        stems: Positions of knobs that say the same of different network dimensions.
        ordered_stems: Those of *stems* whose choices have an order.
        slots: The network dimension of each knob, or None.
        place: Per knob, the position of each choice.
        tops: Per knob, the position of the last choice.
        translated: Per stem, (J, J, choices): the code in the second knob of the value that a code
            of the first one means; ``NO_CODE`` where it does not have it.
        place_in_stem: Per stem, which of its knobs belongs to each of the slots; -1: none.
    """

    def __init__(self, space: GenomeSpace) -> None:
        self.space, knobs = space, space.knobs
        self.products = [product for span in space.spans for product in span.products]
        grouped = {at for product in self.products for at in product}
        is_ordered = [knob.is_ordered for knob in knobs]
        self.ladders = [at for at, yes in enumerate(is_ordered) if yes and at not in grouped]
        self.words = [at for at, yes in enumerate(is_ordered) if not yes and at not in grouped]
        self.stems = _stems(space)
        self.ordered_stems = [stem for stem in self.stems if is_ordered[stem[0]]]
        self.slots = [knob.slot for knob in knobs]
        self.place = [{value: at for at, value in enumerate(knob.choices)} for knob in knobs]
        self.tops = np.array([len(knob.choices) - 1 for knob in knobs], np.int64)
        self._slots = sorted({slot for slot in self.slots if slot is not None})
        self._of_slot = [[at for at, own in enumerate(self.slots) if own == s] for s in self._slots]
        self.translated = [self._translated(stem) for stem in self.stems]
        self.place_in_stem = [self._places(stem) for stem in self.stems]
        self._values = [_whole_numbers(knob.choices) for knob in knobs]
        self._rising = [np.argsort(values[:-1], kind="stable") for values in self._values]
        self._loose = [
            {
                at: _is_conditional(span, at - span.first)
                for at in range(span.first, span.end)
                if at not in grouped or _is_conditional(span, at - span.first)
            }
            for span in space.spans
        ]

    def _translated(self, stem: Sequence[int]) -> Ints:
        sizes = [len(self.space.knobs[at].choices) for at in stem]
        result = np.full((len(stem), len(stem), max(sizes)), NO_CODE, np.int64)
        for of, to in np.ndindex(len(stem), len(stem)):
            for code, value in enumerate(self.space.knobs[stem[of]].choices):
                result[of, to, code] = self.place[stem[to]].get(value, NO_CODE)
        return result

    def _places(self, stem: Sequence[int]) -> Ints:
        own = {self.slots[at]: number for number, at in enumerate(stem)}
        return np.array([own.get(slot, -1) for slot in self._slots], np.int64)

    def present(self, codes: Codes) -> Flags:
        """(N, slots) True where a genome has a knob of that network dimension."""
        found = [(codes[:, own] >= 0).any(axis=1) for own in self._of_slot]
        return np.stack(found, axis=1)

    def finish(self, genome: Genome, codes: Sequence[int], touched: Iterable[int]) -> Genome | None:
        """The genome with *codes* if the blocks of the knobs that were *touched* hold it."""
        draft = Draft(Genomes.of([genome]))
        draft.codes[0] = codes
        draft.touched[0, list(touched)] = True
        found, moved = self.finished(draft)
        return found.one(0) if moved[0] else None

    def finished(self, draft: "Draft") -> tuple[Genomes, Flags]:
        """The genomes of a draft, and where they are what the moves made of them.

        Where a rule is broken that one more knob can mend, it does; elsewhere the genome stays.
        """
        codes, moved = draft.codes, draft.moved
        for number, span in enumerate(self.space.spans):
            own = draft.touched[:, span.first : span.end].any(axis=1)
            at = np.flatnonzero(own & moved)
            if at.size:
                rows = self.space.block_rows(number, draft.dimensions[at], codes[at])
                broken = at[rows < 0]
                moved[self._left_broken(number, draft, broken)] = False
        return draft.genomes(), moved

    def _left_broken(self, number: int, draft: "Draft", rows: Ints) -> Ints:
        """Change one more knob of the block, so that its codes are valid; gives what cannot be.

        A knob may lose its meaning, or gain one, or has to give way: the nearest choice that fits.
        """
        span, radix = self.space.spans[number], self.space.radix(number)
        for at, is_conditional in self._loose[number].items():
            if not rows.size:
                break
            before = draft.codes[rows, at].astype(np.int64)
            options = np.arange(-1, self.tops[at] + 1)
            own = draft.codes[rows, span.first : span.end].astype(np.int64) @ radix
            keys = own[:, None] + radix[at - span.first] * (options - before[:, None])
            fits = self.space.find_rows(number, draft.dimensions[rows], keys) >= 0
            distance = np.abs(2 * (options - before[:, None]) - 1)  # of equals the lower one
            distance[:, 0] = 0
            fits[:, 0] &= is_conditional & (before >= 0)
            fits &= ~draft.touched[rows, at][:, None]
            chosen = np.where(fits, distance, _FAR).argmin(axis=1)
            mended = fits[np.arange(rows.size), chosen]
            draft.codes[rows[mended], at] = options[chosen[mended]]
            rows = rows[~mended]
        return rows

    def moved(self, genome: Genome, values: Mapping[int, Value]) -> Genome | None:
        """The genome with those values for some knobs, if each has that choice."""
        codes = list(genome.codes)
        for at, value in values.items():
            code = self.place[at].get(value)
            if code is None:
                return None
            codes[at] = code
        return self.finish(genome, codes, values)

    def numbers(self, knobs: Sequence[int], codes: Codes) -> Ints:
        """(N, J) whole numbers that *codes* of *knobs* stand for; 1 where one has no meaning."""
        columns = [self._values[at][codes[:, j]] for j, at in enumerate(knobs)]
        return np.stack(columns, axis=1)

    def codes_of(self, knobs: Sequence[int], numbers: Ints) -> Ints:
        """The reverse of ``numbers``; ``NO_CODE`` where a knob does not have that choice."""
        result = np.empty(numbers.shape, np.int64)
        for j, at in enumerate(knobs):
            own, order = self._values[at][:-1], self._rising[at]
            found = np.minimum(np.searchsorted(own, numbers[:, j], sorter=order), own.size - 1)
            result[:, j] = np.where(own[order[found]] == numbers[:, j], order[found], NO_CODE)
        return result


class Draft:
    """Genomes to which moves have been made, which may break rules.

    Attributes:
        dimensions: As in ``Genomes``; so are *codes* and *reals*.
        touched: (N, knobs) knobs that were changed, whose blocks are to be looked at.
        moved: (N,) False where no move applied.
    """

    def __init__(self, parents: Genomes) -> None:
        self._parents = parents
        self.dimensions, self.codes = parents.dimensions.copy(), parents.codes.copy()
        self.reals = parents.reals.copy()
        self.touched = np.zeros(self.codes.shape, bool)
        self.moved = np.ones(len(parents), bool)

    def set(self, rows: Ints, knobs: Ints, codes: NDArray[Any]) -> None:
        """New *codes* for the *knobs* of some rows; the three broadcast."""
        self.codes[rows, knobs] = codes
        self.touched[rows, knobs] = True

    def genomes(self) -> Genomes:
        """The genomes; those that were not moved as they were."""
        kept, old = ~self.moved, self._parents
        self.dimensions[kept], self.codes[kept] = old.dimensions[kept], old.codes[kept]
        self.reals[kept] = old.reals[kept]
        return Genomes(self.dimensions, self.codes, self.reals)


def active(genome: Genome, knobs: Iterable[int]) -> list[int]:
    """Knobs, of *knobs*, that have a meaning in *genome*."""
    codes = genome.codes
    return [at for at in knobs if codes[at] >= 0]


def any_of(allowed: Flags, rng: Generator) -> tuple[Ints, Flags]:
    """In each row the number of one column, drawn from those *allowed*, and if there is one."""
    luck = np.where(allowed, rng.random(allowed.shape), -1.0)
    at = luck.argmax(axis=1)
    return at, luck[np.arange(len(at)), at] >= 0


def two_of(allowed: Flags, rng: Generator) -> tuple[Ints, Ints, Flags]:
    """``any_of`` with two different columns."""
    luck = np.where(allowed, rng.random(allowed.shape), -1.0)
    first, rows = luck.argmax(axis=1), np.arange(len(luck))
    luck[rows, first] = -1.0
    second = luck.argmax(axis=1)
    return first, second, luck[rows, second] >= 0


def _whole_numbers(choices: Sequence[Value]) -> Ints:
    """The choices of a knob of a product, and a last 1; zeros and a 1 for other knobs."""
    is_whole = all(isinstance(one, int) and not isinstance(one, bool) for one in choices)
    return np.array([*(choices if is_whole else [0] * len(choices)), 1], np.int64)


def _is_conditional(span: Span, column: int) -> bool:
    """True if the knob has a meaning in some rows of its block only."""
    tables = [table[:, column] for table in span.block.tables.values()]
    return any(bool((codes < 0).any() and (codes >= 0).any()) for codes in tables)


def _stems(space: GenomeSpace) -> list[list[int]]:
    groups: dict[str, list[int]] = {}
    for at, knob in enumerate(space.knobs):
        if knob.slot is not None:
            groups.setdefault(knob.name.replace(f"[{knob.slot}]", "[*]"), []).append(at)
    return [group for group in groups.values() if len(group) > 1]

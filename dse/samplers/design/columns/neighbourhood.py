"""Facts about a space that moves need, worked out once."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dse.samplers.design.columns.genomes import Codes, Flags, Genome, Genomes, Ints
from dse.samplers.design.columns.space import GenomeSpace
from dse.samplers.design.columns.tables import NO_CODE, design_tables, loose_knobs, whole_numbers
from dse.space import Value
from simcore import DesignTables, breed_designs, hold_designs, move_designs

PRIMES = (2, 3, 5, 7)
"""Factors to split products into; a value without them moves as a whole."""

_SEEDS = 1 << 62
"""Seeds of streams of luck."""


class Neighbourhood:
    """The knobs of a space by what can be done to them.

    Attributes:
        space: The space.
        products: Positions of the knobs that multiply to a fixed number, per product.
        ladders: Positions of the other knobs whose choices have an order.
        words: Positions of the other knobs whose choices have none.
        place: Per knob, the position of each choice.
        tops: Per knob, the position of the last choice.
    """

    def __init__(self, space: GenomeSpace) -> None:
        self.space, knobs = space, space.knobs
        self.products = [product for span in space.spans for product in span.products]
        self.ladders, self.words = loose_knobs(space)
        self.place = [{value: at for at, value in enumerate(knob.choices)} for knob in knobs]
        self.tops = np.array([len(knob.choices) - 1 for knob in knobs], np.int64)
        self._values = [np.append(whole_numbers(knob.choices), 1) for knob in knobs]
        self._rising = [np.argsort(values[:-1], kind="stable") for values in self._values]

    @cached_property
    def tables(self) -> DesignTables:
        """The space as the kernels read it."""
        return design_tables(self.space)

    def moved_ones(self, genomes: Genomes, chosen: Ints, rng: Generator) -> Genomes:
        """*genomes*, some of them after a move drawn for it, where that applies.

        Args:
            genomes: Valid designs.
            chosen: Numbers of those that are moved.
            rng: Where all luck comes from.
        """
        result = genomes.copied()
        seed = int(rng.integers(_SEEDS))
        columns = result.dimensions, result.codes, result.reals
        move_designs(self.tables, *columns, chosen, seed)
        return result

    def children(self, parents: Genomes, number: int, crossover: float, rng: Generator) -> Genomes:
        """*number* designs that one or two of *parents* have, with up to three moves.

        *crossover*: share of those with two parents.
        """
        bred = parents.at(np.arange(len(parents) + number) % len(parents))
        seed = int(rng.integers(_SEEDS))
        columns = bred.dimensions, bred.codes, bred.reals
        breed_designs(self.tables, *columns, len(parents), crossover, seed)
        return bred.at(slice(len(parents), None))

    def finish(self, genome: Genome, codes: Sequence[int], touched: Iterable[int]) -> Genome | None:
        """The genome with *codes* if the blocks of the knobs that were *touched* hold it."""
        draft = Draft(Genomes.of([genome]))
        draft.codes[0] = codes
        draft.touched[0, list(touched)] = True
        found, moved = self.finished(draft)
        return found.one(0) if moved[0] else None

    def finished(self, draft: "Draft") -> tuple[Genomes, Flags]:
        """The genomes of a draft, and where they are what the changes made of them.

        Where a rule is broken that one more knob can mend, it does; elsewhere the genome stays.
        """
        held = np.ones(len(draft.codes), bool)
        hold_designs(self.tables, draft.dimensions, draft.codes, draft.touched, held)
        return draft.genomes(held), held

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
    """Genomes that were changed, and may break rules.

    Attributes:
        dimensions: As in ``Genomes``; so are *codes*.
        touched: (N, knobs) knobs that were changed, whose blocks are to be looked at.
    """

    def __init__(self, parents: Genomes) -> None:
        self._parents = parents
        self.dimensions, self.codes = parents.dimensions, parents.codes.copy()
        self.touched = np.zeros(self.codes.shape, bool)

    def set(self, rows: Ints, knobs: Ints, codes: NDArray[Any]) -> None:
        """New *codes* for the *knobs* of some rows; the three broadcast."""
        self.codes[rows, knobs] = codes
        self.touched[rows, knobs] = True

    def genomes(self, held: Flags) -> Genomes:
        """The genomes; those that are not *held* as they were."""
        self.codes[~held] = self._parents.codes[~held]
        return Genomes(self.dimensions, self.codes, self._parents.reals)


def active(genome: Genome, knobs: Iterable[int]) -> list[int]:
    """Knobs, of *knobs*, that have a meaning in *genome*."""
    codes = genome.codes
    return [at for at in knobs if codes[at] >= 0]

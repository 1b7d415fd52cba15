"""The compiled space: blocks of valid combinations, and the designs that they make."""

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dse.space.budgets import Budget
from dse.space.parameters import Design, Parameter, Value
from dse.space.tables import Codes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KnobBlock:
    """Knobs that rules tie together, and all their valid combinations.

    Attributes:
        names: The knobs.
        tables: For each number of network dimensions, ``(rows, knobs)`` int32 positions in the
            lists of choices, -1 where a knob has no meaning.
        products: The product groups among the knobs, with their products.
        leads: Whether its rows decide the number of network dimensions.
    """

    names: tuple[str, ...]
    tables: Mapping[int, Codes]
    products: tuple[tuple[tuple[str, ...], int], ...] = ()
    leads: bool = False

    def rows(self, dimensions: int) -> int:
        """Valid combinations at that number of network dimensions."""
        return int(self.tables[dimensions].shape[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Size of a space, exact; a continuous knob counts as one value.

    Attributes:
        raw: Combinations of all listed values; derived knobs are not counted.
        valid: Designs that keep the products and the rules of ``require``.
        searched: Designs that also keep the rules of ``narrow``.
        continuous: Knobs with a range, each of which makes the space infinite.
    """

    raw: int
    valid: int
    searched: int
    continuous: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Space:
    """All designs of a study.

    Attributes:
        parameters: All knobs by name, in the order of the study file.
        dimensions: For each number of network dimensions, the positions of the run's list that
            stay; ``{0: ()}`` where no knob belongs to a dimension.
        blocks: The discrete knobs; every valid design takes one row of each.
        counts: Its size.
        budgets: Sums that continuous knobs keep.
    """

    parameters: Mapping[str, Parameter]
    dimensions: Mapping[int, tuple[int, ...]]
    blocks: tuple[KnobBlock, ...]
    counts: Counts
    budgets: tuple[Budget, ...] = ()

    @property
    def continuous(self) -> tuple[Parameter, ...]:
        """The knobs that have a range."""
        return tuple(p for p in self.parameters.values() if p.is_continuous)

    def design(
        self, dimensions: int, rows: Sequence[int], reals: Mapping[str, float] | None = None
    ) -> Design:
        """The design that takes row ``rows[i]`` of block i.

        Args:
            dimensions: Number of network dimensions.
            rows: One row per block.
            reals: Values of the continuous knobs; their least values if left out.
        """
        values: Design = {}
        for block, row in zip(self.blocks, rows, strict=True):
            codes = block.tables[dimensions][row].tolist()
            for name, code in zip(block.names, codes, strict=True):
                if code >= 0:
                    values[name] = self.parameters[name].choices[code]
        slots = self.dimensions[dimensions]
        own = {
            knob.name: knob.low if reals is None else reals[knob.name]
            for knob in self.continuous
            if knob.slot is None or knob.slot in slots
        }
        for budget in self.budgets:
            own |= budget.shared(own)
        values |= own
        return {name: values[name] for name in self.parameters if name in values}

    def tied(self, name: str, value: Value) -> tuple[Design, int] | None:
        """Values of a valid design for a knob and those that rules tie it to.

        Args:
            name: A knob with a list of values.
            value: Its value.

        Returns:
            The values, and the design's number of network dimensions; None: no design has it.
        """
        for block in self.blocks if value in self.parameters[name].choices else ():
            if name not in block.names:
                continue
            code = self.parameters[name].choices.index(value)
            for dimensions, table in block.tables.items():
                rows = np.flatnonzero(table[:, block.names.index(name)] == code)
                if rows.size:
                    codes = zip(block.names, table[rows[0]].tolist(), strict=True)
                    own = {n: self.parameters[n].choices[at] for n, at in codes if at >= 0}
                    return own, dimensions
        return None

    def designs(self) -> Iterator[Design]:
        """Every design, in a fixed order; continuous knobs take their least values."""
        for dimensions in self.dimensions:
            sizes = [range(block.rows(dimensions)) for block in self.blocks]
            for rows in itertools.product(*sizes):
                yield self.design(dimensions, rows)


def count_designs(blocks: Sequence[KnobBlock], dimensions: Sequence[int]) -> int:
    """Exact number of designs: over the numbers of dimensions, the product of all row counts."""
    return sum(math.prod(block.rows(count) for block in blocks) for count in dimensions)


def design_key(design: Design) -> str:
    """A text that two designs share exactly if they are the same."""
    return json.dumps(design, sort_keys=True, separators=(",", ":"))

"""Ranges of bandwidth as fine ladders, so that branch and bound halves them like any other.

Between two neighbouring rungs lie designs that no row stands for: they form a cell, of which the
faster rung bounds the times and the slower one the prices.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dse.space import KnobBlock, Parameter, Space
from dse.study.compile import Study
from simcore import ConfigError

CELLS = 1 << 12
"""Cells of a range: over a factor of ten of bandwidth, each is 0.06 % wide."""


def with_cells(study: Study) -> Study:
    """*study* with a ladder in place of each range; itself where it has none.

    Raises:
        ConfigError: A range is not one of a bandwidth, or keeps a budget with others.
    """
    space = study.space
    if not space.continuous:
        return study
    for knob in space.continuous:
        paths = knob.targets or (knob.name,)
        if not all(
            p.startswith("platform.dimensions[") and p.endswith("].bandwidth") for p in paths
        ):
            rule = "bounds need a ladder in place of a range, which times may fall or rise along"
            raise ConfigError(f"space.axes.{knob.name}", rule, got=knob.name)
    if space.budgets:
        rule = "bounds need ladders in place of ranges that add up"
        raise ConfigError("space.budgets", rule, got=len(space.budgets))
    return replace(study, space=_laddered(space))


def _laddered(space: Space) -> Space:
    rungs = {knob.name: _ladder(knob) for knob in space.continuous}
    blocks = (*space.blocks, *_blocks(space))
    return replace(space, parameters={**space.parameters, **rungs}, blocks=blocks)


def _ladder(knob: Parameter) -> Parameter:
    values = (*(knob.value_at(number / CELLS) for number in range(CELLS)), knob.high)
    return replace(knob, choices=values)


def _blocks(space: Space) -> Iterator[KnobBlock]:
    """A block of each range, with no meaning where its dimension is not there."""
    every = np.arange(CELLS + 1, dtype=np.int32)[:, np.newaxis]
    nothing = np.full((1, 1), -1, np.int32)
    for knob in space.continuous:
        tables = {
            count: every if knob.slot is None or knob.slot in slots else nothing
            for count, slots in space.dimensions.items()
        }
        yield KnobBlock(names=(knob.name,), tables=tables)

"""Ranges of bandwidth as fine ladders, so that branch and bound halves them like any other.

Between two neighbouring rungs lie designs that no row stands for: they form a cell, of which the
faster rung bounds the times and the slower one the prices.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import ceil, log, log1p

import numpy as np

from dse.space import KnobBlock, Parameter, Space
from dse.study.compile import Study
from simcore import ConfigError

_PART = 0.25
"""Width of a cell, as a share of the gap that is asked for: times and prices change by less."""

_MOST = 1 << 12
"""Cells of a range at most: over a factor of ten of bandwidth, each is 0.06 % wide."""


def with_cells(study: Study, gap: float = 0.0) -> Study:
    """*study* with a ladder in place of each range; itself where it has none.

    Args:
        study: May have ranges.
        gap: The finer the smaller it is.

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
        if knob.low <= 0:
            rule = "bounds need a range that begins above 0"
            raise ConfigError(f"space.axes.{knob.name}", rule, got=knob.low)
    if space.budgets:
        rule = "bounds need ladders in place of ranges that add up"
        raise ConfigError("space.budgets", rule, got=len(space.budgets))
    return replace(study, space=_laddered(space, gap))


def _laddered(space: Space, gap: float) -> Space:
    rungs = {knob.name: _ladder(knob, gap) for knob in space.continuous}
    blocks = (*space.blocks, *_blocks(space, rungs))
    return replace(space, parameters={**space.parameters, **rungs}, blocks=blocks)


def _ladder(knob: Parameter, gap: float) -> Parameter:
    """Rungs of equal ratio; a bandwidth is above 0."""
    ratio = knob.high / knob.low
    cells = min(_MOST, ceil(log(ratio) / log1p(_PART * gap)) if gap > 0 else _MOST)
    values = (knob.low * ratio ** (number / cells) for number in range(cells))
    return replace(knob, choices=(*(min(value, knob.high) for value in values), knob.high))


def _blocks(space: Space, rungs: Mapping[str, Parameter]) -> Iterator[KnobBlock]:
    """A block of each range, with no meaning where its dimension is not there."""
    nothing = np.full((1, 1), -1, np.int32)
    for knob in space.continuous:
        every = np.arange(len(rungs[knob.name].choices), dtype=np.int32)[:, np.newaxis]
        tables = {
            count: every if knob.slot is None or knob.slot in slots else nothing
            for count, slots in space.dimensions.items()
        }
        yield KnobBlock(names=(knob.name,), tables=tables)

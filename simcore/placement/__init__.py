"""Placements of ranks on NPUs: one class per rule, and the table of their names."""

from simcore.placement.as_is import AsIs
from simcore.placement.base import (
    Floats,
    Ints,
    PlacementOptions,
    PlacementRule,
    Ranks,
)
from simcore.placement.greedy import Greedy
from simcore.placement.listed import Listed
from simcore.placement.shuffled import Shuffled
from simcore.registry import Registry, has_options, instance_of

AS_IS = "as_is"


PLACEMENTS: Registry[PlacementRule] = Registry(
    "placement",
    {AS_IS: AsIs(), "listed": Listed(), "shuffled": Shuffled(), "greedy": Greedy()},
    check=has_options(PlacementOptions),
    adapt=instance_of(PlacementRule),
)

__all__ = [
    "AS_IS",
    "PLACEMENTS",
    "Floats",
    "Ints",
    "PlacementOptions",
    "PlacementRule",
    "Ranks",
]

"""Placements of ranks on NPUs: one class per rule, and the table of their names."""

from simcore.errors import ConfigError
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
from simcore.registry import Registry, instance_of

AS_IS = "as_is"


def _check(rule: PlacementRule) -> None:
    if not (isinstance(rule.options, type) and issubclass(rule.options, PlacementOptions)):
        told = "must name a class derived from PlacementOptions as its options"
        raise ConfigError(type(rule).__name__, told, got=rule.options)


PLACEMENTS: Registry[PlacementRule] = Registry(
    "placement",
    {AS_IS: AsIs(), "listed": Listed(), "shuffled": Shuffled(), "greedy": Greedy()},
    check=_check,
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

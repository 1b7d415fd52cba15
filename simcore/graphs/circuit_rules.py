"""Cables of a network of which few are up at once, as a file tells them."""

from typing import Self

from pydantic import Field, StrictInt, model_validator

from simcore.errors import ConfigError
from simcore.schema import Schema, Seconds

NPU, WHOLE = "npu", "network"
"""Places that a limit is counted at beside the tiers of switches."""


class CircuitLimit(Schema):
    """Most of some cables that are up at once, as ports of an optical circuit switch allow.

    Attributes:
        cables: Their kind, or kinds and numbers of them.
        most: How many of them are up at once ...
        per: ... at each NPU (``npu``), at each switch of a tier, or in the whole ``network``.
        each_way: Both directions of a cable are circuits of their own: a place sends over ``most``
            of them, and receives over as many.
    """

    cables: str | tuple[StrictInt | str, ...]
    most: int = Field(ge=1)
    per: str = NPU
    each_way: bool = False


class CircuitRules(Schema):
    """Cables that are set up and taken down: circuits.

    Attributes:
        reconfiguration_s: From when a circuit is taken down for another one until that one is up.
        at_once: Limits; a cable that several name keeps all of them.
    """

    reconfiguration_s: Seconds = Field(alias="reconfiguration", ge=0)
    at_once: tuple[CircuitLimit, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _go_one_way_or_both(self) -> Self:
        if len({limit.each_way for limit in self.at_once}) > 1:
            rule = "must be the same in all limits of a network"
            raise ConfigError("at_once", f"each_way {rule}", got="true and false")
        return self

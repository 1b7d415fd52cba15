"""Rules about designs that are known before a design is evaluated."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dse.space.parameters import Design

if TYPE_CHECKING:
    from simcore import FactBook


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Check:
    """One rule, and what it looks at.

    Attributes:
        holds: False of a design that breaks it for certain.
        deciding: Names of the knobs that the answer depends on: it is worked out once for each
            combination of their values.
        facts: Facts that the answers rest on and that other processes may be told; several checks
            may have the same. None: there are none.
    """

    holds: Callable[[Design], bool]
    deciding: frozenset[str]
    facts: "FactBook[Any] | None" = None

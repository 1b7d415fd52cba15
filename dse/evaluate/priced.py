"""Machines that costs of designs are of."""

from dataclasses import dataclass

from simcore import Platform


@dataclass(frozen=True, slots=True)
class PricedMachine:
    """A machine with what it brings forth, so that it can be priced at other prices.

    Attributes:
        platform: The machine.
        period_s: Time of an iteration; of a service, between two answers while it is busy.
        tokens: Tokens trained in one iteration, or of one answer.
    """

    platform: Platform
    period_s: float
    tokens: int

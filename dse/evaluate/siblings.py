"""Designs whose predictions err alike."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Siblings:
    """Designs whose predictions share their errors, so that they compare better than each is known.

    Attributes:
        family: Name that all of them share, and nobody else.
        log_ratio: Size of the error of ln(time / time) of two of them that four of five pairs keep
            to; 0 where times are exact.
        reason: Its source, in words; empty where there is no error.
    """

    family: str = ""
    log_ratio: float = 0.0
    reason: str = ""

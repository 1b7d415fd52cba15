"""The band of one prediction: how far the measured time may lie from it, and why."""

from dataclasses import dataclass
from math import exp
from typing import Literal

Trust = Literal["measured", "few runs", "nearby", "prior"]
"""From many measured runs of its class; from few; from runs that differ in accelerator, format or
kind; from none that says anything of it, so that the width is an assumption."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """An interval that holds a measured time in four of five cases.

    Attributes:
        low, high: Its ends over the predicted time.
        middle: Median over the predicted time: 1 without a calibration.
        trust: Kind of evidence.
        reason: The evidence, or what is missing, in words.
    """

    low: float
    high: float
    trust: Trust
    reason: str
    middle: float = 1.0

    @classmethod
    def around(
        cls,
        *,
        width: float,
        trust: Trust,
        reason: str,
        shift: float = 0.0,
    ) -> "Band":
        """The band from logarithms: its *shift*, and how far it reaches to each side of it."""
        ends = exp(shift - width), exp(shift + width)
        return cls(low=ends[0], high=ends[1], trust=trust, reason=reason, middle=exp(shift))

    def of(self, time_s: float) -> tuple[float, float]:
        """Its ends in s for a predicted time in s."""
        return time_s * self.low, time_s * self.high

    def figures(self, name: str, time_s: float) -> dict[str, float]:
        """Ends of the metric *name*, such as ``iteration_time``, for a predicted time in s."""
        low_s, high_s = self.of(time_s)
        return {f"{name}_low_s": low_s, f"{name}_high_s": high_s}

    def as_table(self, time_s: float) -> dict[str, float | str]:
        """The band as plain data for a predicted time in s."""
        low_s, high_s = self.of(time_s)
        return {
            "low_s": low_s,
            "high_s": high_s,
            "low": self.low,
            "high": self.high,
            "middle": self.middle,
            "trust": self.trust,
            "reason": self.reason,
        }

    def __str__(self) -> str:
        word = "a prior, not validated here" if self.trust == "prior" else self.trust
        return f"{self.low - 1:+.0%} to {self.high - 1:+.0%} ({word}: {self.reason})"

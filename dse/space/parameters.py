"""One knob of a design: its name, its values, and the paths of the run that it sets."""

import math
import re
from dataclasses import dataclass, field

import numpy as np

from simcore import ConfigError

Value = bool | int | float | str
"""Value of a knob; a quantity is a number in the base unit of its parameter."""

Design = dict[str, Value]
"""The values of all knobs that have a meaning in one design, by parameter name."""

_SLOT = re.compile(r"\[(\d+)\]")
_OWN_LISTS = ("platform.network", "jobs[")
"""Starts of paths into lists whose entries are no network dimensions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A knob with a list of values, or, if continuous, with a range.

    Attributes:
        name: Unique in the space; a path into the run unless *targets* says otherwise.
        choices: Its values, in the order of the study file; empty if continuous.
        unit: Base unit of its numbers (``"B/s"``), or nothing for counts and words.
        low: Least value of a continuous knob.
        high: Greatest value of a continuous knob.
        log: Whether a continuous knob is drawn on a logarithmic scale.
        targets: Paths into the run that take the value; the name itself if empty.
        slot: Network dimension that the knob belongs to, or None.
        derived: Whether the value follows from those of other knobs.
    """

    name: str
    choices: tuple[Value, ...] = ()
    unit: str | None = None
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    targets: tuple[str, ...] = ()
    slot: int | None = None
    derived: bool = field(default=False)

    def __post_init__(self) -> None:
        if not self.choices and not self.low < self.high:
            raise ConfigError(self.name, "low must be below high", got=(self.low, self.high))
        if not self.choices and self.log and self.low <= 0:
            raise ConfigError(self.name, "log: true needs low above 0", got=self.low)
        if len(set(self.choices)) != len(self.choices):  # 1, 1.0 and true are one number to a run
            rule = "each choice may stand once (1, 1.0 and true are the same)"
            raise ConfigError(self.name, rule, got=list(self.choices))

    @property
    def is_continuous(self) -> bool:
        """True if the knob has a range instead of a list."""
        return not self.choices

    @property
    def is_ordered(self) -> bool:
        """True if neighbours in the list of values are alike: numbers that go up or down."""
        numbers = [c for c in self.choices if isinstance(c, int | float) and not _is_flag(c)]
        if len(numbers) < len(self.choices) or len(numbers) < 2:
            return False
        steps = np.diff(np.asarray(numbers, dtype=float))
        return bool((steps > 0).all() or (steps < 0).all())

    @property
    def column(self) -> np.ndarray:
        """The choices as an array of one type, so that rules can be checked in bulk."""
        if all(_is_flag(choice) for choice in self.choices):
            return np.asarray(self.choices, dtype=bool)
        if all(isinstance(c, int) and not _is_flag(c) for c in self.choices):
            return np.asarray(self.choices, dtype=np.int64)
        if all(isinstance(c, int | float) and not _is_flag(c) for c in self.choices):
            return np.asarray(self.choices, dtype=np.float64)
        return np.asarray([str(choice) for choice in self.choices])

    @property
    def coordinates(self) -> np.ndarray | None:
        """``(choices,)`` float64: position of each choice on a scale, or None for words."""
        if not self.is_ordered:
            return None
        values = np.asarray(self.choices, dtype=np.float64)
        return np.log2(values) if (values > 0).all() else np.arange(float(values.size))

    def value_at(self, share: float) -> float:
        """The value of a continuous knob at *share*, 0 to 1, of its range."""
        if self.log:
            return float(min(self.low * (self.high / self.low) ** share, self.high))
        return self.low + (self.high - self.low) * share

    def share_of(self, value: float) -> float:
        """Place of *value* in the range of a continuous knob, 0 to 1."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def slot_of(name: str) -> int | None:
    """The network dimension that *name* belongs to: the number in its first brackets, if any."""
    if name.startswith(_OWN_LISTS):
        return None
    found = _SLOT.search(name)
    return int(found[1]) if found else None


def at_slot(text: str, slot: int) -> str:
    """*text* with every ``[*]`` replaced by ``[slot]``."""
    return text.replace("[*]", f"[{slot}]")


def file_value(value: Value, unit: str | None) -> Value:
    """A knob's value as a run file would write it: a quantity becomes text with its unit."""
    if unit is None or isinstance(value, str | bool):
        return value
    if not math.isfinite(value):
        raise ConfigError("", "must be a finite number", got=value)
    return f"{value!r} {unit}"

"""The longest time that is counted, and the sentence for one that is longer."""

from math import inf
from typing import NamedTuple

from simcore.errors import InfeasibleError
from simcore.machine import Dimension
from simcore.machine.system import System

MAX_NS = 2**60
"""36 years in whole nanoseconds: far below what kernels keep for never, so that sums and
differences of times fit into 64 bits as well."""

MAX_S = MAX_NS * 1e-9


class Setting(NamedTuple):
    """A field of the machine: its place in a run file, its value, and which way is faster."""

    place: str
    value: str
    faster: str

    @classmethod
    def time(cls, place: str, time_s: float) -> "Setting":
        """A time that is to be short."""
        return cls(place, f"{time_s:g} s", "smaller")

    @classmethod
    def rate(cls, place: str, rate: float, unit: str = "B/s") -> "Setting":
        """A rate that is to be high."""
        return cls(place, f"{rate:g} {unit}", "larger")


def dimension_fields(dimension: Dimension, place: str) -> tuple[Setting, Setting]:
    """Latency and bandwidth of the *dimension* at *place*."""
    return (
        Setting.time(f"{place}.latency", dimension.latency_s),
        Setting.rate(f"{place}.bandwidth", dimension.bandwidth_bytes_per_s),
    )


def delay_field(system: System) -> Setting:
    """The time that an NPU needs to handle a message."""
    return Setting.time("system.endpoint_delay", system.endpoint_delay_s)


def over(amount: float, rate: float) -> float:
    """Seconds that *amount* takes at a *rate* per second; infinite where the rate is 0."""
    return amount / rate if rate > 0 else inf


def too_long(field: Setting, what: str, time_s: float) -> InfeasibleError:
    """What is told where a time is too long to be counted, mostly for one *field*.

    Args:
        field: Of the machine.
        what: Subject and verb, such as ``an iteration takes``.
        time_s: The time, or a bound of it.
    """
    reason = (
        f"{field.place}: with {field.value}, {what} {time_s:.3g} s, and times up to {MAX_S:.3g} s "
        f"can be counted; choose a {field.faster} value"
    )
    return InfeasibleError("time_in_range", reason)

"""The longest time that is counted, and the sentence for one that is longer."""

from collections.abc import Callable, Iterator
from math import inf
from typing import NamedTuple

from simcore.errors import InfeasibleError
from simcore.machine import Dimension, Efficiency, Npu
from simcore.machine.system import System

MAX_NS = 2**60
"""36 years in whole nanoseconds: far below what kernels keep for never, so that sums and
differences of times fit into 64 bits as well."""

MAX_S = MAX_NS * 1e-9


class SlowField(NamedTuple):
    """A field of the machine: its place in a run file, its value, and which way is faster."""

    place: str
    value: str
    faster: str

    @classmethod
    def time(cls, place: str, time_s: float) -> "SlowField":
        """A time that is to be short."""
        return cls(place, f"{time_s:g} s", "smaller")

    @classmethod
    def rate(cls, place: str, rate: float, unit: str = "B/s") -> "SlowField":
        """A rate that is to be high."""
        return cls(place, f"{rate:g} {unit}", "larger")


def dimension_fields(dimension: Dimension, place: str) -> tuple[SlowField, SlowField]:
    """Latency and bandwidth of the *dimension* at *place*."""
    return (
        SlowField.time(f"{place}.latency", dimension.latency_s),
        SlowField.rate(f"{place}.bandwidth", dimension.bandwidth_bytes_per_s),
    )


def delay_field(system: System) -> SlowField:
    """The time that an NPU needs to handle a message."""
    return SlowField.time("system.endpoint_delay", system.endpoint_delay_s)


def over(amount: float, rate: float) -> float:
    """Seconds that *amount* takes at a *rate* per second; infinite where the rate is 0."""
    return amount / rate if rate > 0 else inf


def too_long(field: SlowField, what: str, time_s: float) -> InfeasibleError:
    """Error for a time that is too long to be counted, mostly for one *field*.

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


_FASTEST = 1e30
"""FLOP/s or B/s at which nothing takes time."""

_DECIDES = 0.1
"""Part of the time that is left, at most, without an efficiency that decides alone."""

_BEST: dict[str, float] = {
    "gemm": 1.0,
    "gemm_narrow": 1.0,
    "gemm_fp4": 1.0,
    "gemm_ramp_s": 0.0,
    "attention": 1.0,
    "attention_half": 0.0,
    "attention_width": 0.0,
    "attention_backward": 1.0,
    "scan": 1.0,
    "attention_share": 1.0,
    "unfused_attention": 1.0,
    "misaligned": 1.0,
    "memory": 1.0,
    "product_memory": 1.0,
    "kernel_overhead_s": 0.0,
    "issue_s": 0.0,
    "processors": 0,
    "operand_cost": 0.0,
    "tile_fill": 0.0,
    "casts": 0.0,
    "traffic": 1.0,
    "routing": 1.0,
    "routing_s": 0.0,
    "group_s": 0.0,
}
"""Value of each efficiency at which it costs no time."""


_TIMES_BYTES = ("traffic", "routing")
"""Efficiencies that are best at 1, and worse above."""


def slowest_field(npu: Npu, time: Callable[[Npu], float]) -> SlowField:
    """The field of *npu* without which the time would be the shortest.

    An efficiency comes before a rate, on which all time depends, where it decides alone.

    Args:
        npu: Whose time is too long.
        time: The time that another accelerator would take.
    """
    for settings in (_efficiencies(npu), _rates(npu)):
        field, better = min(settings, key=lambda each: time(each[1]))
        if time(better) < _DECIDES * time(npu):
            break
    return field


def _efficiencies(npu: Npu) -> Iterator[tuple[SlowField, Npu]]:
    """Each efficiency, and the accelerator on which it costs no time."""
    for name, best in _BEST.items():
        value = getattr(npu.efficiency, name)
        if value is not None:
            alias = Efficiency.model_fields[name].alias
            place = f"platform.npu.efficiency.{alias or name}"
            shown = f"{value:g} s" if alias else f"{value:g}"
            better = npu.efficiency.model_copy(update={name: best})
            larger = best and name not in _TIMES_BYTES
            setting = SlowField(place, shown, "larger" if larger else "smaller")
            yield setting, npu.model_copy(update={"efficiency": better})


def _rates(npu: Npu) -> Iterator[tuple[SlowField, Npu]]:
    """Each rate, and the accelerator on which it costs no time."""
    for precision, peak in npu.peak_flop_per_s.items():
        peaks = {**npu.peak_flop_per_s, precision: _FASTEST}
        setting = SlowField.rate(f"platform.npu.peak.{precision}", peak, "FLOP/s")
        yield setting, npu.model_copy(update={"peak_flop_per_s": peaks})
    rate = npu.memory_bandwidth_bytes_per_s
    setting = SlowField.rate("platform.npu.memory_bandwidth", rate)
    yield setting, npu.model_copy(update={"memory_bandwidth_bytes_per_s": _FASTEST})
    if npu.host is not None:
        rate = npu.host.bandwidth_bytes_per_s
        host = npu.host.model_copy(update={"bandwidth_bytes_per_s": _FASTEST})
        setting = SlowField.rate("platform.npu.host.bandwidth", rate)
        yield setting, npu.model_copy(update={"host": host})

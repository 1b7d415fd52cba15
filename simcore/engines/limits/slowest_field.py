"""Finds the field of an accelerator to which a compute time that is far too long is due."""

from collections.abc import Callable, Iterator

from simcore.engines.limits.counted_time import Setting
from simcore.machine import Efficiency, Npu

_FASTEST = 1e30
"""FLOP/s or B/s at which nothing takes time."""

_DECIDES = 0.1
"""Part of the time that is left, at most, without an efficiency that decides alone."""

_BEST: dict[str, float] = {
    "gemm": 1.0,
    "gemm_narrow": 1.0,
    "gemm_ramp_s": 0.0,
    "attention": 1.0,
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
}
"""Value of each efficiency at which it costs no time."""


def slowest_field(npu: Npu, time: Callable[[Npu], float]) -> Setting:
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


def _efficiencies(npu: Npu) -> Iterator[tuple[Setting, Npu]]:
    """Each efficiency, and the accelerator on which it costs no time."""
    for name, best in _BEST.items():
        value = getattr(npu.efficiency, name)
        if value is not None:
            alias = Efficiency.model_fields[name].alias
            place = f"platform.npu.efficiency.{alias or name}"
            shown = f"{value:g} s" if alias else f"{value:g}"
            better = npu.efficiency.model_copy(update={name: best})
            setting = Setting(place, shown, "larger" if best else "smaller")
            yield setting, npu.model_copy(update={"efficiency": better})


def _rates(npu: Npu) -> Iterator[tuple[Setting, Npu]]:
    """Each rate, and the accelerator on which it costs no time."""
    for precision, peak in npu.peak_flop_per_s.items():
        peaks = {**npu.peak_flop_per_s, precision: _FASTEST}
        setting = Setting.rate(f"platform.npu.peak.{precision}", peak, "FLOP/s")
        yield setting, npu.model_copy(update={"peak_flop_per_s": peaks})
    rate = npu.memory_bandwidth_bytes_per_s
    setting = Setting.rate("platform.npu.memory_bandwidth", rate)
    yield setting, npu.model_copy(update={"memory_bandwidth_bytes_per_s": _FASTEST})
    if npu.host is not None:
        rate = npu.host.bandwidth_bytes_per_s
        host = npu.host.model_copy(update={"bandwidth_bytes_per_s": _FASTEST})
        setting = Setting.rate("platform.npu.host.bandwidth", rate)
        yield setting, npu.model_copy(update={"host": host})

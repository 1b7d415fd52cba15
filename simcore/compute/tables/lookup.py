"""Times of kernels on one accelerator, looked up in its tables once each and remembered."""

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simcore.compute.tables.kinds import TABLE_KINDS
from simcore.compute.tables.places import (
    NEXT_BEST,
    OF_EXPERTS,
    Place,
    layer_of_experts,
    place_of,
)
from simcore.compute.tables.rates import LAUNCH_S, MeasuredRates
from simcore.compute.tables.store import KernelTables, MeasuredKernel, fastest_us, tables_of
from simcore.errors import ConfigError
from simcore.machine import Npu
from simcore.terms import Precision
from simcore.workload.graph import Kernel

_KEPT = 200_000
"""Kernels whose times are remembered, some 100 MB; designs of one study have some thousands."""

_WITHIN = Kernel("within the experts before", "experts", 0.0, 0.0)
"""Stands for the kernels that the layer of experts before them includes; takes no time."""


class KernelTimes:
    """Times of kernels on one accelerator at one precision.

    Args:
        npu: The accelerator; what has no table there takes a roofline of measured rates.
        precision: Format of activations.

    Raises:
        ConfigError: It names tables or an engine that nobody knows.
    """

    def __init__(self, npu: Npu, precision: Precision) -> None:
        self.npu, self.precision = npu, precision
        self._rates = MeasuredRates(npu, precision)
        self._tables: KernelTables | None = None
        self._measured_rates: MeasuredRates | None = None
        self._engine = ""
        self._any_engine: tuple[str, ...] = ()
        self._plain = str(Precision.FP32) if precision is Precision.FP32 else "bf16"
        if npu.kernels is not None:
            self._tables, self._engine = tables_of(npu.kernels), npu.kernels.engine
            if self._engine and self._engine not in self._tables.engines:
                rule = f"must be one of {', '.join(self._tables.engines)}"
                raise ConfigError("platform.npu.kernels.engine", rule, got=self._engine)
            self._any_engine = npu.kernels.any_engine
            if unknown := set(self._any_engine) - TABLE_KINDS.keys():
                rule = f"must be of {', '.join(TABLE_KINDS)}"
                raise ConfigError("platform.npu.kernels.any_engine", rule, got=min(unknown))
            measured = self._tables.npu
            if measured is not None and _differs(npu, measured):
                self._measured_rates = MeasuredRates(measured, precision)
        self._of_kind: dict[tuple[str, str], tuple[MeasuredKernel, ...]] = {}
        self._known: dict[Kernel, float] = {_WITHIN: 0.0}
        self._beyond: dict[Kernel, float] = {_WITHIN: 0.0}

    def times_s(self, kernels: Sequence[Kernel]) -> list[float]:
        """Time of each kernel; a layer of experts counts at the first of its kernels.

        Raises:
            ConfigError: The accelerator has no peak for the precision.
        """
        asked = self.asked(kernels)
        known = self._known
        found = [known.get(kernel) for kernel in asked]
        if None in found:
            self._work_out(list(dict.fromkeys(asked)))
            found = [known[kernel] for kernel in asked]
        return found  # type: ignore[return-value] # no None is left

    def least_s(self, kernel: Kernel) -> float:
        """Time that peak and memory allow."""
        return self._rates.least_s(kernel)

    def origin(self, kernel: Kernel) -> "Origin | None":
        """Origin of the time of a *kernel* that was asked for; None: it is not from a table."""
        beyond = self._beyond.get(kernel)
        if beyond is None:
            return None
        place = place_of(kernel, self._plain)
        return Origin(beyond, self._measured(place))

    def asked(self, kernels: Sequence[Kernel]) -> Sequence[Kernel]:
        """Kernels that are looked up for *kernels*, one for each."""
        return self._fused(kernels) if self._tables is not None else kernels

    def _fused(self, kernels: Sequence[Kernel]) -> Sequence[Kernel]:
        """*kernels* with layers of experts as one, where tables hold such layers."""
        grouped = [number for number, kernel in enumerate(kernels) if kernel.groups != 1]
        if not grouped:
            return kernels
        fused = list(kernels)
        for number in grouped:
            layer = layer_of_experts(kernels[number : number + OF_EXPERTS])
            if layer is not None and self._measured(place_of(layer, self._plain)):
                fused[number : number + OF_EXPERTS] = [layer, _WITHIN, _WITHIN]
        return fused

    def _work_out(self, kernels: Sequence[Kernel]) -> None:
        """Find the times of those *kernels* that are not known; all shapes of a table at once."""
        known = self._known
        if len(known) > _KEPT:
            for remembered in (known, self._beyond):
                remembered.clear()
                remembered[_WITHIN] = 0.0
        asked: dict[tuple[str, str], list[tuple[Kernel, Place]]] = defaultdict(list)
        for kernel in kernels:
            if kernel not in known:
                place = place_of(kernel, self._plain)
                if place is not None and self._measured(place):
                    asked[place[:2]].append((kernel, place))
                else:
                    known[kernel] = self._rates.unmeasured_s(kernel)
        for key, wanted in asked.items():
            shapes = np.array([place.shape for _, place in wanted], float)
            times_us, beyond = fastest_us(self._of_kind[key], shapes)
            found = zip(wanted, times_us.tolist(), beyond.tolist(), strict=True)
            for (kernel, place), time_us, far in found:
                self._beyond[kernel] = far
                time_s = 1e-6 * time_us * place.times * self._share(kernel)
                known[kernel] = max(time_s, self._rates.least_s(kernel))

    def _measured(self, place: Place | None) -> tuple[MeasuredKernel, ...]:
        """The table of the engine, or where it has none, or none is named, those of all engines."""
        if place is None or self._tables is None:
            return ()
        kind, format_ = key = place[:2]
        if key not in self._of_kind:
            found = self._found(kind, format_)
            if not found and kind in NEXT_BEST:
                found = self._found(NEXT_BEST[kind], format_)
            self._of_kind[key] = found
        return self._of_kind[key]

    def _found(self, kind: str, format_: str) -> tuple[MeasuredKernel, ...]:
        tables = self._tables
        if tables is None:
            return ()
        named = self._engine and kind not in self._any_engine
        own = tables.find(kind, self._engine, format_) if named else None
        every = [own] if own else [tables.find(kind, one, format_) for one in tables.engines]
        return tuple([table for table in every if table is not None])

    def _share(self, kernel: Kernel) -> float:
        """Time of the accelerator's roofline over that of the measured one."""
        if self._measured_rates is None:
            return 1.0
        own_s, measured_s = self._rates.least_s(kernel), self._measured_rates.least_s(kernel)
        return (own_s + LAUNCH_S) / (measured_s + LAUNCH_S)


class Origin(NamedTuple):
    """Tables that a time was taken from, and how far beyond their shapes, in factors of 2."""

    beyond: float
    tables: tuple[MeasuredKernel, ...]


def _differs(npu: Npu, measured: Npu) -> bool:
    """True if the two have other peaks."""
    return npu.peak_flop_per_s != measured.peak_flop_per_s or (
        npu.memory_bandwidth_bytes_per_s != measured.memory_bandwidth_bytes_per_s
    )


_REMEMBERED: deque[KernelTimes] = deque(maxlen=16)


def kernel_times(npu: Npu, precision: Precision) -> KernelTimes:
    """The times on *npu* at *precision*, with all that is remembered of them."""
    for one in _REMEMBERED:
        if one.npu is npu and one.precision is precision:
            return one
    for one in _REMEMBERED:
        if one.precision is precision and one.npu == npu:
            return one
    made = KernelTimes(npu, precision)
    _REMEMBERED.appendleft(made)
    return made

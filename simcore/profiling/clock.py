"""Times pieces of work on an accelerator or a processor."""

from collections.abc import Callable
from statistics import median
from time import perf_counter_ns
from typing import Any

Work = Callable[[], object]

WARM_UP = 3
"""Runs that are not counted: libraries choose their kernels, clocks rise, pages are mapped."""

LEAST_RUNS = 5
_LONG_US = 20_000.0
"""Work that takes longer is run ``LEAST_RUNS`` times: medians of such times hardly move."""

_FLUSH_BYTES = 256 << 20
"""Bytes that are written between two runs on an accelerator: twice the largest cache there is."""
_FLUSH_BYTES_ON_PROCESSOR = 64 << 20


class Clock:
    """Median time of a piece of work whose operands come from memory.

    Between two runs a buffer larger than the last cache is written, so that operands are read from
    memory as they are in a model whose weights pass by. Meanwhile the host issues the run that
    follows: it does not wait for the host.

    Args:
        torch: The module.
        device: ``cuda`` or ``cpu``.
        runs: Runs whose median counts.
    """

    def __init__(self, torch: Any, device: str, runs: int) -> None:
        self._torch, self._on_gpu, self._runs = torch, device != "cpu", runs
        size = _FLUSH_BYTES if self._on_gpu else _FLUSH_BYTES_ON_PROCESSOR
        self._buffer = torch.empty(size, dtype=torch.uint8, device=device)

    def median_us(self, work: Work) -> float:
        """Median time of *work*, in us; of long work that of a few runs."""
        first_us = self.median_of(work, LEAST_RUNS)
        if first_us > _LONG_US or self._runs <= LEAST_RUNS:
            return first_us
        return self.median_of(work, self._runs)

    def median_of(self, work: Work, runs: int) -> float:
        """Median time of so many *runs* of *work*, in us: as many in each of several processes."""
        for _ in range(WARM_UP):
            work()
        return median((self._on_events if self._on_gpu else self._on_processor)(work, runs))

    def _on_events(self, work: Work, runs: int) -> list[float]:
        torch = self._torch
        pairs = [
            (torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True))
            for _ in range(runs)
        ]
        for begin, end in pairs:
            self._buffer.zero_()
            begin.record()
            work()
            end.record()
        torch.cuda.synchronize()
        return [1e3 * begin.elapsed_time(end) for begin, end in pairs]

    def _on_processor(self, work: Work, runs: int) -> list[float]:
        found = []
        for _ in range(runs):
            self._buffer.zero_()
            begin = perf_counter_ns()
            work()
            found.append(1e-3 * (perf_counter_ns() - begin))
        return found

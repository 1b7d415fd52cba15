"""Kernels of many runs in arrays, so that a fit tries new efficiencies on all of them at once.

The formulas are those of ``simcore.compute.Roofline``; ``fit_compute.py`` checks that both give the
same times before it fits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from simcore.compute.roofline import TILES
from simcore.config import Run
from simcore.machine import Efficiency
from simcore.terms import Precision
from simcore.workload.graph import Kernel

Floats = NDArray[np.float64]
Operators = Sequence[tuple[Sequence[Kernel], float]]
_NARROW = (Precision.FP8, Precision.FP4)
_FIELDS = ("flop", "bytes", "m", "n", "k", "groups")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KernelTable:
    """K kernels in O operators of R runs, in order.

    Attributes:
        sizes: (6, K): FLOP, bytes, m, n, k and groups.
        peak, bandwidth: (K,): of the accelerator in the kernel's format.
        product, narrow: (K,) bool: matrix products; those below 16 bits.
        operand_bytes: (K,) of an operand of such products; 2 elsewhere.
        attention, unfused, misaligned: (K,) bool.
        first: (O,) the first kernel of each operator.
        kernels, count: (O,) its kernels; how often it runs per iteration.
        run: (O,) the run that it belongs to.
        runs: R.
    """

    sizes: Floats
    peak: Floats
    bandwidth: Floats
    product: NDArray[np.bool_]
    narrow: NDArray[np.bool_]
    operand_bytes: Floats
    attention: NDArray[np.bool_]
    unfused: NDArray[np.bool_]
    misaligned: NDArray[np.bool_]
    first: NDArray[np.int64]
    kernels: Floats
    count: Floats
    run: NDArray[np.int64]
    runs: int

    @classmethod
    def of(cls, work: Sequence[tuple[Run, Operators]]) -> Self:
        """The table of runs and the operators of their busiest stages."""
        listed = [(run, kernel) for run, ops in work for kernels, _ in ops for kernel in kernels]
        kinds = np.array([kernel.kind for _, kernel in listed])
        names = np.array([kernel.name for _, kernel in listed])
        small = np.array([run.workload.precision in _NARROW for run, _ in listed])
        narrow = (kinds == "gemm") & small & ~np.char.startswith(names, "head")
        formats = [
            Precision.BF16 if wide else run.workload.precision
            for (run, _), wide in zip(listed, small & ~narrow, strict=True)
        ]
        operators = [(at, ks, n) for at, (_, ops) in enumerate(work) for ks, n in ops]
        lengths = np.array([len(kernels) for _, kernels, _ in operators])
        unfused = (kinds == "attention") & ~np.char.startswith(names, "attention core")
        sizes = np.array([[getattr(kernel, f) for f in _FIELDS] for _, kernel in listed], float).T
        npus = [run.platform.npu for run, _ in listed]
        return cls(
            sizes=sizes,
            peak=np.array([npu.peak(p) for npu, p in zip(npus, formats, strict=True)]),
            bandwidth=np.array([npu.memory_bandwidth_bytes_per_s for npu in npus], float),
            product=kinds == "gemm",
            narrow=narrow,
            operand_bytes=np.array(
                [
                    run.workload.precision.bytes if n else 2.0
                    for (run, _), n in zip(listed, narrow, strict=True)
                ]
            ),
            attention=(kinds == "attention") | (kinds == "scan"),
            unfused=unfused,
            misaligned=unfused & (sizes[4] % 8 != 0),
            first=np.concatenate([[0], lengths.cumsum()[:-1]]),
            kernels=lengths.astype(float),
            count=np.array([n for _, _, n in operators], float),
            run=np.array([at for at, _, _ in operators]),
            runs=len(work),
        )

    def compute_s(self, efficiency: Efficiency) -> Floats:
        """(R,) compute time of each run with *efficiency*, in s."""
        flop, moved, m, _, k, groups = self.sizes
        part = np.ones_like(flop)
        part[self.product] = efficiency.gemm
        part[self.narrow] = efficiency.gemm_narrow or efficiency.gemm
        part[self.attention] = efficiency.attention
        part[self.unfused] = efficiency.unfused_attention or efficiency.attention
        part[self.misaligned] *= efficiency.misaligned
        busy = flop / (part * self.peak)
        slower = self._rounds(efficiency) * (1 + efficiency.tile_fill / np.maximum(1, k))
        busy[self.product] *= slower[self.product]
        busy[self.product] += efficiency.gemm_ramp_s
        rate = efficiency.memory * self.bandwidth
        product = (efficiency.product_memory or efficiency.memory) * self.bandwidth
        operands = groups * (m * k + k * self.sizes[3])
        narrow = moved - (2 - self.operand_bytes) * operands
        moved = np.where(self.narrow, np.maximum(narrow, self.operand_bytes * operands), moved)
        memory = moved / np.where(self.product, product, rate)
        time = np.maximum(busy, memory) + efficiency.kernel_overhead_s
        time += np.where(self.narrow, efficiency.casts * operands / rate, 0.0)
        each = np.maximum(np.add.reduceat(time, self.first), self.kernels * efficiency.issue_s)
        return np.bincount(self.run, each * self.count, self.runs)

    def _rounds(self, efficiency: Efficiency) -> Floats:
        _, _, m, n, _, groups = self.sizes
        processors, cost = efficiency.processors, efficiency.operand_cost
        if not processors:
            return np.ones_like(m)
        best = np.full(m.shape, np.inf)
        for rows, columns in TILES:
            tiles = groups * np.ceil(m / rows) * np.ceil(n / columns)
            each = rows * columns + cost * (rows + columns)
            best = np.minimum(best, np.ceil(tiles / processors) * each)
        rows, columns = TILES[0]
        whole = groups * m * n / (rows * columns * processors)
        least = np.maximum(whole, 1e-9) * (rows * columns + cost * (rows + columns))
        return np.where(m > 0, best / least, 1.0)

"""Kernels of many runs in arrays, so that a fit tries new efficiencies on all of them at once.

The formulas are those of ``simcore.compute.Roofline``; ``fit_compute.py`` checks that both give the
same times before it fits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from simcore.compute.roofline import SHORT, TILES, WIDE_HEAD
from simcore.config import Run
from simcore.machine import Efficiency
from simcore.terms import Precision
from simcore.workload.graph import Kernel

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Operators = Sequence[tuple[Sequence[Kernel], float]]
Values = Mapping[str, Floats]
"""Efficiencies by name, one of each for every run."""
_NARROW = (Precision.FP8, Precision.FP4)
_FIELDS = ("flop", "bytes", "m", "n", "k", "groups")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KernelTable:
    """K kernels in O operators of R runs, in order.

    Attributes:
        full_s: (K,) FLOP at the peak of the format, of products in whole rounds of filled tiles.
        moved_s: (K,) bytes at the peak of the memory; of narrow products, operands as they are.
        cast_s: (K,) one byte per element of the operands of narrow products; 0 elsewhere.
        keys: (K,) per query of fused attention; infinite elsewhere.
        more: (K,) products of one kernel beyond the first; 0 elsewhere.
        product, narrow, fourth: (K,) products; those below 16 bits; those of 4 bits.
        fused, backward, scan, unfused, misaligned, elementwise, routing: (K,) kinds.
        at: (K,) run of each kernel.
        first: (O,) the first kernel of each operator.
        kernels, count: (O,) its kernels; how often it runs per iteration.
        run: (O,) the run that it belongs to.
        runs: R.
    """

    full_s: Floats
    moved_s: Floats
    cast_s: Floats
    keys: Floats
    more: Floats
    flags: Mapping[str, Flags]
    at: NDArray[np.int64]
    first: NDArray[np.int64]
    kernels: Floats
    count: Floats
    run: NDArray[np.int64]
    runs: int

    @classmethod
    def of(cls, work: Sequence[tuple[Run, Operators]]) -> Self:
        """The table of runs and the operators of their busiest stages."""
        listed = [(at, k) for at, (_, ops) in enumerate(work) for ks, _ in ops for k in ks]
        at = np.array([run for run, _ in listed])
        sizes = np.array([[getattr(kernel, f) for f in _FIELDS] for _, kernel in listed], float).T
        flags = _flags([k for _, k in listed], [work[run][0] for run, _ in listed], sizes)
        peak, bandwidth, size = _machines([run for run, _ in work], at, flags)
        operators = [(number, ks, n) for number, (_, ops) in enumerate(work) for ks, n in ops]
        lengths = np.array([len(kernels) for _, kernels, _ in operators])
        flop, moved, m, n, k, groups = sizes
        operands = groups * (m * k + k * n)
        narrow = np.maximum(moved - (2 - size) * operands, size * operands)
        parts = [run.platform.npu.efficiency for run, _ in work]
        slower = np.where(flags["product"], _slower(parts, at, sizes), 1.0)
        slower = np.where(flags["fused"], _narrow_heads(parts, at, k), slower)
        return cls(
            full_s=flop / peak * slower,
            moved_s=np.where(flags["narrow"], narrow, moved) / bandwidth,
            cast_s=np.where(flags["narrow"], operands / bandwidth, 0.0),
            keys=np.where(flags["fused"] & (n > 0), n, np.inf),
            more=np.where(flags["product"], groups - 1, 0.0),
            flags=flags,
            at=at,
            first=np.concatenate([[0], lengths.cumsum()[:-1]]),
            kernels=lengths.astype(float),
            count=np.array([times for _, _, times in operators], float),
            run=np.array([number for number, _, _ in operators]),
            runs=len(work),
        )

    def compute_s(self, values: Values) -> Floats:
        """(R,) compute time of each run, in s."""
        flags, each = self.flags, {name: value[self.at] for name, value in values.items()}
        part = np.ones_like(self.full_s)
        for flag, name in (("product", "gemm"), ("narrow", "gemm_narrow"), ("fourth", "gemm_fp4")):
            part[flags[flag]] = each[name][flags[flag]]
        fused = each["attention"] * each["attention_share"]
        with np.errstate(invalid="ignore"):
            length = np.maximum(SHORT, 1 / (1 + each["attention_half"] / self.keys))
        part[flags["fused"]] = (fused * length)[flags["fused"]]
        part[flags["backward"]] *= each["attention_backward"][flags["backward"]]
        part[flags["scan"]] = each["scan"][flags["scan"]]
        part[flags["unfused"]] = each["unfused_attention"][flags["unfused"]]
        part[flags["misaligned"]] *= each["misaligned"][flags["misaligned"]]
        busy_s = self.full_s / part + np.where(flags["product"], each["gemm_ramp_s"], 0.0)
        busy_s += self.more * each["group_s"]
        times = np.where(flags["elementwise"], each["traffic"], 1.0)
        times[flags["routing"]] = each["routing"][flags["routing"]]
        rate = np.where(flags["product"], each["product_memory"], each["memory"])
        time_s = np.maximum(busy_s, self.moved_s * times / rate) + each["kernel_overhead_s"]
        time_s += self.cast_s * each["casts"] / each["memory"]
        time_s += np.where(flags["routing"], each["routing_s"], 0.0)
        issued_s = self.kernels * values["issue_s"][self.run]
        lasting_s = np.maximum(np.add.reduceat(time_s, self.first), issued_s)
        return np.bincount(self.run, lasting_s * self.count, self.runs)


def _flags(kernels: Sequence[Kernel], runs: Sequence[Run], sizes: Floats) -> dict[str, Flags]:
    kinds, names = np.array([k.kind for k in kernels]), np.array([k.name for k in kernels])
    formats = np.array([k.format != "" for k in kernels])
    precisions = np.array([str(run.workload.precision) for run in runs])
    product, attention = kinds == "gemm", kinds == "attention"
    fused = attention & np.char.startswith(names, "attention core")
    small = np.isin(precisions, [str(p) for p in _NARROW])
    return {
        "product": product,
        "narrow": product & small & formats,
        "fourth": product & formats & (precisions == str(Precision.FP4)),
        "small": small,
        "fused": fused,
        "backward": fused & np.char.endswith(names, "gradient"),
        "scan": kinds == "scan",
        "unfused": attention & ~fused,
        "misaligned": attention & ~fused & (sizes[4] % 8 != 0),
        "elementwise": kinds == "elementwise",
        "routing": kinds == "routing",
    }


def _machines(
    runs: Sequence[Run], at: NDArray[np.int64], flags: Mapping[str, Flags]
) -> tuple[Floats, Floats, Floats]:
    """(K,) peak in the format of each kernel, peak of the memory, bytes of a narrow operand."""
    npus = [run.platform.npu for run in runs]
    own = [run.workload.precision for run in runs]
    plain = [Precision.BF16 if p in _NARROW else p for p in own]
    peaks = np.array([npu.peak(p) for npu, p in zip(npus, own, strict=True)])
    wide = np.array([npu.peak(p) for npu, p in zip(npus, plain, strict=True)])
    bandwidth = np.array([npu.memory_bandwidth_bytes_per_s for npu in npus], float)
    size = np.where(flags["narrow"], np.array([p.bytes for p in own], float)[at], 2.0)
    return np.where(flags["narrow"], peaks[at], wide[at]), bandwidth[at], size


def _narrow_heads(parts: Sequence[Efficiency], at: NDArray[np.int64], k: Floats) -> Floats:
    """(K,) time of fused attention with heads of *k* elements over that with wide ones."""
    width = np.array([part.attention_width for part in parts])[at]
    narrow = (k > 0) & (k < WIDE_HEAD)
    elements = np.where(narrow, k, WIDE_HEAD)
    rate = elements / WIDE_HEAD * (WIDE_HEAD + width) / (elements + width)
    return 1 / np.maximum(SHORT, rate)


def _slower(parts: Sequence[Efficiency], at: NDArray[np.int64], sizes: Floats) -> Floats:
    """(K,) time of whole rounds of filled tiles over that of the FLOP alone."""
    _, _, m, n, k, groups = sizes
    fill = np.array([part.tile_fill for part in parts])[at]
    processors = np.array([part.processors for part in parts])[at]
    cost = np.array([part.operand_cost for part in parts])[at]
    best = np.full(m.shape, np.inf)
    for rows, columns in TILES:
        tiles = groups * np.ceil(m / rows) * np.ceil(n / columns)
        step = rows * columns + cost * (rows + columns)
        best = np.minimum(best, np.ceil(tiles / np.maximum(1, processors)) * step)
    rows, columns = TILES[0]
    whole = groups * m * n / (rows * columns * np.maximum(1, processors))
    least = np.maximum(whole, 1e-9) * (rows * columns + cost * (rows + columns))
    rounds = np.where((m > 0) & (processors > 0), best / least, 1.0)
    return rounds * (1 + np.where(k > 0, fill / np.maximum(1, k), 0.0))

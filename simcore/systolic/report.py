"""All columns of SCALE-Sim's three reports, for one layer on one array."""

from dataclasses import dataclass

from simcore.systolic.busy import busy
from simcore.systolic.layer import Array, Dataflow, Layer

_FLOWS = tuple(Dataflow)


@dataclass(frozen=True, slots=True)
class Report:
    """One layer on one array, with its memory.

    Cycles are numbered from 0 at the first request; data that is fetched before has negative ones.

    Attributes:
        total_cycles: Number of the last line of requests, plus stalls.
        stall_cycles: Cycles in which the whole array waits.
        overall_util_pct: Multiply-adds over those that the array could do in that time.
        mapping_eff_pct, compute_util_pct: As in ``Busy``.
        avg_*_bw: Words per cycle between array and buffer, and between buffer and memory.
        *_start, *_stop: First and last cycle of that traffic.
        *_reads, *_writes: Words; those of memory include what rounding to whole lines adds.
    """

    total_cycles: int
    stall_cycles: int
    overall_util_pct: float
    mapping_eff_pct: float
    compute_util_pct: float
    avg_ifmap_sram_bw: float
    avg_filter_sram_bw: float
    avg_ofmap_sram_bw: float
    avg_ifmap_dram_bw: float
    avg_filter_dram_bw: float
    avg_ofmap_dram_bw: float
    ifmap_sram_start: int
    ifmap_sram_stop: int
    ifmap_sram_reads: int
    filter_sram_start: int
    filter_sram_stop: int
    filter_sram_reads: int
    ofmap_sram_start: int
    ofmap_sram_stop: int
    ofmap_sram_writes: int
    ifmap_dram_start: int
    ifmap_dram_stop: int
    ifmap_dram_reads: int
    filter_dram_start: int
    filter_dram_stop: int
    filter_dram_reads: int
    ofmap_dram_start: int
    ofmap_dram_stop: int
    ofmap_dram_writes: int


def report(layer: Layer, array: Array) -> Report:
    """Report of *layer* on *array*; the first call compiles.

    Raises:
        ConfigError: The layer falls into too many parts of the array's size.
    """
    import numpy as np

    from simcore.kernels.systolic.layer import run_layer

    full = busy(layer, array)
    given = np.array(
        [
            *(layer.ifmap_h, layer.ifmap_w, layer.filt_h, layer.filt_w, layer.channels),
            *(layer.num_filt, layer.stride_h, layer.stride_w, _FLOWS.index(array.dataflow)),
            *(array.rows, array.cols, array.ifmap_words, array.filter_words, array.ofmap_words),
            array.bandwidth or 0,
        ],
        dtype=np.int64,
    )
    total, stalls, *rest = run_layer(given).tolist()
    m, n, k = layer.product
    cycles = max(total, 1)  # one unit that multiplies once is done in cycle 0
    asked = (full.ifmap_sram_reads, full.filter_sram_reads, full.ofmap_sram_writes)
    near, far, near_bw, far_bw = [], [], [], []
    for words, first in zip(asked, (0, 5, 10), strict=True):
        begin, end, start, stop, moved = rest[first : first + 5]
        near += [begin, end, words]
        far += [start, stop, moved]
        near_bw.append(words / cycles)
        far_bw.append(moved / (stop - start + 1))
    util = 100 * m * n * k / (cycles * array.rows * array.cols)
    shares = full.mapping_eff_pct, full.compute_util_pct
    return Report(total, stalls, util, *shares, *near_bw, *far_bw, *near, *far)

"""Cycles of a layer on an array whose buffers never wait: closed forms.

Source: A. Samajdar et al., "A Systematic Methodology for Characterizing Scalability of DNN
Accelerators using SCALE-Sim", ISPASS 2020, with the cycles of a fold as version 2 counts them.
"""

from dataclasses import dataclass

from simcore.errors import ConfigError
from simcore.systolic.layer import MOST_FOLDS, Array, Dataflow, Layer


@dataclass(frozen=True, slots=True)
class Busy:
    """A layer on an array whose buffers never wait.

    Attributes:
        cycles: Lines of requests; the last one's number, from 0, is SCALE-Sim's total.
        mapping_eff_pct: Part of the array that folds use.
        compute_util_pct: Likewise over the time of a fold with its fill and drain, as SCALE-Sim
            counts them: longer by the columns less one than a fold where weights or inputs stay.
        ifmap_sram_reads, filter_sram_reads, ofmap_sram_writes: Words, empty ones too.
    """

    cycles: int
    mapping_eff_pct: float
    compute_util_pct: float
    ifmap_sram_reads: int
    filter_sram_reads: int
    ofmap_sram_writes: int


def busy(layer: Layer, array: Array) -> Busy:
    """Closed forms of *layer* on *array*.

    Raises:
        ConfigError: The layer falls into too many parts of the array's size.
    """
    m, n, k = layer.product
    rows, cols, flow = array.rows, array.cols, array.dataflow
    if flow is Dataflow.OUTPUT:
        down, across, time = m, n, k
        fold = counted = time + rows + cols - 2
    else:
        down, across, time = (k, n, m) if flow is Dataflow.WEIGHT else (k, m, n)
        fold = time + 2 * rows + cols - 2
        counted = fold + cols - 1
    row_folds, col_folds = -(-down // rows), -(-across // cols)
    folds = row_folds * col_folds
    if folds > MOST_FOLDS:
        rule = f"must be so large that a layer falls into at most {MOST_FOLDS:,} parts of it"
        raise ConfigError("array", rule, got=f"{rows} x {cols}")
    mapping = 100 * down * across / (folds * rows * cols)
    if flow is Dataflow.OUTPUT:
        reads = m * k * col_folds, k * n * row_folds
        writes = m * n + folds * (rows + cols)
    else:
        reads = (
            (m * k * col_folds, k * n) if flow is Dataflow.WEIGHT else (m * k, k * n * col_folds)
        )
        writes = m * n * row_folds
    return Busy(folds * fold, mapping, mapping * time / counted, *reads, writes)

"""Figures of many iterations, by the formulas of one."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.result import NS, flop_shares, use_of

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Figures:
    """Columns of N by which iterations are judged; those of bytes are (N, D), by dimension.

    Attributes:
        time_ns: Of the iteration.
        held_ns: By how much it would be shorter if phases ended with their first member.
        sent_bytes, link_bytes: As in ``WorkTotals``.
        rates: Usable bandwidth of each dimension.
        peak: FLOP/s of an NPU.
        npus, npus_per_stage, tokens: Whole numbers.
        model_flop, matrix_flop: Of the model; executed, on one NPU of each stage.
        footprint_bytes: On the fullest NPU.
    """

    time_ns: Ints
    held_ns: Ints
    sent_bytes: Floats
    link_bytes: Floats
    rates: Floats
    peak: Floats
    npus: Ints
    npus_per_stage: Ints
    tokens: Ints
    model_flop: Floats
    matrix_flop: Floats
    footprint_bytes: Floats

    def metrics(self) -> dict[str, Floats]:
        """Metrics by name, as ``IterationResult.metrics``, but for those of stages."""
        time_s = np.asarray(self.time_ns * NS, np.float64)
        executed = np.asarray(self.matrix_flop * self.npus_per_stage, np.float64)
        npus = self.npus.astype(np.float64)
        mfu, hfu = flop_shares(self.model_flop, executed, time_s, npus, self.peak)
        loads = use_of(self.link_bytes, self.rates, time_s[:, None])
        used = use_of(self.sent_bytes, self.rates, time_s[:, None])
        return {
            "iteration_time_s": time_s,
            "mfu": mfu,
            "hfu": hfu,
            "tokens_per_s": self.tokens / time_s,
            "footprint_bytes": self.footprint_bytes,
            "held_s": np.minimum(self.held_ns * NS, time_s),
            "link_load": loads.max(axis=1),
            "busiest_dimension": loads.argmax(axis=1).astype(float),
            **{f"utilization_dim{d}": used[:, d] for d in range(used.shape[1])},
        }

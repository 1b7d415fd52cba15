"""The compute model of traces: how long operations and bytes take, and what is used meanwhile."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.formats.astra.system_file import AstraRoofline
from simcore.formats.chakra.trace import Flags, Ints

Floats = NDArray[np.float64]

LONGEST_NS = 2**61


@dataclass(frozen=True, slots=True, kw_only=True)
class Utilization:
    """Roofline figures of one NPU, weighted by the time of its compute nodes."""

    compute_bound_pct: float
    avg_compute_util_pct: float
    avg_memory_util_pct: float
    avg_operation_intensity: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RooflineTimes:
    """Per node, what the compute model found; 0 where it was not asked (``used`` False)."""

    used: Flags
    duration_ns: Ints
    compute_bound: Flags
    compute_utilization: Floats
    memory_utilization: Floats
    flop_per_byte: Floats

    def utilization(self, nodes: slice, weight: Ints) -> Utilization:
        """The figures of one NPU.

        Args:
            nodes: Its nodes.
            weight: (T,) int64, how long each ran.
        """
        total = 1 + int(weight.sum())
        rows = self.used[nodes]

        def average(values: Floats) -> float:
            return float((values[nodes][rows] * weight[rows]).sum()) / total

        return Utilization(
            compute_bound_pct=100 * average(self.compute_bound.astype(np.float64)),
            avg_compute_util_pct=100 * average(self.compute_utilization),
            avg_memory_util_pct=100 * average(self.memory_utilization),
            avg_operation_intensity=average(self.flop_per_byte),
        )


def roofline_times(
    used: Flags, num_ops: Ints, tensor_size: Ints, model: AstraRoofline
) -> RooflineTimes:
    """Times of nodes by the model.

    Args:
        used: (T,) bool, nodes that it is asked about.
        num_ops: (T,) int64.
        tensor_size: (T,) int64, in bytes; 0: the node takes no time.
        model: The machine.
    """
    # Each double operation stands in ASTRA-sim's order; the truncated result depends on it.
    peak, bandwidth = model.peak_flop_per_s, model.mem_bytes_per_s
    timed = used & (tensor_size > 0)
    ops = np.where(timed, num_ops, 0).astype(np.float64)
    moved = np.where(timed, tensor_size, 1).astype(np.float64)
    intensity = ops / moved
    perf = np.minimum(bandwidth * intensity, peak)
    works = timed & (ops > 0)
    safe = np.where(works, perf, 1.0)
    # without operations only the memory is busy (ASTRA-sim divides 0 by 0 here)
    seconds = np.where(works, ops / safe, np.where(timed, moved / bandwidth, 0.0))
    return RooflineTimes(
        used=used,
        duration_ns=np.minimum(seconds * 1e9, LONGEST_NS).astype(np.int64),
        compute_bound=works & (perf >= peak),
        compute_utilization=np.where(works, perf / peak, 0.0),
        memory_utilization=np.where(
            works, (perf / np.where(works, intensity, 1.0)) / bandwidth, timed * 1.0
        ),
        flop_per_byte=intensity,
    )

"""What ASTRA-sim prints about each NPU when it finishes, from start and end of its nodes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.formats.astra.program import RooflineTimes, TraceProgram
from simcore.formats.chakra.trace import Flags, Ints
from simcore.terms import NodeKind

_WORD = 1 << 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Utilization:
    """Roofline figures of one NPU, weighted by the time of its compute nodes."""

    compute_bound_pct: float
    avg_compute_util_pct: float
    avg_memory_util_pct: float
    avg_operation_intensity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NpuStatistics:
    """Figures of one finished NPU; times in ns.

    Attributes:
        finish_ns: When it finished.
        exposed_comm_ns: Finish less all its computing, modulo 2^64 as ASTRA-sim prints it.
        wall_ns: End of its last node.
        time_ns: Per type that occurred (``gpu``, ``comm``, ``cpu``, ``remote_mem``,
            ``invalid``), in how much time at least one of its nodes ran.
        overlap_ns: Computing and communication together less the wall time, modulo 2^64; 0 where
            one of the two is missing.
        utilization: Roofline figures, or None where the model is off.
    """

    finish_ns: int
    exposed_comm_ns: int
    wall_ns: int
    time_ns: dict[str, int]
    overlap_ns: int
    utilization: Utilization | None

    @property
    def lost_by_astra(self) -> bool:
        """Whether ASTRA-sim prints only the first line: a type other than the first two ran."""
        return not set(self.time_ns) <= {"gpu", "comm"}


def union_ns(start: Ints, end: Ints) -> int:
    """Length of the union of the intervals from *start* to *end*."""
    if not start.size:
        return 0
    order = np.argsort(start, kind="stable")
    begin, reach = start[order], np.maximum.accumulate(end[order])
    covered = np.concatenate((begin[:1], reach[:-1]))
    return int(np.maximum(reach - np.maximum(begin, covered), 0).sum())


def statistics_of(finish_ns: int, start: Ints, end: Ints, program: TraceProgram) -> NpuStatistics:
    """The statistics of one NPU.

    Args:
        finish_ns: When it finished.
        start: (T,) int64 start of each node, -1 where it never ran.
        end: (T,) int64, likewise.
        program: What it ran.
    """
    ran = start >= 0
    kinds = _types(program, ran)
    wall = int(end[ran].max(initial=0))
    time_ns = {name: union_ns(start[rows], end[rows]) for name, rows in kinds.items()}
    overlap = 0
    if "gpu" in time_ns and "comm" in time_ns:
        overlap = (time_ns["gpu"] + time_ns["comm"] - wall) % _WORD
    utilization = None
    if program.roofline is not None:
        compute = ran & (program.kind == NodeKind.COMPUTE)
        utilization = _utilization(program.roofline, np.where(compute, end - start, 0))
    return NpuStatistics(
        finish_ns=finish_ns,
        exposed_comm_ns=(finish_ns - int(program.replay_ns[ran].sum())) % _WORD,
        wall_ns=wall,
        time_ns=time_ns,
        overlap_ns=overlap,
        utilization=utilization,
    )


def _types(program: TraceProgram, ran: Flags) -> dict[str, Flags]:
    kind, cpu = program.kind, program.program.on_cpu
    compute = ran & (kind == NodeKind.COMPUTE)
    found = {
        "gpu": compute & ~cpu,
        "comm": ran & np.isin(kind, (NodeKind.COLLECTIVE, NodeKind.SEND, NodeKind.RECV)),
        "cpu": compute & cpu,
        "remote_mem": ran & np.isin(kind, (NodeKind.MEM_LOAD, NodeKind.MEM_STORE)),
        "invalid": ran & (kind == NodeKind.INVALID),
    }
    return {name: rows for name, rows in found.items() if rows.any()}


def _utilization(roofline: RooflineTimes, weight: Ints) -> Utilization:
    total = 1 + int(weight.sum())
    rows = roofline.used

    def average(values: NDArray[np.float64]) -> float:
        return float((values[rows] * weight[rows]).sum()) / total

    return Utilization(
        compute_bound_pct=100 * average(roofline.compute_bound.astype(np.float64)),
        avg_compute_util_pct=100 * average(roofline.compute_utilization),
        avg_memory_util_pct=100 * average(roofline.memory_utilization),
        avg_operation_intensity=average(roofline.flop_per_byte),
    )

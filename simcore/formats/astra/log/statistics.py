"""Lines that ASTRA-sim prints about each NPU when it finishes, from the time its nodes take."""

from collections.abc import Sequence
from dataclasses import dataclass

from simcore.formats.astra.traces.roofline import Utilization

_WORD = 1 << 64
LABELS = {
    "cpu": "CPU",
    "gpu": "GPU",
    "comm": "Comm",
    "remote_mem": "Remote mem",
    "invalid": "Invalid",
}
"""Types of nodes, as ASTRA-sim calls them when it prints their time."""
ACCOUNTS = ("gpu", "comm", "cpu", "remote_mem", "invalid")
"""The types by their number as accounts of the engine."""


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
        """True if ASTRA-sim prints only the first line: a type other than the first two ran."""
        return not set(self.time_ns) <= {"gpu", "comm"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramTotals:
    """Totals of the nodes of a program that the statistics need.

    Attributes:
        compute_ns: How long those that count as computing take, added up.
        utilization: Roofline figures, or None where the model is off.
    """

    compute_ns: int
    utilization: Utilization | None


def statistics_of(
    finish_ns: int, wall_ns: int, busy_ns: Sequence[int], totals: ProgramTotals
) -> NpuStatistics:
    """The statistics of one NPU.

    Args:
        finish_ns: When it finished.
        wall_ns: When its last node ended.
        busy_ns: Per account of ``EngineOutput``, in how much time at least one node ran, or -1.
        totals: Of what it ran.
    """
    time_ns = {name: ns for name, ns in zip(ACCOUNTS, busy_ns, strict=True) if ns >= 0}
    overlap = 0
    if "gpu" in time_ns and "comm" in time_ns:
        overlap = (time_ns["gpu"] + time_ns["comm"] - wall_ns) % _WORD
    return NpuStatistics(
        finish_ns=finish_ns,
        exposed_comm_ns=(finish_ns - totals.compute_ns) % _WORD,
        wall_ns=wall_ns,
        time_ns=time_ns,
        overlap_ns=overlap,
        utilization=totals.utilization,
    )

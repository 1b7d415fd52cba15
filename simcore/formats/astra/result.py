"""The result of a run, and as plain data for files."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simcore.engines.events.input import EngineOutput
from simcore.formats.astra.log.statistics import LABELS, NpuStatistics, statistics_of
from simcore.formats.astra.packets import packets_of
from simcore.formats.astra.run import AstraRun
from simcore.formats.astra.traces.load import trace_path

if TYPE_CHECKING:
    from simcore.formats.astra.log.memory_use import MemoryUse

Plain = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AstraResult:
    """Outcome of one run.

    Attributes:
        run: What was run.
        output: What the engine gave.
        statistics: Per NPU, or None where it never finished.
        memory: Per NPU with tracking, likewise; else empty.
    """

    run: AstraRun
    output: EngineOutput
    statistics: tuple[NpuStatistics | None, ...]
    memory: "tuple[MemoryUse | None, ...]"

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks for the user: on the files, and on what happened."""
        if not self.output.empty_messages:
            return self.run.notes
        empty = (
            "Messages of 0 bytes were sent, which take the latency only; ASTRA-sim aborts there."
        )
        return (*self.run.notes, empty)

    @property
    def finished(self) -> list[int]:
        """Ids of the NPUs that finished, in that order; of those of one cycle by id."""
        order = np.argsort(self.output.finish_ns, kind="stable").tolist()
        return [npu for npu in order if self.statistics[npu] is not None]

    @property
    def unfinished(self) -> list[int]:
        """Ids of the NPUs that never finished."""
        return [npu for npu, item in enumerate(self.statistics) if item is None]


def collect(run: AstraRun, output: EngineOutput) -> AstraResult:
    """Computes the statistics of every NPU that finished.

    Raises:
        ConfigError: Memory is tracked and a node does not say what it reads and writes.
    """
    statistics: list[NpuStatistics | None] = []
    memory: list[MemoryUse | None] = []
    tracked = run.system.memory_trace is not None
    known: dict[tuple[object, ...], NpuStatistics] = {}  # most NPUs are like others
    times = (output.finish_ns, output.last_end_ns, output.busy_ns)
    for npu, (finish, wall, busy) in enumerate(zip(*(t.tolist() for t in times), strict=True)):
        if finish < 0:
            statistics.append(None)
            memory.extend([None] if tracked else [])
            continue
        index = int(run.traces.program_of_npu[npu])
        figures = (index, finish, wall, *busy)
        if figures not in known:
            known[figures] = statistics_of(finish, wall, busy, run.traces.totals[index])
        statistics.append(known[figures])
        if tracked:
            from simcore.formats.astra.log.memory_use import track_memory

            place = str(trace_path(run.files.workload, npu))
            start, end = output.node_start_ns[npu], output.node_end_ns[npu]
            memory.append(track_memory(run.traces.nodes[index], start, end, place=place))
    return AstraResult(run=run, output=output, statistics=tuple(statistics), memory=tuple(memory))


def write_memory_traces(result: AstraResult) -> None:
    """Writes ``<local-mem-trace-filename>.<r>.json`` of every NPU r, where memory is tracked."""
    if not result.memory:
        return
    from simcore.formats.astra.log.memory_use import write_memory_trace

    name = result.run.system.memory_trace
    for npu, use in enumerate(result.memory):
        if name is not None and use is not None:
            write_memory_trace(result.run.files.folder / f"{name}.{npu}.json", use, npu)


def as_plain(result: AstraResult) -> Plain:
    """The result as data for JSON.

    Arrays are per NPU. They hold None where ASTRA-sim prints nothing: for NPUs that never
    finished, for types that did not occur, and, apart from the first two arrays, for NPUs that ran
    CPU, memory or invalid nodes. ``all_statistics`` holds these as well.
    """
    unfinished = result.unfinished
    plain: Plain = {
        "status": "incomplete" if unfinished else "ok",
        "message": _message(result),
        "notes": list(result.notes),
        "classes": result.output.classes,
        "finish_cycles": [None if s is None else s.finish_ns for s in result.statistics],
        "exposed_comm_cycles": [
            None if s is None else s.exposed_comm_ns for s in result.statistics
        ],
    }
    printed = [None if s is None or s.lost_by_astra else s for s in result.statistics]
    plain |= _arrays(printed)
    if any(s is not None and s.lost_by_astra for s in result.statistics):
        plain["all_statistics"] = _arrays(list(result.statistics))
    if result.memory:
        plain |= _memory(result)
    if unfinished:
        everyone = len(unfinished) == len(result.statistics)
        plain["unfinished_npus"] = "all" if everyone else unfinished
        plain["waiting"] = list(result.output.waiting)
    if (packets := packets_of(result.run.engine_input.network)) is not None:
        plain |= packets.told()
    if result.run.system.record_trace:
        plain["node_times"] = _node_times(result)
    return plain


def _message(result: AstraResult) -> str:
    unfinished = result.unfinished
    if not unfinished:
        return ""
    if len(unfinished) == len(result.statistics):
        told = "No NPU finished"
    else:
        noun = "NPU" if len(unfinished) == 1 else "NPUs"
        told = f"{len(unfinished)} {noun} never finished"
    reason = f": {result.output.waiting[0]}" if result.output.waiting else "."
    return told + reason


def _arrays(statistics: list[NpuStatistics | None]) -> Plain:
    plain: Plain = {"wall_time": [None if s is None else s.wall_ns for s in statistics]}
    for key in LABELS:
        plain[f"{key}_time"] = [None if s is None else s.time_ns.get(key) for s in statistics]
    plain["overlap"] = [None if s is None else s.overlap_ns or None for s in statistics]
    for name in (
        "compute_bound_pct",
        "avg_compute_util_pct",
        "avg_memory_util_pct",
        "avg_operation_intensity",
    ):
        plain[name] = [
            None if s is None or s.utilization is None else round(getattr(s.utilization, name), 3)
            for s in statistics
        ]
    return plain


def _memory(result: AstraResult) -> Plain:
    lost = [s is None or s.lost_by_astra for s in result.statistics]
    return {
        "peak_memory": [
            None if use is None or gone else use.peak_text
            for use, gone in zip(result.memory, lost, strict=True)
        ],
        "memory_timeline_mb": {
            str(npu): [[time * 1e-3, used / 1024.0**2] for time, used in use.timeline]
            for npu, use in enumerate(result.memory)
            if use is not None
        },
    }


def _node_times(result: AstraResult) -> Plain:
    times: Plain = {}
    for npu, index in enumerate(result.run.traces.program_of_npu.tolist()):
        ids = result.run.traces.programs[index].node_id
        start, end = result.output.node_start_ns[npu], result.output.node_end_ns[npu]
        order = np.lexsort((start, end))
        order = order[end[order] >= 0]
        times[str(npu)] = [[int(ids[t]), int(start[t]), int(end[t])] for t in order.tolist()]
    return times

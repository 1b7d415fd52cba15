"""Everything that ASTRA-sim logs in a run, line by line, each with its logger and level."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np

from simcore.collectives import DoubleBinaryTree
from simcore.engines.events.issue_order import walked_set
from simcore.engines.events.programs import Program
from simcore.errors import ConfigError
from simcore.formats.astra.log.statistics import ACCOUNTS, LABELS, NpuStatistics
from simcore.formats.astra.result import AstraResult
from simcore.formats.astra.run import AstraRun
from simcore.formats.chakra.trace import Flags, Ints
from simcore.kernels.events.layout import ACCOUNT_SHIFT
from simcore.terms import CollectiveKind, NodeKind


def lines(result: AstraResult) -> Iterator[str]:
    """The figures of every NPU that finished, in the order in which they did."""
    known: dict[int, list[str]] = {}  # most NPUs share their figures with others
    for npu in result.finished:
        item = result.statistics[npu]
        assert item is not None
        if id(item) not in known:
            known[id(item)] = [finish_line(item), *statistics_lines(item, LABELS)]
        for text in known[id(item)]:
            yield f"sys[{npu}]{text}"
        yield from memory_lines(result, npu)


def finish_line(item: NpuStatistics) -> str:
    """First line about an NPU."""
    exposed = f"exposed communication {item.exposed_comm_ns} cycles."
    return f" finished, {item.finish_ns} cycles, {exposed}"


def statistics_lines(item: NpuStatistics, types: Iterable[str]) -> list[str]:
    """Next lines: times by type, in the order of *types*, overlap and roofline figures."""
    told = [f", Wall time: {item.wall_ns}"]
    told += [f", {LABELS[key]} time: {item.time_ns[key]}" for key in types if key in item.time_ns]
    if item.overlap_ns:
        told.append(f", Total compute-communication overlap: {item.overlap_ns}")
    if item.utilization is not None:
        figures = item.utilization
        told += [
            f", Compute bound percentage: {figures.compute_bound_pct:.3f}%",
            f", Average compute utilization: {figures.avg_compute_util_pct:.3f}%",
            f", Average memory utilization: {figures.avg_memory_util_pct:.3f}%",
            f", Average operation intensity: {figures.avg_operation_intensity:.3f}",
        ]
    return told


def memory_lines(result: AstraResult, npu: int) -> list[str]:
    """The line on peak memory, where it is tracked."""
    use = result.memory[npu] if result.memory else None
    return [] if use is None else [f"sys[{npu}] peak memory usage: {use.peak_text}"]


_TOPOLOGIES = (  # in the order in which an NPU builds them
    CollectiveKind.ALL_REDUCE,
    CollectiveKind.REDUCE_SCATTER,
    CollectiveKind.ALL_GATHER,
    CollectiveKind.ALL_TO_ALL,
)
_RING = "system::topology::RingTopology"


class LogLine(NamedTuple):
    """One line: who says it, how important it is, and what is said."""

    logger: str
    level: str
    text: str


class _Timed(NamedTuple):
    """Lines of one NPU that come at one time; within it callbacks, then what they bring about."""

    time_ns: int
    npu: int
    rank: int
    lines: list[LogLine]


_ENDED, _ISSUED, _ENDED_AT_ONCE, _FINISHED = 0, 1, 2, 3


class _Runs:
    """Program that each NPU ran, and when."""

    def __init__(self, result: AstraResult) -> None:
        self._output, self._traces = result.output, result.run.traces
        self._programs: dict[int, Program] = {}

    def of(self, npu: int) -> tuple[Program, Ints, Ints]:
        """The program, and start and end of its nodes (-1: never)."""
        index = int(self._traces.program_of_npu[npu])
        if index not in self._programs:
            self._programs[index] = self._traces.programs[index]
        output = self._output
        return self._programs[index], output.node_start_ns[npu], output.node_end_ns[npu]


def log_lines(result: AstraResult) -> Iterator[LogLine]:
    """The lines of a run, in order; within one cycle the NPUs come by id.

    The run must have recorded the times of its nodes (``--log-style=astra``).
    """
    yield from _rings(result.run)
    runs = _Runs(result)
    events = [*_group_rings(result, runs), *_finishes(result, runs)]
    if result.run.system.record_trace:
        events += _node_events(result, runs)
    for event in sorted(events, key=lambda event: event[:3]):
        yield from event.lines
    yield from _unreleased(result, runs)
    yield LogLine("system", "warning", "Exiting")


def _rings(run: AstraRun) -> Iterator[LogLine]:
    """Lines of NPU 0 on the logical topology of each kind of collective."""
    sizes = [dimension.npus for dimension in run.engine_input.dimensions]
    for kind in _TOPOLOGIES:
        offset = 1
        for size, chosen in zip(
            sizes, run.system.options.algorithms.get(int(kind), ()), strict=False
        ):
            if chosen.whole_machine:
                yield _ring(int(np.prod(sizes)), 1)
                break
            if not isinstance(chosen.algorithm, DoubleBinaryTree):
                yield _ring(size, offset)
            offset *= size


def _ring(size: int, offset: int) -> LogLine:
    text = (
        f"ring of node 0, id: 0 dimension: local total nodes in ring: {size} "
        f"index in ring: 0 offset: {offset} total nodes in ring: {size}"
    )
    return LogLine(_RING, "info", text)


def _group_rings(result: AstraResult, runs: _Runs) -> Iterator[_Timed]:
    """Lines of members that run the first collective of a kind in a group."""
    traces = result.run.traces
    for npu in range(traces.program_of_npu.size):
        program, start, _ = runs.of(npu)
        grouped = np.isin(program.comm_kind, _TOPOLOGIES) & (program.group != 0) & (start >= 0)
        rows = np.flatnonzero(grouped)
        seen: set[tuple[int, int]] = set()
        for row in rows[np.argsort(start[rows], kind="stable")].tolist():
            plan = int(program.group[row]), int(program.comm_kind[row])
            members = traces.groups[plan[0]]
            if plan in seen or len(members) == traces.program_of_npu.size:
                continue
            seen.add(plan)
            count, place = len(members), list(members).index(npu)
            text = (
                f"custom ring, id: {npu}, dimension: local total nodes in ring: {count} "
                f"index in ring: {place} total nodes in ring {count}"
            )
            yield _Timed(int(start[row]), npu, _ISSUED, [LogLine(_RING, "info", text)])


def _finishes(result: AstraResult, runs: _Runs) -> Iterator[_Timed]:
    for npu in result.finished:
        item = result.statistics[npu]
        assert item is not None
        told = [LogLine("workload", "info", f"sys[{npu}]{finish_line(item)}")]
        for what in ("start", "end"):
            text = f"sys[{npu}]. Post statistics processing {what}."
            told.append(LogLine("statistics", "info", text))
        types = [*item.time_ns]
        if len(types) > 1:
            types = _printed_order(result, runs, npu)
        for text in statistics_lines(item, types):
            told.append(LogLine("statistics", "info", f"sys[{npu}]{text}"))
        told += [LogLine("workload", "info", text) for text in memory_lines(result, npu)]
        yield _Timed(item.finish_ns, npu, _FINISHED, told)


def _printed_order(result: AstraResult, runs: _Runs, npu: int) -> list[str]:
    """Types in the order in which a walk over the hash map of the issued nodes meets them."""
    program, start, _ = runs.of(npu)
    ran = np.flatnonzero(start >= 0)
    issued = ran[np.argsort(start[ran], kind="stable")]
    walked = issued[walked_set(program.node_id[issued])]
    traces = result.run.traces
    bodies = traces.programs.bodies
    first = bodies.first[traces.programs.body_of[traces.program_of_npu[npu]]]
    account, when = np.unique(bodies.code[first + walked] >> ACCOUNT_SHIFT, return_index=True)
    order = account[np.argsort(when)].tolist()
    return [ACCOUNTS[number] for number in order if number < len(ACCOUNTS)]


def _node_events(result: AstraResult, runs: _Runs) -> Iterator[_Timed]:
    """Start and end of every node, as with ``trace-enabled``."""
    for npu in range(result.run.traces.program_of_npu.size):
        program, start, end = runs.of(npu)
        for row in np.flatnonzero(start >= 0).tolist():
            begun, ended = int(start[row]), int(end[row])
            yield _Timed(begun, npu, _ISSUED, [_node_line("issue", npu, begun, program, row)])
            if ended >= 0:
                rank = _ENDED_AT_ONCE if ended == begun else _ENDED
                yield _Timed(ended, npu, rank, [_node_line("callback", npu, ended, program, row)])


def _node_line(what: str, npu: int, time_ns: int, program: Program, row: int) -> LogLine:
    text = (
        f"{what},sys->id={npu}, tick={time_ns}, node->id={int(program.node_id[row])}, "
        f"node->name={program.name[row]}, node->type={int(program.kind[row])}"
    )
    return LogLine("workload", "debug", text)


def _unreleased(result: AstraResult, runs: _Runs) -> Iterator[LogLine]:
    """Nodes that still held a slot when nothing was left to do."""
    for npu in result.unfinished:
        program, start, end = runs.of(npu)
        held = (start >= 0) & (end < 0)
        cpu = program.on_cpu
        computes = program.kind == NodeKind.COMPUTE
        told = [
            *_held(program, held & cpu, "CPU"),
            *_held(program, held & ~cpu & computes, "GPU comp"),
            *_held(program, held & ~cpu & ~computes & (program.kind != NodeKind.RECV), "GPU comm"),
        ]
        if told:
            text = f"!!!Hardware Resource sys.id={npu} has unreleased nodes!!!"
            yield LogLine("HardwareResource", "critical", text)
            yield from told


def _held(program: Program, held: Flags, what: str) -> Iterator[LogLine]:
    for number in program.node_id[held].tolist():
        yield LogLine("HardwareResource", "critical", f"{what} node id: {number}")


_LARGEST_BYTES = 10 * 1024 * 1024
_OLD_FILES = 10
_LEVELS = ("debug", "info", "warning", "error", "critical")


def write_log(told: Iterable[LogLine], stream: TextIO, folder: Path) -> None:
    """Write each line where its level belongs.

    Lines from ``info`` on go to *stream*, all to ``log.log`` and errors to ``err.log`` in *folder*,
    which is made if its parent is there. The files are appended to; one that would grow beyond
    10 MiB becomes ``log.1.log``, the one before ``log.2.log``, up to 10.

    Raises:
        ConfigError: The folder cannot be made.
    """
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        rule = f"must be a folder in one that exists ({error.strerror})"
        raise ConfigError("--logging-folder", rule, got=str(folder)) from None
    with _RotatingFile(folder / "log.log") as log, _RotatingFile(folder / "err.log") as errors:
        for line in told:
            stamp = datetime.now().isoformat(" ", "milliseconds")
            text = f"[{stamp}] [{line.logger}] [{line.level}] {line.text}\n"
            log.write(text)
            if line.level != "debug":
                stream.write(text)
            if _LEVELS.index(line.level) >= _LEVELS.index("error"):
                errors.write(text)
    stream.flush()


class _RotatingFile:
    """A file that makes room by passing its content on to the next older one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stream = path.open("ab")
        self._size = self._stream.tell()

    def write(self, text: str) -> None:
        content = text.encode()
        if self._size and self._size + len(content) > _LARGEST_BYTES:
            self._rotate()
        self._stream.write(content)
        self._size += len(content)

    def _rotate(self) -> None:
        self._stream.close()
        for age in range(_OLD_FILES, 0, -1):
            if self._aged(age - 1).exists():
                self._aged(age - 1).replace(self._aged(age))
        self._stream = self._path.open("wb")
        self._size = 0

    def _aged(self, age: int) -> Path:
        return self._path.with_suffix(f".{age}.log") if age else self._path

    def __enter__(self) -> "_RotatingFile":
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

"""Lines that ASTRA-sim prints about each NPU, without the words that its loggers put in front."""

from collections.abc import Iterable, Iterator

from simcore.formats.astra.log.statistics import LABELS, NpuStatistics
from simcore.formats.astra.result import AstraResult


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
    """What is said first about an NPU."""
    exposed = f"exposed communication {item.exposed_comm_ns} cycles."
    return f" finished, {item.finish_ns} cycles, {exposed}"


def statistics_lines(item: NpuStatistics, types: Iterable[str]) -> list[str]:
    """What is said next: times by type, in the order of *types*, overlap and roofline figures."""
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

"""A trace of a real step against the prediction: what each spends its time on."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from simcore.comparison.measured import MESSAGES, TracedStep, traced_step
from simcore.comparison.predicted import stage_slices
from simcore.comparison.work import WAITS, Slice, Work, spent_ns
from simcore.config import Run
from simcore.errors import ConfigError
from simcore.formats.pytorch.device import DeviceTrace, read_device_trace
from simcore.simulation import timeline_run


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Time of one kind of work, in ns.

    Attributes:
        kernels: Kernels in the trace, hidden ones too.
        nodes: Kernels, collectives and messages of the prediction, hidden ones too.
    """

    work: Work
    measured_ns: int
    predicted_ns: int
    kernels: int
    nodes: int

    @property
    def difference_ns(self) -> int:
        """Measured time over the predicted one."""
        return self.measured_ns - self.predicted_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceDifference:
    """A traced step beside a predicted iteration.

    Attributes:
        step: Which step of the trace, in words.
        stage: Pipeline stage of the prediction.
        measured_ns: Time of the step.
        predicted_ns: Iteration time.
        rows: Largest difference first; they sum to both times, and so do their differences.
        unknown: Names of kernels of no known kind, with their times in ns.
        notes: What to know of the alignment.
    """

    step: str
    stage: int
    measured_ns: int
    predicted_ns: int
    rows: tuple[Row, ...]
    unknown: tuple[tuple[str, int], ...]
    notes: tuple[str, ...]

    @property
    def difference_ns(self) -> int:
        """Measured time over the predicted one."""
        return self.measured_ns - self.predicted_ns


def compare_with_trace(
    run: Run, path: Path, *, step: int | None = None, stage: int | None = None
) -> TraceDifference:
    """Compare *run* with a trace of PyTorch's profiler (Kineto) of one of its ranks.

    At each instant an NPU does one thing: it computes, or else communicates, or else is idle. Both
    sides are counted so, by kind of kernel or collective and by pass.

    Args:
        run: The prediction.
        path: The trace, as JSON, packed or not.
        step: Number of an annotated step; None: the one of median length.
        stage: Pipeline stage that the rank belongs to; None: as its number says.

    Raises:
        ConfigError: The file is no such trace, there is no such step, or the stage is not known.
        InfeasibleError: The run cannot be simulated.
    """
    trace = read_device_trace(path)
    measured = traced_step(trace, str(path), step)
    at_stage = _stage(run, trace, stage)
    timeline = timeline_run(run)
    predicted = stage_slices(run, timeline.nodes, at_stage)
    predicted = [_told(one, measured) for one in predicted]
    return TraceDifference(
        step=measured.what,
        stage=at_stage,
        measured_ns=measured.end_ns,
        predicted_ns=timeline.time_ns,
        rows=_rows(measured, predicted, timeline.time_ns),
        unknown=tuple(measured.unknown),
        notes=tuple(_notes(run, trace, measured)),
    )


def _stage(run: Run, trace: DeviceTrace, stage: int | None) -> int:
    pp = run.plan.pp
    if stage is not None:
        if not 0 <= stage < pp:
            raise ConfigError("--stage", f"must be from 0 to {pp - 1}", got=stage)
        return stage
    if pp == 1:
        return 0
    if trace.rank is None or trace.world_size != run.plan.npus:
        rule = f"must be given: the trace is not of a rank of {run.plan.npus}, which would tell it"
        raise ConfigError("--stage", rule, got=None)
    return run.plan.stage_and_member(trace.rank)[0]


def _told(one: Slice, measured: TracedStep) -> Slice:
    """A predicted slice as the trace would tell of it."""
    if one.work.kind == "all-to-all" and not measured.names_all_to_alls:
        return one._replace(work=Work(MESSAGES), rank=WAITS)
    return one if measured.has_phases else one._replace(work=replace(one.work, phase=""))


def _rows(measured: TracedStep, predicted: Sequence[Slice], predicted_ns: int) -> tuple[Row, ...]:
    one = spent_ns(measured.slices, measured.begin_ns, measured.end_ns)
    two = spent_ns(predicted, 0, predicted_ns)
    nodes = Counter(slice_.work for slice_ in predicted)
    rows = [
        Row(
            work=work,
            measured_ns=one[work],
            predicted_ns=two[work],
            kernels=measured.kernels[work],
            nodes=nodes[work],
        )
        for work in {*one, *two, *measured.kernels, *nodes}
    ]
    return tuple(sorted(rows, key=lambda row: (-abs(row.difference_ns), row.work)))


def _notes(run: Run, trace: DeviceTrace, measured: TracedStep) -> list[str]:
    notes = []
    if trace.world_size not in (None, run.plan.npus):
        notes.append(f"the trace is of {trace.world_size} ranks, the run of {run.plan.npus} NPUs")
    if not measured.has_phases:
        notes.append("the trace has no events of a backward pass, so passes are not told apart")
    if not measured.names_all_to_alls:
        told = "the trace does not name all-to-alls, so they count as messages on both sides"
        notes.append(told)
    return notes

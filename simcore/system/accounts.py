"""What an executed iteration adds up to: time by what the NPUs did, FLOP and bytes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.hardware import Dimension
from simcore.kernels import graph_schedule
from simcore.system.collective_time import CollectiveTime
from simcore.system.engine_input import Ints
from simcore.system.executor import Execution
from simcore.system.lowering import Lowered, p2p_hop
from simcore.terms import NodeKind
from simcore.workload.graph import StageGraph, TrainingGraph
from simcore.workload.steady import RepeatingPart

Floats = NDArray[np.float64]

MATRIX_KERNELS = ("gemm", "attention")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Work:
    """Sums over the nodes of an iteration, or of a part of it.

    Attributes:
        nodes: Nodes, on one NPU per stage.
        matrix_flop: FLOP of matrix products and attention on one NPU of each stage, added up.
        sent_bytes: (D,) float64, bytes that one NPU sends in each dimension, mean over the stages.
        held_ns: (S,) int64, how long members of collectives may have waited, done with a phase,
            for its last member; 0 where all behave alike.
    """

    nodes: int
    matrix_flop: float
    sent_bytes: Floats
    held_ns: Ints

    def plus(self, times: int, other: "Work") -> "Work":
        """This and *times* the *other*."""
        return Work(
            nodes=self.nodes + times * other.nodes,
            matrix_flop=self.matrix_flop + times * other.matrix_flop,
            sent_bytes=self.sent_bytes + times * other.sent_bytes,
            held_ns=self.held_ns + times * other.held_ns,
        )


def count_work(
    graph: TrainingGraph,
    dimensions: Sequence[Dimension],
    times: Sequence[CollectiveTime | None],
    parts: Sequence[RepeatingPart] | None = None,
) -> Work:
    """Add up all nodes of *graph*, or with *parts* one period of each stage's repeating part."""
    flop_of = np.array(
        [
            sum(kernel.flop for kernel in operator.kernels if kernel.kind in MATRIX_KERNELS)
            for operator in graph.operators
        ]
    )
    sent_of = np.array(
        [time.sent_bytes if time else (0.0,) * len(dimensions) for time in times]
    ).reshape(len(times), len(dimensions))
    held_by = np.array([time.held_ns if time else 0 for time in times], np.int64)
    nodes, flop, sent = 0, 0.0, np.zeros(len(dimensions))
    held = np.zeros(len(graph.stages), np.int64)
    for stage in graph.stages:
        part = parts[stage.stage] if parts else None
        span = slice(part.begin, part.begin + part.period) if part else slice(None)
        kind, item = stage.kind[span], stage.item[span]
        nodes += kind.size
        runs = np.bincount(item[kind == NodeKind.COMPUTE], minlength=flop_of.size)
        flop += float(runs @ flop_of)
        runs = np.bincount(item[kind == NodeKind.COLLECTIVE], minlength=len(times))
        sent += runs @ sent_of
        held[stage.stage] = runs @ held_by
        _add_messages(graph, stage, span, dimensions, sent)
    return Work(nodes=nodes, matrix_flop=flop, sent_bytes=sent / len(graph.stages), held_ns=held)


def _add_messages(
    graph: TrainingGraph,
    stage: StageGraph,
    span: slice,
    dimensions: Sequence[Dimension],
    sent: Floats,
) -> None:
    stride = graph.plan.npus_per_stage
    sends = stage.kind[span] == NodeKind.SEND
    peers, sizes = stage.peer_stage[span][sends], stage.size_bytes[span][sends]
    for peer in np.unique(peers).tolist():
        index, _ = p2p_hop(dimensions, stage.stage * stride, peer * stride)
        sent[index] += float(sizes[peers == peer].sum())


def book(lowered: Lowered, execution: Execution, begin_ns: int, end_ns: int) -> Ints:
    """Time by what each stage's NPU did between two moments.

    Returns:
        (S, C + 1) int64 ns: compute first, then communication that no compute hides, then idle.
    """
    stages, categories = lowered.stage_start.size - 1, len(lowered.categories)
    booked = np.zeros((stages, categories + 1), np.int64)
    start = np.clip(_after_all_have_started(lowered, execution.start_ns), begin_ns, end_ns)
    end = np.clip(execution.end_ns, begin_ns, end_ns)
    for stage in range(stages):
        nodes = slice(lowered.stage_start[stage], lowered.stage_start[stage + 1])
        kind = lowered.node[nodes, graph_schedule.KIND]
        category = lowered.node[nodes, graph_schedule.CATEGORY]
        computes = kind == graph_schedule.COMPUTE
        row = np.zeros(categories, np.int64)
        np.add.at(row, category[computes], (end[nodes] - start[nodes])[computes])
        communicates = ~computes & (kind != graph_schedule.RECV)
        computed = _Computed(start[nodes][computes], end[nodes][computes])
        first, last = start[nodes][communicates], end[nodes][communicates]
        exposed = last - first - (computed.until(last) - computed.until(first))
        np.add.at(row, category[communicates], exposed)
        booked[stage, :-1] = row
        booked[stage, -1] = end_ns - begin_ns - row.sum()
    return booked


def _after_all_have_started(lowered: Lowered, start_ns: Ints) -> Ints:
    """Start of each node; of a shared collective, the start of its last member."""
    start = start_ns.copy()
    for collective in lowered.shared:
        nodes = list(collective.nodes)
        start[nodes] = start_ns[nodes].max()
    return start


class _Computed:
    """How long an NPU has computed up to a time; its compute nodes do not overlap."""

    def __init__(self, start: Ints, end: Ints) -> None:
        order = np.lexsort((end, start))
        self._start, self._end = start[order], end[order]
        self._before = np.concatenate([[0], np.cumsum(self._end - self._start)])

    def until(self, time: Ints) -> Ints:
        begun = np.searchsorted(self._start, time, side="right")
        last_end = self._end[begun - 1] if self._end.size else time
        running = np.where(begun > 0, np.maximum(last_end - time, 0), 0)
        return np.asarray(self._before[begun] - running, np.int64)

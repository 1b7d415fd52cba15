"""What an iteration adds up to, and the time by what NPUs did, counted again from its nodes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.hardware import Dimension
from simcore.kernels import graph_schedule
from simcore.system.collective_time import CollectiveTime
from simcore.system.engine_input import Ints
from simcore.system.lowering import Lowered
from simcore.system.node_counts import NodeCounts

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Work:
    """Sums over the nodes of an iteration.

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


def count_work(
    counts: NodeCounts,
    dimensions: Sequence[Dimension],
    times: Sequence[CollectiveTime | None],
    message_dimensions: Ints,
) -> Work:
    """Add up all nodes.

    Args:
        counts: How often each stage does what.
        dimensions: Of the network.
        times: Of each collective; None where its members are at several stages.
        message_dimensions: (2, S) int64, dimension of the messages from each stage to the next one
            and to the one before.
    """
    stages = counts.collectives.shape[0]
    sent = np.bincount(
        message_dimensions.ravel(),
        weights=(counts.messages * counts.message_bytes).ravel(),
        minlength=len(dimensions),
    )
    held = np.zeros(stages, np.int64)
    if times:
        nothing = (0.0,) * len(dimensions)
        sent_of = np.array([time.sent_bytes if time else nothing for time in times])
        sent = sent + counts.collectives.sum(axis=0) @ sent_of
        held = counts.collectives @ np.array([time.held_ns if time else 0 for time in times])
    return Work(
        nodes=counts.nodes,
        matrix_flop=counts.matrix_flop,
        sent_bytes=sent / stages,
        held_ns=held,
    )


def book(lowered: Lowered, start_ns: Ints, end_ns: Ints) -> Ints:
    """Time by what each stage's NPU did, from when each node ran.

    Returns:
        (S, C + 1) int64 ns: compute first, then communication that no compute hides, then idle.
    """
    stages, categories = lowered.stage_start.size - 1, len(lowered.categories)
    booked = np.zeros((stages, categories + 1), np.int64)
    begin_ns = _after_all_have_started(lowered, start_ns)
    for stage in range(stages):
        nodes = slice(lowered.stage_start[stage], lowered.stage_start[stage + 1])
        start, end = begin_ns[nodes], end_ns[nodes]
        kind = lowered.node[nodes, graph_schedule.KIND]
        category = lowered.node[nodes, graph_schedule.CATEGORY]
        computes = kind == graph_schedule.COMPUTE
        row = np.zeros(categories, np.int64)
        np.add.at(row, category[computes], (end - start)[computes])
        communicates = ~computes & (kind != graph_schedule.RECV)
        computed = _Computed(start[computes], end[computes])
        first, last = start[communicates], end[communicates]
        exposed = last - first - (computed.until(last) - computed.until(first))
        np.add.at(row, category[communicates], exposed)
        booked[stage, :-1] = row
        booked[stage, -1] = end_ns.max() - row.sum()
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

"""Executes one iteration on the unfolded engine: every NPU on its own, every message.

For designs in which the members of a collective do not end together (``collective_end: each``).
"""

import numpy as np
from numpy.typing import NDArray

from simcore.errors import ConfigError, SimulationError
from simcore.kernels import graph_schedule
from simcore.system.engine_input import EngineInput, Ints
from simcore.system.executor import Execution
from simcore.system.lowering import Lowered
from simcore.system.unfolded import run_unfolded
from simcore.workload.graph import TrainingGraph

MAX_NODES = 20_000_000


def execute_each(graph: TrainingGraph, lowered: Lowered, inputs: EngineInput) -> Execution:
    """Run the programs of all NPUs; each stage is told by its NPU that ends last.

    Raises:
        ConfigError: There are more nodes on all NPUs together than fit this engine.
        SimulationError: The NPUs wait for each other for ever; names the nodes.
    """
    nodes = lowered.node.shape[0] * graph.plan.npus_per_stage
    if nodes > MAX_NODES:
        rule = f"each needs at most {MAX_NODES} nodes on all NPUs, and here are {nodes}"
        raise ConfigError("system.collective_end", f"{rule}; use together", got="each")
    output = run_unfolded(inputs)
    if output.waiting:
        raise SimulationError("; ".join(output.waiting[:4]))
    stride = graph.plan.npus_per_stage
    finish = output.finish_ns.reshape(-1, stride)
    slowest = finish.argmax(axis=1) + np.arange(finish.shape[0]) * stride
    start = np.concatenate([output.node_start_ns[npu] for npu in slowest.tolist()])
    end = np.concatenate([output.node_end_ns[npu] for npu in slowest.tolist()])
    return Execution(
        start_ns=start,
        end_ns=end,
        finish_ns=finish.max(axis=1),
        booked_ns=_book(lowered, start, end),
        events=output.events,
    )


def _book(lowered: Lowered, start: Ints, end: Ints) -> Ints:
    """(S, C + 1) int64: compute first, then communication that no compute hides, then idle."""
    stages, categories = lowered.stage_start.size - 1, len(lowered.categories)
    booked = np.zeros((stages, categories + 1), np.int64)
    total = int(end.max())
    begin = _after_all_have_started(lowered, start)
    for stage in range(stages):
        nodes = slice(lowered.stage_start[stage], lowered.stage_start[stage + 1])
        kind = lowered.node[nodes, graph_schedule.KIND]
        category = lowered.node[nodes, graph_schedule.CATEGORY]
        computes = kind == graph_schedule.COMPUTE
        row = np.zeros(categories, np.int64)
        np.add.at(row, category[computes], (end[nodes] - start[nodes])[computes])
        communicates = ~computes & (kind != graph_schedule.RECV)
        computed = _Computed(start[nodes][computes], end[nodes][computes])
        first, last = begin[nodes][communicates], end[nodes][communicates]
        exposed = last - first - (computed.until(last) - computed.until(first))
        np.add.at(row, category[communicates], exposed)
        booked[stage, :-1] = row
        booked[stage, -1] = total - row.sum()
    return booked


def _after_all_have_started(lowered: Lowered, start: Ints) -> Ints:
    """Start of each node; of a shared collective, the start of its last member."""
    begin = start.copy()
    for collective in lowered.shared:
        nodes = list(collective.nodes)
        begin[nodes] = start[nodes].max()
    return begin


class _Computed:
    """How long an NPU has computed up to a time; its compute nodes do not overlap."""

    def __init__(self, start: Ints, end: Ints) -> None:
        order = np.argsort(start, kind="stable")
        self._start, self._end = start[order], end[order]
        self._before = np.concatenate([[0], np.cumsum(self._end - self._start)])

    def until(self, time: NDArray[np.int64]) -> NDArray[np.int64]:
        begun = np.searchsorted(self._start, time, side="right")
        last_end = self._end[begun - 1] if self._end.size else time
        running = np.where(begun > 0, np.maximum(last_end - time, 0), 0)
        return np.asarray(self._before[begun] - running, np.int64)

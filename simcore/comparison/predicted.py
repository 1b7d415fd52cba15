"""Work of a simulated iteration, by kinds that a trace of a real one can tell apart."""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

import numpy as np

from simcore.comparison.work import COMMUNICATES, COMPUTES, WAITS, Slice, Work
from simcore.compute import COMPUTE_MODELS
from simcore.config import Run
from simcore.engines.classes.run import NodeTimes
from simcore.terms import CollectiveKind, NodeKind
from simcore.units import plain_sum
from simcore.workload.graph import Operator, PassPhase

_KINDS = {"gemm": "products", "host": "lookups in host memory"}
_PHASES = {
    PassPhase.FORWARD: "forward",
    PassPhase.OPTIMIZER: "optimizer",
}


def stage_slices(run: Run, nodes: NodeTimes, stage: int) -> list[Slice]:
    """Slices of one NPU of *stage*.

    An operator's time is parted among its kernels as their times by themselves are. A receive
    waits from when it is posted, as a kernel of NCCL does. What is repeated for the backward pass,
    and the reduction of gradients, belong to the backward pass.
    """
    graph, first = nodes.graph, sum(one.nodes for one in nodes.graph.stages[:stage])
    of_stage = graph.stages[stage]
    own = slice(first, first + of_stage.nodes)
    collectives = [
        Work(CollectiveKind(one.kind).name.lower().replace("_", "-"), _phase(one.phase))
        for one in graph.collectives
    ]
    shares = [_shares(run, one) for one in graph.operators]
    columns = (of_stage.kind, of_stage.item, nodes.execution.start_ns[own])
    rows = zip(
        *(np.asarray(column).tolist() for column in (*columns, nodes.execution.end_ns[own])),
        strict=True,
    )
    found: list[Slice] = []
    for kind, item, start, end in rows:
        if kind == NodeKind.COMPUTE:
            found += _kernels(shares[item], start, end)
        elif kind == NodeKind.COLLECTIVE:
            found.append(Slice(start, end, COMMUNICATES, collectives[item]))
        else:
            found.append(Slice(start, end, WAITS, Work("messages")))
    return found


def _phase(phase: PassPhase) -> str:
    return _PHASES.get(phase, "backward")


def _shares(run: Run, operator: Operator) -> Sequence[tuple[float, float, Work]]:
    """Begin and end of each kernel within its operator, from 0 to 1, and its work."""
    model, precision = COMPUTE_MODELS[run.compute](), run.workload.precision
    npu = run.platform.npu
    times = [model.kernel_time_ns(kernel, npu, precision) for kernel in operator.kernels]
    whole, ends = plain_sum(times) or 1, list(accumulate(times, initial=0))
    return [
        (low / whole, high / whole, Work(_KINDS.get(kernel.kind, kernel.kind), phase))
        for kernel, (low, high), phase in zip(
            operator.kernels, pairwise(ends), [_phase(operator.phase)] * len(times), strict=True
        )
    ]


def _kernels(shares: Sequence[tuple[float, float, Work]], start: int, end: int) -> Iterator[Slice]:
    for low, high, work in shares:
        begin, stop = (start + round(part * (end - start)) for part in (low, high))
        yield Slice(begin, stop, COMPUTES, work)

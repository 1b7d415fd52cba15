"""The least time that computing alone takes, without looking at stages one by one.

The stages of a pipeline share the operators of all layers, so that the sum of their times per
micro-batch is that of one stage with all layers. Stage s starts after the forward passes of the
stages before it and ends before their backward passes: with c_r the time of stage r per micro-batch
and m micro-batches, no iteration is shorter than ``sum over r < s of c_r + m c_s``. However the
layers are divided among p stages, one of these is at least ``sum of c / (1 - (1 - 1/m)^p)``.
"""

from dataclasses import dataclass, field

import numpy as np

from simcore.compute import COMPUTE_MODELS
from simcore.config import Run
from simcore.errors import InfeasibleError
from simcore.system.machine_times import operator_times_ns
from simcore.terms import NodeKind
from simcore.workload import ParallelPlan, Updates, Workload, build_graph, microbatches


@dataclass(slots=True, eq=False)
class WorkFloor:
    """Floors of plans; what plans with equal operators have in common is worked out once."""

    _known: dict[str, float] = field(default_factory=dict)

    def time_ns(self, run: Run) -> float:
        """Lower bound of the iteration time of *run*.

        Raises:
            InfeasibleError: The plan does not fit the workload.
        """
        workload, plan, batches = run.workload, run.plan, microbatches(run.workload, run.plan)
        slots = run.system.profile.compute_slots
        per_batch_ns = self._all_layers_ns(run) / (slots * workload.gained_tokens)
        if plan.interleave > 1 or workload.fills_pipeline:
            return per_batch_ns * batches / plan.pp
        return float(per_batch_ns / (1 - (1 - 1 / batches) ** plan.pp))

    def _all_layers_ns(self, run: Run) -> float:
        """Time of all operators of one micro-batch, all layers on one stage."""
        plan, workload = _on_one_stage(run.plan, run.workload)
        key = f"{plan!r} {workload!r} {run.platform.npu!r} {run.compute}"
        if key not in self._known:
            self._known[key] = _work_ns(run, plan, workload)
        return self._known[key]


def _on_one_stage(plan: ParallelPlan, workload: Workload) -> tuple[ParallelPlan, Workload]:
    changes = {
        "pp": 1, "interleave": 1, "interleave_group": None, "dp": plan.ep, "shard": None,
        "zero_stage": 0, "scatter_each": True,
        "chunk_layers": (), "overlap_gradients": False, "overlap_weights": False,
        "bucket_bytes": None, "updates": Updates(),
    }  # fmt: skip
    return plan.model_copy(update=changes), workload.with_batch(plan.ep * plan.micro_batch)


def _work_ns(run: Run, plan: ParallelPlan, workload: Workload) -> float:
    try:
        graph = build_graph(workload, plan)
    except InfeasibleError:
        return 0.0
    npu, compute = run.platform.npu, COMPUTE_MODELS[run.compute]()
    times_ns = operator_times_ns(graph.operators, npu, workload.precision, compute)
    stage = graph.stages[0]
    units = slice(stage.unit_start[0], stage.unit_start[-1])  # the last one is the optimizer step
    operators = stage.item[units][stage.kind[units] == NodeKind.COMPUTE]
    return float(np.asarray(times_ns)[operators].sum())

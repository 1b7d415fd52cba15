"""The least time that computing alone takes, from the layers of the model and how they are divided.

The graph of one stage with all layers gives the time of each layer. With f and b the times of a
micro-batch's forward and backward pass through a chunk of a stage, no stage starts before the
first micro-batch has passed the first chunks of the stages before it; after its last backward pass,
whichever chunk that is of, these stages have theirs. With m micro-batches no iteration is shorter
than ``sum over r < s of (f of the first chunk + least b of r) + m x all f and b of s``. Of
schedules that compute weight gradients apart, what comes after the last unit of a stage is not
counted: it may be nothing but weight gradients, which no other stage waits for.
"""

from dataclasses import dataclass, field
from operator import attrgetter
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from simcore.compute import COMPUTE_MODELS
from simcore.config import Run
from simcore.engines.stages.times import operator_times_ns
from simcore.errors import InfeasibleError
from simcore.machine import Npu
from simcore.memo import Memo, key_of
from simcore.terms import NodeKind
from simcore.workload import ParallelPlan, Updates, Workload, microbatches
from simcore.workload.offload import Offload
from simcore.workload.program.write import TrainingProgram, expand_program, write_program
from simcore.workload.rules import check_splits
from simcore.workload.schedules import SCHEDULES
from simcore.workload.spans import chunk_spans

Floats = NDArray[np.float64]

T = TypeVar("T")


NOT_WORK = ("plan.overlap_gradients", "plan.bucket", "plan.bucket_bytes")
"""Paths that say when gradients are sent: no operator and no rule of plans depends on them."""

_Key = tuple[object, ...]


@dataclass(slots=True, eq=False)
class WorkFloor:
    """Floors of plans; what plans with equal operators have in common is worked out once.

    Attributes:
        memo: What is known of the programs of plans.
    """

    memo: Memo = field(default_factory=Memo)
    _npus: list[Npu] = field(default_factory=list)
    _workloads: list[Workload] = field(default_factory=list)
    _layers: dict[_Key, Floats] = field(default_factory=dict)
    _stages: dict[_Key, tuple[Floats, Floats]] = field(default_factory=dict)

    @classmethod
    def known_to(cls, memo: Memo) -> Self:
        """The floors of all that share *memo*."""
        return memo.of("floors of plans", "", lambda: cls(memo))

    def key(self, run: Run) -> _Key:
        """Key of all that the work of *run* depends on, whatever its network."""
        npu = _number(run.platform.npu, self._npus)  # of these floors alone
        return self, key_of(run.workload, run.plan), npu, run.compute

    def time_ns(self, run: Run) -> float:
        """Lower bound of the iteration time of *run*.

        Raises:
            InfeasibleError: The plan does not fit the workload.
        """
        workload, plan = run.workload, run.plan
        check_splits(workload, plan)
        batch_ns, first_ns = self._stages_ns(run)
        each_ns = microbatches(workload, plan) * batch_ns
        if not workload.fills_pipeline:
            each_ns += first_ns
        slots = run.system.profile.compute_slots
        return float(each_ns.max() / (slots * workload.gained_tokens))

    def _stages_ns(self, run: Run) -> tuple[Floats, Floats]:
        """Times of a micro-batch on each stage, and of the first one on the stages before."""
        layers = (
            _of_a_layer(run.plan),
            _number(run.workload, self._workloads),
            _number(run.platform.npu, self._npus),
            run.compute,
        )
        key = layers, run.plan.pp, run.plan.interleave, run.plan.chunk_layers  # and its schedule
        if key not in self._stages:
            passes_ns = self._passes_ns(run, layers)
            first_ns = passes_ns[0, 0]
            if not SCHEDULES[run.plan.schedule].splits_backward:
                first_ns = first_ns + passes_ns[1].min(axis=0)
            before_ns = np.concatenate([np.zeros(1), first_ns[:-1].cumsum()])
            self._stages[key] = passes_ns.sum(axis=(0, 1)), before_ns
        return self._stages[key]

    def _passes_ns(self, run: Run, layers: _Key) -> Floats:
        """(2, chunks, stages) times of a micro-batch's forward and backward passes."""
        if layers not in self._layers:
            self._layers[layers] = _until_layer_ns(run, self.memo)
        ends = [span.stop for span in chunk_spans(run.workload, run.plan)]
        until_ns = self._layers[layers][:, [0, *ends]]
        passes_ns = np.diff(until_ns).reshape(2, run.plan.interleave, run.plan.pp)
        if run.plan.mirrors:
            passes_ns[:, 1] = passes_ns[:, 1, ::-1]
        return passes_ns


_ONE_STAGE: dict[str, object] = {
    "pp": 1, "interleave": 1, "interleave_group": None, "shard": None,
    "zero_stage": 0, "scatter_each": True,
    "chunk_layers": (), "overlap_gradients": False, "overlap_weights": False,
    "bucket_bytes": None, "updates": Updates(), "offload": Offload(),
}  # fmt: skip
"""Values of a plan of one stage in place of fields that no operator of a layer depends on."""

_of_a_layer = attrgetter(
    *(name for name in ParallelPlan.model_fields if name not in _ONE_STAGE and name != "dp")
)
"""All else of a plan."""


def _on_one_stage(plan: ParallelPlan, workload: Workload) -> tuple[ParallelPlan, Workload]:
    alone = plan.model_copy(update={**_ONE_STAGE, "dp": plan.ep})
    if SCHEDULES[plan.schedule].splits_backward:  # the same operators, if at other times
        alone = alone.model_copy(update={"schedule": "1f1b"})
    return alone, workload.with_batch(plan.ep * plan.micro_batch)


def _number(one: T, known: list[T]) -> int:
    """Position of *one* in *known*, which it joins."""
    if one not in known:
        known.append(one)
    at = known.index(one)
    known[at] = one  # the next one is mostly this very object, which is told at once
    return at


def _until_layer_ns(run: Run, memo: Memo) -> Floats:
    """(2, layers + 1) times of the forward and of the backward pass through the first layers."""
    plan, workload = _on_one_stage(run.plan, run.workload)
    until_ns = np.zeros((2, workload.model.layers + 1))
    try:
        program = write_program(workload, plan, memo)
    except InfeasibleError:
        return until_ns
    model, npu = COMPUTE_MODELS[run.compute](), run.platform.npu
    operator_ns = np.asarray(operator_times_ns(program.operators, npu, workload.precision, model))
    key = program.layout, program.pipeline  # all that tells which operator is where
    for unit, (layer, item) in enumerate(
        memo.of("operators of layers", key, lambda: _layers(program))
    ):
        until_ns[unit, 1:] = np.bincount(layer, operator_ns[item], workload.model.layers)
    return until_ns.cumsum(axis=1)


def _layers(program: TrainingProgram) -> list[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """Layer and operator of each compute node, of the one forward and of the one backward pass."""
    stage, layers = expand_program(program).stages[0], program.whole.model.layers
    found = []
    for unit in range(stage.unit_start.size - 1):
        nodes = np.arange(stage.unit_start[unit], stage.unit_start[unit + 1])
        nodes = nodes[stage.kind[nodes] == NodeKind.COMPUTE]
        found.append((_served(stage.layer[nodes], layers, is_backward=unit > 0), stage.item[nodes]))
    return found


def _served(layer: NDArray[np.int32], layers: int, *, is_backward: bool) -> NDArray[np.int32]:
    """The layer on whose stage each node of a pass is: before and after all layers, at the ends."""
    (inside,) = np.nonzero(layer >= 0)
    first, last = (layers - 1, 0) if is_backward else (0, layers - 1)
    served = layer.copy()
    served[: inside[0]] = first
    served[inside[-1] :] = last
    return served

"""The job: model and batch; and whether a plan can carry it."""

from collections.abc import Iterator

from pydantic import Field

from simcore.errors import InfeasibleError
from simcore.schema import Schema
from simcore.terms import Precision
from simcore.workload.model import Model
from simcore.workload.plan import ParallelPlan
from simcore.workload.schedules import SCHEDULES


class TrainingWorkload(Schema):
    """One training iteration of a model.

    Attributes:
        sequence: Tokens per sequence.
        global_batch: Sequences per iteration, over all NPUs.
        precision: Number format of the matrix products. Weights, activations and messages are
            stored in 4 bytes with fp32 and in 2 otherwise: fp8 and fp4 are formats of the
            operands inside a product (as in Transformer Engine recipes).
    """

    model: Model
    sequence: int = Field(ge=1)
    global_batch: int = Field(ge=1)
    precision: Precision = Precision.BF16

    @property
    def tokens(self) -> int:
        """Tokens per iteration."""
        return self.global_batch * self.sequence

    @property
    def element_bytes(self) -> int:
        """Bytes of one stored weight or activation."""
        return 4 if self.precision is Precision.FP32 else 2


def microbatches(workload: TrainingWorkload, plan: ParallelPlan) -> int:
    """Micro-batches per iteration on each data parallel rank."""
    return workload.global_batch // (plan.dp * plan.micro_batch)


def stage_layers(layers: int, stages: int) -> tuple[range, ...]:
    """Layers of each stage; where *stages* does not divide *layers*, early ones hold one more."""
    share, more = divmod(layers, stages)
    starts = [stage * share + min(stage, more) for stage in range(stages + 1)]
    return tuple(range(starts[stage], starts[stage + 1]) for stage in range(stages))


def check_plan(workload: TrainingWorkload, plan: ParallelPlan, npus: int) -> None:
    """Check that *plan* can spread *workload* over *npus* NPUs.

    Raises:
        InfeasibleError: The first rule that is broken, with its name.
    """
    if plan.npus != npus:
        reason = f"tp x cp x pp x dp is {plan.npus}, but the platform has {npus} NPUs"
        raise InfeasibleError("splits_match_npus", reason)
    check_splits(workload, plan)


def check_splits(workload: TrainingWorkload, plan: ParallelPlan) -> None:
    """Check everything about *plan* that does not depend on the platform.

    Raises:
        InfeasibleError: The first rule that is broken, with its name.
    """
    for fits, rule, reason in _rules(workload, plan):
        if not fits:
            raise InfeasibleError(rule, reason)


def _rules(workload: TrainingWorkload, plan: ParallelPlan) -> Iterator[tuple[bool, str, str]]:
    model, tp, cp = workload.model, plan.tp, plan.cp
    yield (
        model.heads % tp == 0,
        "heads_divide_by_tp",
        f"{model.heads} heads do not divide by tp = {tp}",
    )
    groups = model.key_value_heads  # fewer than tp: each is held by tp / groups NPUs
    yield (
        groups % tp == 0 or tp % groups == 0,
        "kv_heads_divide_by_tp",
        f"{groups} key-value heads neither divide by tp = {tp} nor divide it",
    )
    yield model.ffn % tp == 0, "ffn_divides_by_tp", f"ffn {model.ffn} does not divide by tp = {tp}"
    yield (
        workload.global_batch % (plan.dp * plan.micro_batch) == 0,
        "batch_divides",
        f"global batch {workload.global_batch} does not divide by dp x micro_batch = "
        f"{plan.dp} x {plan.micro_batch}",
    )
    yield (
        plan.pp * plan.interleave <= model.layers,
        "layers_cover_pp",
        f"{model.layers} layers are fewer than pp x interleave = {plan.pp} x {plan.interleave}",
    )
    yield from _interleave_rules(plan, microbatches(workload, plan))
    parts = cp * (tp if plan.splits_sequence else 1)
    yield (
        workload.sequence % parts == 0,
        "sequence_divides",
        f"sequence {workload.sequence} does not divide into {parts} parts (cp x tp)",
    )
    yield (
        cp == 1 or workload.sequence % (2 * cp) == 0,
        "sequence_divides_by_cp",
        f"sequence {workload.sequence} does not divide into 2 x cp = {2 * cp} chunks",
    )


def _interleave_rules(plan: ParallelPlan, batches: int) -> Iterator[tuple[bool, str, str]]:
    if plan.interleave == 1:
        return
    yield plan.pp > 1, "interleave_needs_pp", "interleave above 1 needs pp above 1"
    yield (
        batches % plan.pp == 0,
        "microbatches_divide_by_pp",
        f"{batches} micro-batches do not divide by pp = {plan.pp}, as interleave needs",
    )
    able = [name for name, schedule in SCHEDULES.items() if schedule.interleaves]
    yield (
        plan.schedule in able,
        "schedule_interleaves",
        f"schedule {plan.schedule} takes interleave 1 only; others: {', '.join(able)}",
    )

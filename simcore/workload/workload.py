"""The job: model and batch; and whether a plan can carry it."""

from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import Literal

from pydantic import Field

from simcore.errors import InfeasibleError
from simcore.schema import Schema
from simcore.terms import Precision
from simcore.workload.expert_load import ExpertLoad
from simcore.workload.model import Model
from simcore.workload.plan import AXIS_ORDER, ParallelPlan
from simcore.workload.schedules import SCHEDULES


class TrainingWorkload(Schema):
    """One training iteration of a model.

    Attributes:
        sequence: Tokens per sequence.
        global_batch: Sequences per iteration, over all NPUs.
        precision: Number format of the matrix products. Weights, activations and messages are
            stored in 4 bytes with fp32 and in 2 otherwise: fp8 and fp4 are formats of the
            operands inside a product (as in Transformer Engine recipes).
        weight_format: In which weights are stored and gathered; by default as activations.
        gradient_format: In which gradients are summed and kept.
        dispatch_format: In which tokens travel to routed experts; by default as activations.
        expert_load: How evenly the tokens spread over the routed experts.
    """

    model: Model
    sequence: int = Field(ge=1)
    global_batch: int = Field(ge=1)
    precision: Precision = Precision.BF16
    weight_format: Precision | None = None
    gradient_format: Literal["fp32", "bf16", "fp16"] = "fp32"
    dispatch_format: Precision | None = None
    expert_load: ExpertLoad = Field(default_factory=ExpertLoad)

    @property
    def tokens(self) -> int:
        """Tokens per iteration."""
        return self.global_batch * self.sequence

    @property
    def element_bytes(self) -> int:
        """Bytes of one stored weight or activation."""
        return 4 if self.precision is Precision.FP32 else 2

    @property
    def weight_bytes(self) -> float:
        """Bytes of one stored weight."""
        return self.weight_format.bytes if self.weight_format else self.element_bytes

    @property
    def gradient_bytes(self) -> int:
        """Bytes of one summed gradient."""
        return int(Precision(self.gradient_format).bytes)

    @property
    def dispatch_bytes(self) -> float:
        """Bytes of one number of a token on its way to the experts."""
        return self.dispatch_format.bytes if self.dispatch_format else self.element_bytes


def microbatches(workload: TrainingWorkload, plan: ParallelPlan) -> int:
    """Micro-batches per iteration on each data parallel rank."""
    return workload.global_batch // (plan.dp * plan.micro_batch)


def stage_layers(layers: int, stages: int) -> tuple[range, ...]:
    """Layers of each stage; where *stages* does not divide *layers*, early ones hold one more."""
    share, more = divmod(layers, stages)
    starts = [stage * share + min(stage, more) for stage in range(stages + 1)]
    return tuple(range(starts[stage], starts[stage + 1]) for stage in range(stages))


def chunk_spans(workload: TrainingWorkload, plan: ParallelPlan) -> tuple[range, ...]:
    """Layers of each chunk of the model; stage r holds the chunks r, r + pp, ..."""
    if not plan.chunk_layers:
        return stage_layers(workload.model.layers, plan.pp * plan.interleave)
    ends = list(accumulate(plan.chunk_layers, initial=0))
    return tuple(range(start, end) for start, end in pairwise(ends))


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
    yield from _choice_rules(model, plan)
    yield from _expert_rules(workload, plan)
    yield from _mamba_rules(model, plan)
    yield from _split_rules(plan)
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


def _choice_rules(model: Model, plan: ParallelPlan) -> Iterator[tuple[bool, str, str]]:
    if plan.chunk_layers:
        chunks, given = plan.pp * plan.interleave, plan.chunk_layers
        yield (
            len(given) == chunks and sum(given) == model.layers,
            "chunk_layers_match",
            f"chunk_layers gives {sum(given)} layers in {len(given)} chunks, but the plan has "
            f"{model.layers} layers in pp x interleave = {chunks} chunks",
        )
    if plan.shard:
        yield (
            plan.gradient_replicas % plan.shard == 0,
            "shards_divide_replicas",
            f"dp x cp = {plan.gradient_replicas} does not divide by shard = {plan.shard}",
        )
    if plan.cp > 1:
        yield from _context_rules(model, plan)
    if plan.order != AXIS_ORDER:
        yield from _order_rules(plan)
    yield (
        plan.recompute == "full" or (plan.recompute_layers is None and plan.recompute_every == 1),
        "recompute_is_full",
        "recompute_layers and recompute_every need recompute: full",
    )


def _context_rules(model: Model, plan: ParallelPlan) -> Iterator[tuple[bool, str, str]]:
    yield (
        plan.cp_kind != "ring" or plan.flash_attention,
        "ring_needs_flash_attention",
        "cp_kind ring needs flash_attention, which works block by block",
    )
    heads, groups = model.heads // plan.tp, max(1, model.key_value_heads // plan.tp)
    yield (
        plan.cp_kind != "ulysses" or heads % plan.cp == 0,
        "heads_divide_by_cp",
        f"{heads} heads per NPU of a tp group do not divide by cp = {plan.cp}, as ulysses needs",
    )
    yield (
        plan.cp_kind != "ulysses" or groups % plan.cp == 0 or plan.cp % groups == 0,
        "kv_heads_divide_by_cp",
        f"{groups} key-value heads neither divide by cp = {plan.cp} nor divide it",
    )


def _order_rules(plan: ParallelPlan) -> Iterator[tuple[bool, str, str]]:
    strides, order = plan.strides, ", ".join(plan.order)
    together = {strides["cp"] * plan.cp == strides["dp"], strides["dp"] * plan.dp == strides["cp"]}
    yield (
        plan.cp == 1 or plan.dp == 1 or True in together,
        "order_joins_replicas",
        f"order {order} puts another axis between cp and dp, whose NPUs add up gradients together",
    )


def _expert_rules(
    workload: TrainingWorkload, plan: ParallelPlan
) -> Iterator[tuple[bool, str, str]]:
    experts, ep, etp = workload.model.experts, plan.ep, plan.expert_tp
    if experts is None:
        yield ep == 1 and plan.etp is None, "experts_exist", "ep and etp need a model with experts"
        return
    yield (
        experts.count % ep == 0,
        "experts_divide_by_ep",
        f"{experts.count} experts do not divide by ep = {ep}",
    )
    yield (
        plan.npus_per_stage % (ep * etp) == 0,
        "expert_groups_fill_stage",
        f"tp x cp x dp = {plan.npus_per_stage} does not divide by etp x ep = {etp} x {ep}",
    )
    yield (
        plan.expert_strides["pp"] == plan.strides["pp"],
        "order_places_experts",
        f"order {', '.join(plan.order)} gives the stages of experts other NPUs than those of dense "
        "layers",
    )
    yield (
        experts.ffn % etp == 0,
        "expert_ffn_divides_by_etp",
        f"ffn {experts.ffn} of an expert does not divide by etp = {etp}",
    )
    yield (
        experts.shared_ffn % plan.tp == 0,
        "shared_ffn_divides_by_tp",
        f"ffn {experts.shared_ffn} of the shared experts does not divide by tp = {plan.tp}",
    )
    yield (
        plan.tp == 1 or plan.sequence_parallel,
        "experts_need_sequence_parallel",
        "with tp above 1, routed experts need sequence_parallel",
    )
    shares = len(workload.expert_load.shares)
    yield (
        shares in (0, experts.count),
        "shares_match_experts",
        f"expert_load gives {shares} shares for {experts.count} experts",
    )


def _mamba_rules(model: Model, plan: ParallelPlan) -> Iterator[tuple[bool, str, str]]:
    if model.mamba is None:
        return
    heads, groups, parts = model.mamba.heads, model.mamba.groups, plan.tp * plan.cp
    yield (
        heads % parts == 0,
        "mamba_heads_divide",
        f"{heads} mamba heads do not divide by tp x cp = {parts}",
    )
    yield (
        groups % parts == 0 or parts % groups == 0,
        "mamba_groups_divide",
        f"{groups} mamba groups neither divide by tp x cp = {parts} nor divide it",
    )


def _split_rules(plan: ParallelPlan) -> Iterator[tuple[bool, str, str]]:
    if not SCHEDULES[plan.schedule].splits_backward:
        return
    yield plan.pp > 1, "split_needs_pp", f"schedule {plan.schedule} needs pp above 1"
    yield (
        plan.zero_stage <= 1 and plan.recompute != "full",
        "split_keeps_layers",
        f"schedule {plan.schedule} needs zero_stage 0 or 1 and no full recompute",
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

"""Rules for plans of transformers."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from simcore.workload.base import Rule, microbatches
from simcore.workload.kinds.transformer.model import Model
from simcore.workload.kinds.transformer.model_parts import Experts
from simcore.workload.plan import AXIS_ORDER, ParallelPlan
from simcore.workload.rules import (
    batch_rule,
    interleave_rules,
    layer_rules,
    split_rules,
    update_rules,
)

if TYPE_CHECKING:  # which asks these rules itself
    from simcore.workload.kinds.transformer.workload import TrainingWorkload


def token_rules(workload: "TrainingWorkload", plan: ParallelPlan) -> Iterator[Rule]:
    """The rules of transformers, those that are broken most often first."""
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
    yield batch_rule(workload, plan)
    yield (
        plan.pp * plan.interleave <= model.layers,
        "layers_cover_pp",
        f"{model.layers} layers are fewer than pp x interleave = {plan.pp} x {plan.interleave}",
    )
    yield from _choice_rules(model, plan)
    yield from _expert_rules(workload, plan)
    yield from _mamba_rules(model, plan)
    yield from _linear_rules(model, plan)
    if model.encoder_layers or model.vision:
        yield from _end_rules(workload, plan)
    yield from split_rules(plan)
    yield from update_rules(workload, plan)
    yield from interleave_rules(plan, microbatches(workload, plan))
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


def _choice_rules(model: Model, plan: ParallelPlan) -> Iterator[Rule]:
    yield from layer_rules(model.layers, plan)
    yield (
        plan.recompute != "full" or not plan.recompute_parts,
        "parts_are_repeated_once",
        "recompute: full repeats all parts, so that recompute_parts must be empty",
    )
    yield (
        model.latent is not None or "latent_heads" not in plan.recompute_parts,
        "parts_exist",
        "recompute_parts: latent_heads needs a model with latent attention",
    )
    yield (
        model.has_experts or "experts" not in plan.recompute_parts,
        "parts_exist",
        "recompute_parts: experts needs a model with routed experts",
    )
    if plan.cp > 1:
        yield from _context_rules(model, plan)
    if plan.order != AXIS_ORDER:
        yield from _order_rules(plan)


def _context_rules(model: Model, plan: ParallelPlan) -> Iterator[Rule]:
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


def _order_rules(plan: ParallelPlan) -> Iterator[Rule]:
    strides, order = plan.strides, ", ".join(plan.order)
    together = {strides["cp"] * plan.cp == strides["dp"], strides["dp"] * plan.dp == strides["cp"]}
    yield (
        plan.cp == 1 or plan.dp == 1 or True in together,
        "order_joins_replicas",
        f"order {order} puts another axis between cp and dp, whose NPUs add up gradients together",
    )


def _expert_rules(workload: "TrainingWorkload", plan: ParallelPlan) -> Iterator[Rule]:
    experts = workload.model.experts
    if experts is None:
        alone = plan.ep == 1 and plan.etp is None and plan.dispatch_group is None
        reason = "ep, etp and dispatch_group need a model with experts"
        yield alone, "experts_exist", reason
        return
    yield from _dispatch_rules(experts, plan)
    yield from _expert_group_rules(experts, plan)
    yield (
        experts.ffn % plan.expert_tp == 0,
        "expert_ffn_divides_by_etp",
        f"ffn {experts.ffn} of an expert does not divide by etp = {plan.expert_tp}",
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


def _dispatch_rules(experts: Experts, plan: ParallelPlan) -> Iterator[Rule]:
    group = plan.dispatch_group
    if group is None:
        return
    yield (
        plan.ep % group == 0,
        "dispatch_groups_fill_ep",
        f"ep = {plan.ep} does not divide by dispatch_group = {group}",
    )
    groups = max(1, plan.ep // group)
    held = experts.count * min(groups, experts.node_limit or groups) // groups
    yield (
        experts.active <= held,
        "node_limit_holds_experts",
        f"{experts.active} experts per token are more than the {held} on node_limit = "
        f"{experts.node_limit} of {groups} dispatch groups",
    )


def _expert_group_rules(experts: Experts, plan: ParallelPlan) -> Iterator[Rule]:
    """Rules of the groups of NPUs that hold all experts together."""
    ep, etp, order = plan.ep, plan.expert_tp, ", ".join(plan.order)
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
        f"order {order} gives the stages of experts other NPUs than those of dense layers",
    )


def _mamba_rules(model: Model, plan: ParallelPlan) -> Iterator[Rule]:
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


def _linear_rules(model: Model, plan: ParallelPlan) -> Iterator[Rule]:
    """Rules of linear attention, and of an indexer, which must see all keys."""
    yield (
        model.count("indexed") == 0 or plan.cp == 1,
        "indexer_sees_all_keys",
        "models with latent.indexer take cp 1 only",
    )
    if model.linear is None:
        return
    values, keys, parts = model.linear.value_heads, model.linear.key_heads, plan.tp * plan.cp
    yield (
        values % parts == 0,
        "linear_heads_divide",
        f"{values} value heads of linear attention do not divide by tp x cp = {parts}",
    )
    yield (
        keys % parts == 0 or parts % keys == 0,
        "linear_key_heads_divide",
        f"{keys} key heads of linear attention neither divide by tp x cp = {parts} nor divide it",
    )


def _end_rules(workload: "TrainingWorkload", plan: ParallelPlan) -> Iterator[Rule]:
    """Rules of models that read patches, or that have an encoder before the decoder."""
    reason = "models with vision or encoder_layers take cp 1 only"
    yield plan.cp == 1, "sequence_is_whole", reason
    stacks = workload.model.encoder_layers > 0
    yield (
        not stacks or plan.interleave == 1,
        "encoder_is_not_interleaved",
        "models with encoder_layers take interleave 1 only",
    )
    parts = plan.tp if plan.splits_sequence else 1
    yield (
        workload.encoder_sequence % parts == 0,
        "encoder_sequence_divides",
        f"encoder_sequence {workload.encoder_sequence} does not divide by tp = {parts}",
    )

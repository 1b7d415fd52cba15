"""Rules for plans of any workload: conditions, their names, and the sentences for broken ones."""

from collections.abc import Iterator

from simcore.errors import InfeasibleError
from simcore.workload.base import Rule, TableMemory, Workload
from simcore.workload.offload import OWN
from simcore.workload.plan import ParallelPlan
from simcore.workload.schedules import SCHEDULES


def check_plan(workload: Workload, plan: ParallelPlan, npus: int) -> None:
    """Check that *plan* can spread *workload* over *npus* NPUs.

    Raises:
        InfeasibleError: The first rule that is broken, with its name.
    """
    if plan.npus != npus:
        reason = f"tp x cp x pp x dp is {plan.npus}, but the platform has {npus} NPUs"
        raise InfeasibleError("splits_match_npus", reason)
    check_splits(workload, plan)


def check_splits(workload: Workload, plan: ParallelPlan) -> None:
    """Check everything about *plan* that does not depend on the platform.

    Raises:
        InfeasibleError: The first rule that is broken, with its name.
    """
    own = _schedule_rule(workload, plan), _logits_rule(workload, plan)
    rules = (*own, *workload.rules(plan), *offload_rules(workload, plan))
    for fits, rule, reason in rules:
        if not fits:
            raise InfeasibleError(rule, reason)


def _schedule_rule(workload: Workload, plan: ParallelPlan) -> Rule:
    if SCHEDULES[plan.schedule].trains == workload.trains:
        return True, "schedule_suits_kind", ""
    able = [name for name, schedule in SCHEDULES.items() if schedule.trains == workload.trains]
    reason = (
        f"workloads of kind {workload.kind} take schedule {' or '.join(able)}, not {plan.schedule}"
    )
    return False, "schedule_suits_kind", reason


def _logits_rule(workload: Workload, plan: ParallelPlan) -> Rule:
    return (
        plan.logits == "largest" or not workload.trains,
        "tokens_are_chosen",
        f"workloads of kind {workload.kind} choose no tokens: logits must be largest",
    )


def replica_rules(workload: Workload, plan: ParallelPlan) -> Iterator[Rule]:
    """The rules of nets that are whole on every NPU, or spread over all of them as their kind says.

    They have no tensor, context, pipeline or expert parallelism.
    """
    for axis in ("tp", "cp", "pp", "ep", "interleave"):
        degree = getattr(plan, axis)
        yield degree == 1, f"{axis}_is_one", f"workloads of kind {workload.kind} take {axis} 1 only"
    reason = f"workloads of kind {workload.kind} take no recompute_parts"
    yield not plan.recompute_parts, "parts_exist", reason
    yield batch_rule(workload, plan)
    yield from layer_rules(workload.model.layers, plan)
    yield from split_rules(plan)
    yield from update_rules(workload, plan)


def batch_rule(workload: Workload, plan: ParallelPlan) -> Rule:
    """Divisibility of the global batch."""
    return (
        workload.global_batch % (plan.dp * plan.micro_batch) == 0,
        "batch_divides",
        f"global batch {workload.global_batch} does not divide by dp x micro_batch = "
        f"{plan.dp} x {plan.micro_batch}",
    )


def layer_rules(layers: int, plan: ParallelPlan) -> Iterator[Rule]:
    """Choices that name layers or NPUs which must be there."""
    if plan.chunk_layers:
        chunks, given = plan.pp * plan.interleave, plan.chunk_layers
        yield (
            len(given) == chunks and sum(given) == layers,
            "chunk_layers_match",
            f"chunk_layers gives {sum(given)} layers in {len(given)} chunks, but the plan has "
            f"{layers} layers in pp x interleave = {chunks} chunks",
        )
    if plan.shard:
        yield (
            plan.gradient_replicas % plan.shard == 0,
            "shards_divide_replicas",
            f"dp x cp = {plan.gradient_replicas} does not divide by shard = {plan.shard}",
        )
    yield (
        plan.scatter_each or plan.zero_stage >= 2,
        "late_scatter_needs_shards",
        "scatter_each: false needs zero_stage 2 or 3",
    )
    yield (
        plan.recompute == "full" or (plan.recompute_layers is None and plan.recompute_every == 1),
        "recompute_is_full",
        "recompute_layers and recompute_every need recompute: full",
    )


def update_rules(workload: Workload, plan: ParallelPlan) -> Iterator[Rule]:
    """Schemes in which replicas do not sum their gradients in each iteration."""
    if plan.updates.kind == "all_reduce":
        return
    yield (
        plan.zero_stage == 0 and not workload.model.has_experts,
        "updates_need_whole_weights",
        f"updates of kind {plan.updates.kind} need zero_stage 0 and a model without experts",
    )
    yield (
        plan.gradient_replicas % plan.updates.servers == 0,
        "servers_divide_replicas",
        f"dp x cp = {plan.gradient_replicas} does not divide by servers = {plan.updates.servers}",
    )
    apart = 2 * plan.updates.distance
    yield (
        not plan.updates.gossips or plan.gradient_replicas % apart == 0,
        "partners_divide_replicas",
        f"dp x cp = {plan.gradient_replicas} does not divide by 2 x distance = {apart}",
    )
    yield (
        not plan.updates.runs_beside or not SCHEDULES[plan.schedule].splits_backward,
        "staleness_needs_whole_passes",
        f"staleness above 0 does not go with schedule {plan.schedule}",
    )


def offload_rules(workload: Workload, plan: ParallelPlan) -> Iterator[Rule]:
    """Conditions of data in tiers of memory."""
    offload, places = plan.offload, plan.offload.places
    if not places and not offload.in_tier and not offload.merges:
        return
    able = {"weights", "gradients", "optimizer", "activations"} if workload.trains else set()
    able |= {"weights"} if workload.trains else {"weights", "cache"}
    yield (
        able.issuperset(places),
        "offload_suits_kind",
        f"workloads of kind {workload.kind} have no {', '.join(set(places) - able)} to offload",
    )
    yield (
        plan.updates.kind == "all_reduce" and not plan.overlap_weights,
        "offload_needs_all_reduce",
        "offload goes with updates of kind all_reduce, and not with overlap_weights",
    )
    yield (
        not SCHEDULES[plan.schedule].splits_backward,
        "offload_needs_whole_passes",
        f"offload does not go with schedule {plan.schedule}",
    )
    yield (
        workload.beside(plan) is None and workload.table_memory(plan) == TableMemory(),
        "offload_needs_one_net",
        "offload goes with one net without spread tables",
    )
    yield from _placing_rules(plan)
    yield from _tier_rules(plan)


def _placing_rules(plan: ParallelPlan) -> Iterator[Rule]:
    """Conditions of the plan under which each part may lie in a tier."""
    offload, places = plan.offload, plan.offload.places
    yield (
        "weights" not in places or plan.zero_stage in (0, 3) or plan.shard_npus == 1,
        "offloaded_weights_are_whole_or_shards",
        f"offloaded weights need zero_stage 0 or 3, not {plan.zero_stage}",
    )
    yield (
        "gradients" not in places or plan.scatters_passes or offload.merges,
        "offloaded_gradients_are_scattered",
        "offloaded gradients need zero_stage 2 or 3 with scatter_each, or reduce: tier",
    )
    yield (
        "activations" not in places or plan.recompute_every == 1,
        "offloaded_activations_are_of_each_layer",
        "offloaded activations need recompute_every 1",
    )


def _tier_rules(plan: ParallelPlan) -> Iterator[Rule]:
    """Conditions of work that is done in a tier."""
    offload = plan.offload
    yield (
        not offload.in_tier or (offload.gradients == offload.optimizer != OWN),
        "tier_updates_what_it_holds",
        "update: tier needs optimizer and gradients in one tier",
    )
    yield (
        not offload.in_tier or offload.weights in (OWN, offload.optimizer),
        "tier_updates_its_weights",
        "update: tier needs weights in the npu or in the tier of the optimizer",
    )
    yield (
        not offload.merges or offload.in_tier,
        "tier_uses_its_sums",
        "reduce: tier needs update: tier, since nobody else has the sum",
    )
    yield (
        not offload.merges or plan.zero_stage == 0,
        "tier_sums_whole_gradients",
        f"reduce: tier needs zero_stage 0, not {plan.zero_stage}",
    )


def split_rules(plan: ParallelPlan) -> Iterator[Rule]:
    """Conditions of schedules that compute weight gradients apart."""
    if not SCHEDULES[plan.schedule].splits_backward:
        return
    yield plan.pp > 1, "split_needs_pp", f"schedule {plan.schedule} needs pp above 1"
    parts = set(plan.recompute_parts)
    whole = plan.recompute == "full" or bool(parts & {"mlp", "experts"})
    repeats = whole or (bool(parts) and not plan.mirrors)
    yield (
        plan.zero_stage <= 1 and not repeats,
        "split_keeps_layers",
        f"schedule {plan.schedule} needs zero_stage 0 or 1 and no recompute: full or "
        + ("of mlp or experts" if plan.mirrors else "parts"),
    )


def interleave_rules(plan: ParallelPlan, batches: int) -> Iterator[Rule]:
    """Conditions of stages that hold several chunks of the model."""
    yield (
        not plan.mirrors or plan.interleave == 2,
        "mirrored_chunks_are_two",
        f"schedule {plan.schedule} needs interleave 2, not {plan.interleave}",
    )
    if plan.interleave == 1:
        reason = "interleave_group needs interleave above 1"
        yield plan.interleave_group is None, "group_needs_interleave", reason
        return
    yield plan.pp > 1, "interleave_needs_pp", "interleave above 1 needs pp above 1"
    yield (
        plan.chunk_group >= plan.pp,
        "group_covers_pp",
        f"interleave_group = {plan.chunk_group} is below pp = {plan.pp}",
    )
    if plan.mirrors:
        yield from _mirror_rules(plan, batches)
        return
    what = "interleave_group" if plan.interleave_group else "pp"
    yield (
        batches % plan.chunk_group == 0,
        f"microbatches_divide_by_{what}",
        f"{batches} micro-batches do not divide by {what} = {plan.chunk_group}, as interleave "
        "needs",
    )
    yield _interleaving_rule(plan)


def _interleaving_rule(plan: ParallelPlan) -> Rule:
    if SCHEDULES[plan.schedule].interleaves:
        return True, "schedule_interleaves", ""
    able = [name for name, schedule in SCHEDULES.items() if schedule.interleaves]
    reason = f"schedule {plan.schedule} takes interleave 1 only; others: {', '.join(able)}"
    return False, "schedule_interleaves", reason


def _mirror_rules(plan: ParallelPlan, batches: int) -> Iterator[Rule]:
    yield (
        plan.interleave_group is None,
        "mirrored_chunks_have_no_groups",
        f"schedule {plan.schedule} takes no interleave_group",
    )
    yield (
        batches >= 2 * plan.pp,
        "microbatches_fill_mirrored_pipeline",
        f"{batches} micro-batches are fewer than 2 pp = {2 * plan.pp}, which schedule "
        f"{plan.schedule} needs",
    )

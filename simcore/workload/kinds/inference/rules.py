"""Rules for plans of inference, beyond those of the forward pass of training."""

from collections.abc import Iterator

from simcore.workload.base import Rule, Workload
from simcore.workload.plan import ParallelPlan


def forward_rules(plan: ParallelPlan, *, splits_sequence: bool) -> Iterator[Rule]:
    """What only training can choose must be as it is by default.

    Args:
        plan: The plan.
        splits_sequence: There are sequences that cp can split.
    """
    yield splits_sequence or plan.cp == 1, "sequence_is_whole", "step decode takes cp 1 only"
    yield (
        plan.zero_stage == 0 and plan.updates.kind == "all_reduce",
        "nothing_is_updated",
        "workloads of kind inference take zero_stage 0 and updates all_reduce only",
    )
    yield (
        not plan.average_loss and not plan.scale_loss,
        "nothing_is_learned",
        "workloads of kind inference have no loss: average_loss and scale_loss must be false",
    )
    yield (
        plan.recompute == "none" and not plan.recompute_parts,
        "nothing_is_repeated",
        "workloads of kind inference take recompute none and no recompute_parts",
    )
    yield (
        plan.flash_attention,
        "attention_is_fused",
        "workloads of kind inference take flash_attention: true only",
    )


def draft_rules(draft: Workload, plan: ParallelPlan) -> Iterator[Rule]:
    """The model that guesses lies on the same NPUs."""
    yield plan.pp == 1, "draft_is_whole", "speculation.model takes pp 1 only"
    for fits, rule, reason in draft.rules(plan):
        yield fits, rule, f"speculation.model: {reason}"

"""Which NPUs communicate along each axis."""

from simcore.workload.graph import Axis, GroupLayout
from simcore.workload.plan import ParallelPlan
from simcore.workload.workload import TrainingWorkload


def group_size(axis: Axis, plan: ParallelPlan) -> int:
    """NPUs in one group of an axis that passes through a layer use."""
    sizes = {Axis.TP: plan.tp, Axis.CP: plan.cp, Axis.EP: plan.ep, Axis.ETP: plan.expert_tp}
    return sizes[axis]


def group_layouts(workload: TrainingWorkload, plan: ParallelPlan) -> dict[Axis, GroupLayout]:
    """The groups with at least 2 NPUs; gradients are summed over dp and cp together.

    The NPUs of a stage are tp x cp x dp to the dense layers and etp x ep x edp to the experts.
    """
    per_stage = plan.npus_per_stage
    layouts = [
        GroupLayout(axis=Axis.TP, stride=1, size=plan.tp),
        GroupLayout(axis=Axis.CP, stride=plan.tp, size=plan.cp),
        GroupLayout(axis=Axis.DP, stride=plan.tp, size=plan.gradient_replicas),
        GroupLayout(axis=Axis.PP, stride=per_stage, size=plan.pp),
    ]
    if plan.zero_stage and plan.shard_copies > 1:
        stride = plan.tp * plan.shard_npus
        layouts += [
            GroupLayout(axis=Axis.SHARD, stride=plan.tp, size=plan.shard_npus),
            GroupLayout(axis=Axis.REPLICA, stride=stride, size=plan.shard_copies),
        ]
    if workload.model.experts:
        stride = plan.expert_tp * plan.ep
        layouts += [
            GroupLayout(axis=Axis.ETP, stride=1, size=plan.expert_tp),
            GroupLayout(axis=Axis.EP, stride=plan.expert_tp, size=plan.ep),
            GroupLayout(axis=Axis.EDP, stride=stride, size=plan.expert_replicas),
        ]
    if workload.model.tied_embeddings and plan.pp > 1:
        ends = GroupLayout(axis=Axis.EMBEDDING, stride=per_stage * (plan.pp - 1), size=2)
        layouts.append(ends)
    return {layout.axis: layout for layout in layouts if layout.size > 1}

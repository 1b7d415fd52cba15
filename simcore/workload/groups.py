"""Groups of NPUs that communicate along each axis."""

from simcore.workload.base import Workload
from simcore.workload.graph import Axis, GroupLayout
from simcore.workload.plan import ParallelPlan


def group_size(axis: Axis, plan: ParallelPlan) -> int:
    """NPUs in one group of an axis that passes through a layer use."""
    sizes = {
        Axis.TP: plan.tp,
        Axis.CP: plan.cp,
        Axis.DP: plan.gradient_replicas,
        Axis.EP: plan.ep,
        Axis.EP_NODE: plan.dispatch_group or 1,
        Axis.EP_RAIL: plan.ep // (plan.dispatch_group or plan.ep),
        Axis.ETP: plan.expert_tp,
        Axis.TABLES: plan.dp,
    }
    return sizes[axis]


def group_layouts(workload: Workload, plan: ParallelPlan) -> dict[Axis, GroupLayout]:
    """The groups with at least 2 NPUs; gradients are summed over dp and cp together.

    The NPUs of a stage are tp x cp x dp to the dense layers and etp x ep x edp to the experts.
    """
    strides = plan.strides
    joint = min(strides[axis] for axis in _replica_axes(plan))
    layouts = [
        GroupLayout(axis=Axis.TP, stride=strides["tp"], size=plan.tp),
        GroupLayout(axis=Axis.CP, stride=strides["cp"], size=plan.cp),
        GroupLayout(axis=Axis.DP, stride=joint, size=plan.gradient_replicas),
        GroupLayout(axis=Axis.PP, stride=strides["pp"], size=plan.pp),
    ]
    if plan.zero_stage and plan.shard_copies > 1:
        copies = joint * plan.shard_npus
        layouts += [
            GroupLayout(axis=Axis.SHARD, stride=joint, size=plan.shard_npus),
            GroupLayout(axis=Axis.REPLICA, stride=copies, size=plan.shard_copies),
        ]
    if plan.updates.gossips and plan.gradient_replicas > 1:
        away = joint * plan.updates.distance
        layouts.append(GroupLayout(axis=Axis.PARTNER, stride=away, size=2))
    if workload.model.has_experts:
        apart = plan.expert_strides
        layouts += [
            GroupLayout(axis=Axis.ETP, stride=apart["etp"], size=plan.expert_tp),
            GroupLayout(axis=Axis.EP, stride=apart["ep"], size=plan.ep),
            GroupLayout(axis=Axis.EDP, stride=apart["edp"], size=plan.expert_replicas),
        ]
        if node := plan.dispatch_group:
            across = GroupLayout(axis=Axis.EP_RAIL, stride=apart["ep"] * node, size=plan.ep // node)
            layouts += [GroupLayout(axis=Axis.EP_NODE, stride=apart["ep"], size=node), across]
    if workload.spreads_tables:
        layouts.append(GroupLayout(axis=Axis.TABLES, stride=joint, size=plan.dp))
    if workload.model.tied_embeddings and plan.last_stage > 0:
        ends = GroupLayout(axis=Axis.EMBEDDING, stride=strides["pp"] * (plan.pp - 1), size=2)
        layouts.append(ends)
    return {layout.axis: layout for layout in layouts if layout.size > 1}


def _replica_axes(plan: ParallelPlan) -> list[str]:
    """Axes along which weights are the same."""
    axes = [axis for axis, size in (("cp", plan.cp), ("dp", plan.dp)) if size > 1]
    return axes or ["dp"]

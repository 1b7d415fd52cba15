"""Groups of NPUs that have members at several stages."""

from simcore.workload import ParallelPlan
from simcore.workload.graph import Axis


def is_shared(plan: ParallelPlan, axis: Axis) -> bool:
    """Whether the groups of *axis* have members at several stages."""
    return plan.pp > 1 and axis in (Axis.PP, Axis.EMBEDDING)

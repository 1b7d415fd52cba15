"""Footprints that were asked for last, one memory of them for all of a process.

Who checks a plan, who bounds it and who simulates it each have a memory of their own, and ask for
the same footprint.
"""

from simcore.memo import Memo, key_of
from simcore.memory.footprint import Footprint, footprint_with
from simcore.workload.base import Workload
from simcore.workload.plan import ParallelPlan

_LATEST = Memo(2**20)
"""Footprints of about a thousand plans, some kilobytes each."""


def latest_footprint(workload: Workload, plan: ParallelPlan, memo: Memo) -> Footprint:
    """``footprint_with``, worked out once for all that ask one soon after the other.

    Raises:
        InfeasibleError: The plan does not fit the workload.
    """
    key = key_of(workload, plan)
    return _LATEST.of("footprint", key, lambda: footprint_with(workload, plan, memo))

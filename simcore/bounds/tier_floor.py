"""The least time that the ports of tiers of memory take.

A port of an NPU passes one transfer after the other, whatever else the NPU does, on every network:
no iteration is shorter than all that passes one port of one stage.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from simcore.config import Run, RunTemplate
from simcore.engines.stages.plan_code import plan_code
from simcore.engines.stages.transfers import transfer_times_ns
from simcore.memo import Memo
from simcore.workload.graph import ports_of


def tier_floor_ns(run: Run, memo: Memo) -> float:
    """Lower bound of the iteration time of *run* by its busiest port; 0 without any.

    Args:
        run: A design.
        memo: What is known of the programs of plans.

    Raises:
        InfeasibleError: The plan does not fit the workload.
        ConfigError: The machine lacks a tier.
    """
    if not run.plan.offload.tiers:
        return 0.0
    known = plan_code(run.workload, run.plan, memo)
    transfers = known.program.transfers
    if not transfers:
        return 0.0
    each_ns = transfer_times_ns(transfers, known.program.groups, run.platform)
    ports = ports_of(transfers)
    port = [ports[transfer.port] for transfer in transfers]
    stages = known.counts.transfers.astype(np.float64) * each_ns
    most = max(np.bincount(port, stage, len(ports)).max() for stage in stages)
    return float(most) / run.workload.gained_tokens


def may_offload(template: RunTemplate, choices: Mapping[str, Sequence[Any]]) -> bool:
    """True if a design may have data in tiers of memory."""
    if any(path == "plan" or path.startswith("plan.offload") for path in choices):
        return True
    plan = template.table.get("plan")
    return "offload" in plan if isinstance(plan, Mapping) else plan is not None

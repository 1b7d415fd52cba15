"""One NPU per stage, unit by unit: each situation of it worked out once."""

from dataclasses import replace

import numpy as np

from simcore.engines.classes.by_classes import run_nodes
from simcore.engines.classes.run import Ran
from simcore.engines.machine_times import MachineTimes, ProgramTimes
from simcore.engines.stages.code import PipelineCode
from simcore.engines.stages.plan_code import PlanCode
from simcore.engines.stages.run import PipelineRun, Times, run_pipeline
from simcore.engines.stages.workspace import Workspace


def run_by_stages(known: PlanCode, times: ProgramTimes, machine: MachineTimes) -> Ran | None:
    """Run as many micro-batches as show a steady state, and repeat it.

    Returns:
        None where units cannot be looked up, or a node takes no time; only node by node can tell
        what happens.
    """
    for batches in known.runs:
        code = known.code(batches)
        ran = _run(known, code, times, machine) if code else None
        if code is None or ran is None:
            break
        left, period = known.batches - batches, ran.periods * code.period_batches
        if left > 0 and (period == 0 or left % period != 0):
            continue
        if not ran.finished:
            ran = _finished(known, batches - ran.leapt * code.period_batches, ran, times, machine)
        repeated = left // max(period, 1)
        return Ran(
            categories=code.categories,
            finish_ns=ran.finish_ns + repeated * ran.period_ns,
            booked_ns=ran.booked_ns + repeated * ran.period_booked_ns,
            events=known.counts.nodes,
            npus=known.plan.pp,
            situations=ran.situations,
            repeated=repeated,
        )
    return None


def _run(
    known: PlanCode, code: PipelineCode, times: ProgramTimes, machine: MachineTimes
) -> PipelineRun | None:
    operator_ns, collectives = times.operator_ns, times.collectives
    durations = [time.duration_ns if time else 0 for time in collectives]
    leads = [time.last_step_ns if time else 0 for time in collectives]
    moved = times.transfer_ns.tolist()
    table = Times(
        item_ns=np.concatenate([operator_ns, np.array([*durations, *moved, 0], np.int64)]),
        lead_ns=np.concatenate(
            [
                np.full(operator_ns.size, -1),
                np.array([*leads, *[-1] * (len(moved) + 1)], np.int64),
            ]
        ),
        next_ns=times.messages.time_ns[0],
        previous_ns=times.messages.time_ns[1],
    )
    workspace = machine.memo.of("workspace", None, Workspace)
    ends = machine.shared_ends(known.program)
    return run_pipeline(code, table, machine.system.profile, ends, workspace)


def _finished(
    known: PlanCode, batches: int, ran: PipelineRun, times: ProgramTimes, machine: MachineTimes
) -> PipelineRun:
    """A run that came to no end, to its end, node by node.

    With the *batches* that it did not leap over it reaches the same steady state, and leaves it in
    the same way.
    """
    _, execution = run_nodes(known.graph(batches), times, machine)
    leapt = ran.leapt // max(ran.periods, 1)
    return replace(
        ran,
        finished=True,
        finish_ns=execution.finish_ns + leapt * ran.period_ns,
        booked_ns=execution.booked_ns + leapt * ran.period_booked_ns,
        situations=0,
    )

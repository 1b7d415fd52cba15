"""Stages that pass units in one step, and note nothing, end as those that take every transition."""

from dataclasses import fields

import numpy as np
import pytest
from one_switch import ends_on_one_switch

from simcore.engines.stages.plan_code import PlanCode
from simcore.engines.stages.run import PipelineRun, Times, layout_of, run_pipeline
from simcore.engines.stages.workspace import Workspace
from simcore.kernels.stages import stage_layout as f
from simcore.machine.system import ExecutionProfile
from simcore.memo import Memo
from simcore.workload import Model, ParallelPlan, TrainingWorkload

PLANS = [
    ParallelPlan(tp=2, pp=4, dp=2, recompute="full", zero_stage=1),
    ParallelPlan(tp=2, pp=2, dp=2, interleave=3, sequence_parallel=True, zero_stage=2),
    ParallelPlan(cp=2, pp=3, dp=2, zero_stage=3),
    ParallelPlan(tp=2, pp=6, interleave=2),
    ParallelPlan(pp=4, schedule="gpipe"),
    ParallelPlan(tp=2, pp=8, dp=2, zero_stage=3),
]
WORKSPACE = Workspace()


def random_times(items: int, operators: int, stages: int, joint: list[int], seed: int) -> Times:
    """Times up to a few ns, where most events come at once with others, or up to 1 ms.

    In every other run computes take times like each other and collectives are short, as they mostly
    are, so that few events come at once.
    """
    draw = np.random.default_rng(seed).integers
    most = [2, 5, 40, 1000, 10**6][seed % 5]
    item_ns = draw(1, most, items + 1, endpoint=True)
    if seed % 2:
        item_ns[:operators] += 5 * most
    item_ns[[operators + item for item in joint]] = 0
    item_ns[-1] = 0
    messages = draw(1, most, (2, stages), endpoint=True)
    return Times(
        item_ns=item_ns,
        lead_ns=np.full(items + 1, -1),
        next_ns=messages[0],
        previous_ns=messages[1],
    )


@pytest.mark.parametrize("streams", [1, 4])
@pytest.mark.parametrize("plan", PLANS)
def test_units_passed_in_one_step_end_as_transition_by_transition(
    plan: ParallelPlan, streams: int
) -> None:
    model = Model.build(name="m", layers=18, hidden=64, heads=8, ffn=128, vocabulary=512)
    workload = TrainingWorkload(model=model, sequence=32, global_batch=24 * plan.dp)
    known = PlanCode(workload, plan, Memo())
    code = known.code(known.batches)
    assert code is not None
    ends = ends_on_one_switch(known.program)
    profile = ExecutionProfile(compute_slots=1, communication_streams=streams)
    items = code.operators + len(known.program.collectives)
    joint = [one.item for one in code.shared]
    ended = passed = noted = 0
    for seed in range(40):
        times = random_times(items, code.operators, code.stages, joint, seed)
        arguments = code, times, profile, ends, WORKSPACE
        every = run_pipeline(*arguments, is_noted=True)
        quick = run_pipeline(*arguments)
        assert every is not None
        assert quick is not None
        layout, _ = layout_of(code, profile, instant=False)
        counters = WORKSPACE.words(layout.pool_end)[: f.COUNTERS]
        passed += int(counters[f.PASSAGES])
        noted += int(counters[f.NOTED])
        assert every.finished == quick.finished
        if every.finished:
            ended += 1
            for field in fields(PipelineRun):
                own, other = getattr(every, field.name), getattr(quick, field.name)
                np.testing.assert_array_equal(own, other, err_msg=field.name)
    assert ended > 10
    assert passed > ended, "units are passed in one step"
    assert noted < 40, "most orders are not asked for"

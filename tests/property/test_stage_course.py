"""Rows of nodes that are followed in a short loop end as if every node were an event of its own.

The long way is the same kernel with every node CLOSED, so that the short loop never goes on.
"""

from dataclasses import fields, replace

import numpy as np
import pytest
from one_switch import ends_on_one_switch

from simcore.engines.stages.code import PipelineCode
from simcore.engines.stages.plan_code import PlanCode
from simcore.engines.stages.run import PipelineRun, Times, run_pipeline
from simcore.engines.stages.workspace import Workspace
from simcore.kernels.npu import layout as n
from simcore.kernels.stages import stage_layout as f
from simcore.machine.system import ExecutionProfile
from simcore.memo import Memo
from simcore.workload import Model, ParallelPlan, TrainingWorkload

PLANS = [
    ParallelPlan(tp=2, pp=4, dp=2, recompute="full", zero_stage=1),
    ParallelPlan(tp=2, pp=2, dp=2, interleave=3, sequence_parallel=True, zero_stage=2),
    ParallelPlan(cp=2, pp=3, dp=2, zero_stage=3),
]
WORKSPACE = Workspace()


def rows_of(code: PipelineCode) -> np.ndarray:
    pieces = np.unique(
        code.pieces[:, [f.ROWS, f.NODES]], axis=0
    )  # some begin later in others' rows
    count = pieces[:, 1].sum() + 2 * len(pieces) + 1
    rows: np.ndarray = code.fixed[: count * f.NODE_FIELDS].reshape(-1, f.NODE_FIELDS)
    return rows


def all_closed(code: PipelineCode) -> PipelineCode:
    closed = replace(code, fixed=code.fixed.copy(), layouts={})
    rows = rows_of(closed)
    rows[(rows[:, n.KIND] <= n.COMMUNICATION) & (rows[:, n.MATE] <= 0), n.MATE] = f.CLOSED
    return closed


def random_times(code: PipelineCode, items: int, most_ns: int, seed: int) -> Times:
    """Times from 1 to *most_ns*, 0 where members of a collective are at several stages."""
    draw = np.random.default_rng(seed).integers
    item_ns = draw(1, most_ns, items + 1, endpoint=True)
    item_ns[[code.operators + one.item for one in code.shared]] = 0
    item_ns[-1] = 0
    next_ns, previous_ns = draw(1, most_ns, (2, code.stages), endpoint=True)
    return Times(
        item_ns=item_ns,
        lead_ns=np.full(items + 1, -1),
        next_ns=next_ns,
        previous_ns=previous_ns,
    )


@pytest.mark.parametrize("streams", [1, 4])
@pytest.mark.parametrize("plan", PLANS)
def test_the_short_loop_gives_what_every_event_gives(plan: ParallelPlan, streams: int) -> None:
    model = Model.build(name="m", layers=12, hidden=64, heads=8, ffn=128, vocabulary=512)
    workload = TrainingWorkload(model=model, sequence=32, global_batch=24 * plan.dp)
    known = PlanCode(workload, plan, Memo())
    code = known.code(known.batches)
    assert code is not None
    assert (rows_of(code)[:, n.MATE] == f.LEADS).any(), "some rows lead on"
    ends = ends_on_one_switch(known.program)
    profile = ExecutionProfile(compute_slots=1, communication_streams=streams)
    items = code.operators + len(known.program.collectives)
    ended = 0
    for seed, most_ns in enumerate([2, 5, 40, 1000, 10**6] * 3):
        times = random_times(code, items, most_ns, seed)
        runs = [
            run_pipeline(one, times, profile, ends, WORKSPACE) for one in (code, all_closed(code))
        ]
        short, long = runs
        assert short is not None
        assert long is not None
        assert short.finished or not long.finished, "orders that make no difference later are told"
        for field in fields(PipelineRun) if long.finished else ():
            np.testing.assert_array_equal(
                getattr(short, field.name), getattr(long, field.name), field.name
            )
        ended += long.finished
    assert ended >= 5

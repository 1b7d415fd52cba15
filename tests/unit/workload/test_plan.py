"""Which plans are refused, and in which words."""

from typing import Any

import numpy as np
import pytest
from every_case import with_every

from simcore.errors import ConfigError, InfeasibleError
from simcore.workload import (
    Model,
    ParallelPlan,
    TrainingWorkload,
    build_graph,
    check_plan,
    load_plan,
    load_workload,
    stage_layers,
)
from simcore.workload.schedules import SCHEDULES

MODEL = Model(name="m", layers=6, hidden=96, heads=12, kv_heads=4, ffn=384, vocabulary=512)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"zero_stage": 4}, "plan.zero_stage: must be less than or equal to 3, but got 4."),
        (
            {"schedule": "1f2b"},
            "plan.schedule: schedule must be one of 1f1b, gpipe, 1f1b_overlapped, zb_h1, dualpipe,",
        ),
        ({"recompute": "some"}, "plan.recompute: must be one of 'none', 'selective' or 'full'"),
        ({"tp": 0}, "plan.tp: must be greater than or equal to 1, but got 0."),
        ({"tensor": 2}, "plan.tensor: unknown key; the keys here are tp, cp"),
    ],
)
def test_plan_file_with_a_mistake_is_told_what_to_mend(
    values: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load_plan(values)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("rule", "values"),
    [
        ("splits_match_npus", {"tp": 2, "dp": 3}),
        ("heads_divide_by_tp", {"tp": 8}),
        ("kv_heads_divide_by_tp", {"tp": 6}),
        ("batch_divides", {"dp": 8, "micro_batch": 2}),
        ("layers_cover_pp", {"pp": 8}),
        ("layers_cover_pp", {"pp": 4, "interleave": 2}),
        ("interleave_needs_pp", {"interleave": 2}),
        ("microbatches_divide_by_pp", {"pp": 3, "interleave": 2}),
        ("schedule_interleaves", {"pp": 2, "interleave": 2, "schedule": "gpipe"}),
        ("sequence_divides", {"tp": 2, "cp": 4, "sequence_parallel": True}),
        ("sequence_divides_by_cp", {"cp": 4}),
    ],
)
def test_plan_that_cannot_be_built_names_its_rule(rule: str, values: dict[str, Any]) -> None:
    workload = TrainingWorkload(model=MODEL, sequence=4 * 25, global_batch=8)
    plan = ParallelPlan(**values)
    with pytest.raises(InfeasibleError) as caught:
        check_plan(workload, plan, 8 if rule == "splits_match_npus" else plan.npus)
    assert caught.value.rule == rule


def test_ffn_that_does_not_divide_by_tp_is_infeasible() -> None:
    model = Model(name="m", layers=2, hidden=96, heads=12, ffn=100)
    workload = TrainingWorkload(model=model, sequence=96, global_batch=4)
    with pytest.raises(InfeasibleError, match="ffn_divides_by_tp: ffn 100 does not divide"):
        build_graph(workload, ParallelPlan(tp=3))


def test_early_stages_hold_the_remaining_layers() -> None:
    assert stage_layers(10, 4) == (range(0, 3), range(3, 6), range(6, 8), range(8, 10))


def test_workload_needs_a_table_with_a_model() -> None:
    with pytest.raises(ConfigError, match="workload: must be a table"):
        load_workload("gpt3_175b")
    with pytest.raises(ConfigError, match=r"workload\.model: this key is required"):
        load_workload({"sequence": 2048, "global_batch": 4})


@with_every("chunks", [1, 2, 3])
@with_every("name", [name for name, kind in SCHEDULES.items() if kind.trains])
@with_every(
    "stages, microbatches, group",
    [(1, 1, 0), (4, 2, 0), (4, 9, 0), (5, 5, 0), (2, 8, 0), (2, 8, 4), (4, 12, 6), (4, 6, 6)],
)
def test_schedule_runs_each_pass_once_each_way_and_counts_the_alive_ones(
    name: str, stages: int, microbatches: int, chunks: int, group: int
) -> None:
    schedule = SCHEDULES[name]()
    at_once = group or stages
    if chunks > 1 and (not schedule.interleaves or microbatches % at_once or stages == 1):
        pytest.skip("refused by check_plan")
    if schedule.mirrors and (chunks != 2 or microbatches < 2 * stages or group):
        pytest.skip("refused by check_plan")
    passes = {(batch, chunk) for batch in range(microbatches) for chunk in range(chunks)}
    for stage in range(stages):
        units = schedule.units(stage, stages, microbatches, chunks, group)
        alive: set[tuple[int, int]] = set()
        most = 0
        done = set()
        beside = np.zeros(units.backward.size, int) if units.beside is None else units.beside
        order = zip(units.backward, units.microbatch.tolist(), units.chunk.tolist(), strict=True)
        late = np.zeros(units.backward.size, bool) if units.weights is None else units.weights
        for (backward, batch, chunk), pair, by_itself in zip(order, beside, late, strict=True):
            if by_itself:
                assert (batch, chunk) in done  # the weight gradients of what has passed
            elif backward:
                alive.remove((batch, chunk))  # fails where backward comes before forward
                done.add((batch, chunk))
            else:
                alive.add((batch, chunk))
                most = max(most, len(alive) + int(pair))  # with the one that it runs beside
        assert done == passes
        assert units.backward.size == 2 * len(passes) + late.sum()
        if schedule.mirrors or not schedule.splits_backward:
            assert most == schedule.alive_units(stage, stages, microbatches, chunks, group)


def order_of(stage: int, stages: int, microbatches: int, chunks: int) -> str:
    units = SCHEDULES["1f1b"]().units(stage, stages, microbatches, chunks)
    return "".join("B" if backward else "F" for backward in units.backward)


def test_warm_up_of_1f1b_is_the_number_of_later_stages() -> None:
    assert order_of(1, 4, 6, 1) == "FFFBFBFBFBBB"


def test_interleaved_1f1b_takes_groups_of_pp_microbatches_through_the_chunks() -> None:
    # Narayanan 2021, figure 4 (bottom): first device of 4, 2 chunks, 8 micro-batches
    units = SCHEDULES["1f1b"]().units(0, 4, 8, 2)
    forward = ~units.backward
    assert units.microbatch[forward].tolist() == [0, 1, 2, 3] * 2 + [4, 5, 6, 7] * 2
    assert units.chunk[forward].tolist() == ([0] * 4 + [1] * 4) * 2
    assert units.chunk[units.backward].tolist() == ([1] * 4 + [0] * 4) * 2
    assert order_of(0, 4, 8, 2).index("B") == 2 * 3 + 4 + 1


def test_groups_may_be_larger_than_the_pipeline_is_deep() -> None:
    units = SCHEDULES["1f1b"]().units(1, 2, 8, 2, 4)
    forward = ~units.backward
    assert units.microbatch[forward].tolist() == [0, 1, 2, 3] * 2 + [4, 5, 6, 7] * 2
    assert units.chunk[forward].tolist() == ([0] * 4 + [1] * 4) * 2
    assert units.backward.argmax() == 2 * 0 + 4 + 1
    workload = TrainingWorkload(
        model=Model(name="m", layers=8, hidden=64, heads=8, ffn=64), sequence=16, global_batch=8
    )
    for group, rule in ((3, "microbatches_divide_by_interleave_group"), (1, "group_covers_pp")):
        with pytest.raises(InfeasibleError, match=rule):
            build_graph(workload, ParallelPlan(pp=2, interleave=2, interleave_group=group))
    with pytest.raises(InfeasibleError, match="group_needs_interleave"):
        build_graph(workload, ParallelPlan(pp=2, interleave_group=2))

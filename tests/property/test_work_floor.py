"""The floor of a plan's computing: never above a simulated run, and close where networks are fast.

Layers are few and unlike, chunks uneven, so that what a stage waits for differs from stage to
stage.
"""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from simcore import InfeasibleError
from simcore.bounds.work_floor import WorkFloor
from simcore.config import Run
from simcore.machine import Dimension, Platform, load_npu
from simcore.machine.system import System
from simcore.simulation import run_with_iteration
from simcore.workload import ParallelPlan, load_workload
from simcore.workload.schedules import SCHEDULES

LAYERS = 8
DENSE = {"layers": LAYERS, "hidden": 512, "heads": 8, "ffn": 4096, "vocabulary": 4096}
SPARSE = {**DENSE, "experts": {"count": 4, "active": 1, "ffn": 1024, "first_layer": 3}}
CODER = {**DENSE, "encoder_layers": 3, "causal": True}
FAST = 1e15


@st.composite
def chunk_layers(draw: st.DrawFn, chunks: int) -> tuple[int, ...]:
    """Layers of each chunk, as they come or drawn."""
    cuts = draw(
        st.lists(st.integers(1, LAYERS - 1), min_size=chunks - 1, max_size=chunks - 1, unique=True)
    )
    ends = [0, *sorted(cuts), LAYERS]
    drawn = tuple(stop - start for start, stop in pairwise(ends))
    return draw(st.sampled_from([(), drawn]))


def workloads(batch: int) -> st.SearchStrategy[dict[str, Any]]:
    plain = {"sequence": 512, "global_batch": batch}
    return st.sampled_from(
        [
            {"model": {**DENSE, "name": "dense"}, **plain},
            {"model": {**SPARSE, "name": "sparse"}, **plain},
            {"model": {**CODER, "name": "coder"}, "encoder_sequence": 256, **plain},
        ]
    )


@st.composite
def runs(draw: st.DrawFn) -> Run:
    pp, tp, dp = draw(st.sampled_from([(1, 1, 2), (2, 1, 1), (2, 2, 1), (4, 1, 1), (4, 1, 2)]))
    interleave = draw(st.sampled_from([1, 1, 2])) if pp > 1 else 1
    batches = draw(st.sampled_from([1, 3, 6])) if interleave == 1 else pp * draw(st.integers(1, 2))
    schedules = (
        ["1f1b", "gpipe", "1f1b_overlapped", "zb_h1"] if interleave == 1 else ["1f1b", "dualpipe"]
    )
    micro_batch = draw(st.sampled_from([1, 4]))
    plan = ParallelPlan(
        tp=tp,
        pp=pp,
        dp=dp,
        interleave=interleave,
        micro_batch=micro_batch,
        chunk_layers=draw(chunk_layers(pp * interleave)),
        schedule=draw(st.sampled_from(schedules)),
        recompute=draw(st.sampled_from(["none", "selective", "full"])),
        recompute_layers=draw(st.sampled_from([None, 1, 3])),
        sequence_parallel=draw(st.booleans()),
        overlap_tensor=draw(st.booleans()),
        zero_stage=draw(st.sampled_from([0, 1, 3])),
    )
    table = draw(workloads(dp * micro_batch * batches))
    return run_of(plan, table, draw(st.sampled_from([5e9, FAST])))


def run_of(plan: ParallelPlan, workload: dict[str, Any], bandwidth_bytes_per_s: float) -> Run:
    return Run(
        workload=load_workload(workload),
        platform=Platform(
            npu=load_npu("h100_80"),
            dimensions=(
                Dimension(
                    topology="switch",
                    npus=plan.npus,
                    bandwidth_bytes_per_s=bandwidth_bytes_per_s,
                    latency_s=0.0,
                ),
            ),
        ),
        plan=plan,
        system=System(),
    )


def simulated_ns(run: Run) -> float:
    try:
        _, iteration = run_with_iteration(run)
    except InfeasibleError:
        assume(False)
    return float(iteration.finish_ns.max())


@settings(max_examples=100, deadline=None, derandomize=True)
@given(runs())
def test_no_plan_is_simulated_below_its_floor(run: Run) -> None:
    time_ns = simulated_ns(run)
    floor_ns = WorkFloor().time_ns(run)
    assert 0 <= floor_ns <= time_ns
    if not SCHEDULES[run.plan.schedule].splits_backward:  # no floor is known for these
        assert floor_ns > 0


@settings(max_examples=25, deadline=None, derandomize=True)
@given(runs())
def test_remembered_floors_are_those_worked_out_anew(run: Run) -> None:
    known = WorkFloor()
    try:
        first_ns = known.time_ns(run)
    except InfeasibleError:
        assume(False)
    longer = run.model_copy(
        update={"workload": run.workload.with_batch(2 * run.workload.global_batch)}
    )
    assert known.time_ns(run) == first_ns
    assert known.time_ns(longer) == WorkFloor().time_ns(longer)


@pytest.mark.parametrize(("pp", "interleave"), [(2, 1), (4, 1), (2, 2), (4, 2)])
def test_floors_are_close_where_the_network_is_fast(pp: int, interleave: int) -> None:
    plan = ParallelPlan(pp=pp, interleave=interleave, micro_batch=4)
    table = {"model": {**DENSE, "name": "dense"}, "sequence": 512, "global_batch": 32}
    run = run_of(plan, table, FAST)
    assert 0.9 < WorkFloor().time_ns(run) / simulated_ns(run) < 1

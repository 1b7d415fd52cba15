"""A simulator that has met a plan before gives what a fresh one gives."""

from typing import Any

import numpy as np
import pytest

from simcore import Dimension, ParallelPlan, Platform, Simulator, TrainingWorkload, load_npu
from simcore.config import Run
from simcore.engines.choose import NO_TIME, UNITS_UNLIKE, Engine
from simcore.engines.stages.plan_code import plan_code
from simcore.engines.stages.times import operator_times_ns
from simcore.memo import Memo
from simcore.simulation import run_with_iteration, simulate_run
from simcore.workload import Model

MODEL = Model.build(name="m", layers=8, hidden=256, heads=8, ffn=1024, vocabulary=1024)


def run_of(bandwidth_bytes_per_s: float, npu: str = "a100_80", **plan: Any) -> Run:
    size = ParallelPlan(**plan).npus
    dimension = Dimension.build(
        topology="switch",
        npus=size,
        bandwidth_bytes_per_s=bandwidth_bytes_per_s,
        latency_s=1e-6,
    )
    return Run.build(
        workload=TrainingWorkload(model=MODEL, sequence=128, global_batch=48),
        platform=Platform(npu=load_npu(npu), dimensions=(dimension,)),
        plan=ParallelPlan(**plan),
    )


def test_a_known_plan_gives_the_same_result_on_every_machine() -> None:
    simulator = Simulator()
    for bandwidth, npu in ((1e9, "a100_80"), (50e9, "h100_80"), (1e9, "a100_80")):
        for plan in ({"pp": 4, "dp": 2}, {"tp": 4, "pp": 2}, {"dp": 4}):
            run = run_of(bandwidth, npu, **plan)
            assert simulator.simulate(run) == simulate_run(run)


def test_every_node_gives_the_same_result() -> None:
    run = run_of(5e9, pp=4, dp=2)
    plain, iteration = run_with_iteration(run, every_node=True)
    assert iteration.nodes is not None
    assert plain == simulate_run(run)


def test_only_the_plans_met_last_are_kept() -> None:
    run = run_of(5e9, pp=4, dp=2)
    memo = Memo(limit_bytes=2**16)
    first = plan_code(run.workload, run.plan, memo)
    assert plan_code(run.workload, run.plan, memo) is first
    for dp in (1, 2, 3, 4, 6, 8):
        plan_code(run.workload, ParallelPlan(dp=dp, pp=2), memo)
    assert plan_code(run.workload, run.plan, memo) is not first


def test_the_result_names_its_engine_and_the_reason() -> None:
    plain, by_node = run_of(5e9, pp=4, dp=2), run_of(5e9, pp=4, dp=2)
    result = simulate_run(plain)
    assert result.engine == Engine.STAGES
    assert "stay in step" in result.engine_reason
    assert run_with_iteration(by_node, every_node=True)[0].engine == Engine.NODES
    aware = simulate_run(plain.model_copy(update={"backend": "congestion_aware_multidim"}))
    assert aware.engine == Engine.EVENTS
    assert aware.engine_reason.endswith("(congestion_aware_multidim)")


def test_the_reason_for_every_node_is_the_one_that_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    overlapped = simulate_run(run_of(5e9, pp=4, dp=2, schedule="1f1b_overlapped"))
    assert (overlapped.engine, overlapped.engine_reason) == (Engine.NODES, UNITS_UNLIKE.reason)
    times = "simcore.engines.stages.times.operator_times_ns"
    monkeypatch.setattr(times, lambda *given: np.zeros_like(operator_times_ns(*given)))
    timeless = simulate_run(run_of(5e9, pp=4, dp=2))
    assert (timeless.engine, timeless.engine_reason) == (Engine.NODES, NO_TIME.reason)


@pytest.mark.parametrize("batches", [24, 48])
def test_counts_are_those_of_the_graph(batches: int) -> None:
    from simcore.engines.stages.counts import counts_of_graph, counts_of_program
    from simcore.workload import build_graph
    from simcore.workload.program.write import write_program

    workload = TrainingWorkload(model=MODEL, sequence=128, global_batch=batches)
    plan = ParallelPlan(pp=4, interleave=2)
    program = counts_of_program(write_program(workload, plan), batches)
    graph = counts_of_graph(build_graph(workload, plan))
    assert program.nodes == graph.nodes
    assert program.matrix_flop == graph.matrix_flop
    sent, expected = (c.messages * c.message_bytes for c in (program, graph))
    assert sent.tolist() == expected.tolist()
    assert program.messages.tolist() == graph.messages.tolist()
    assert program.collectives.tolist() == graph.collectives.tolist()

"""A simulator that has met a plan before gives what a fresh one gives."""

import pytest

from simcore import Dimension, ParallelPlan, Platform, Simulator, TrainingWorkload, load_npu
from simcore.config import Run
from simcore.engines.stages.plan_code import PlanCache
from simcore.simulation import run_with_iteration, simulate_run
from simcore.workload import Model

MODEL = Model.build(name="m", layers=8, hidden=256, heads=8, ffn=1024, vocabulary=1024)


def run_of(bandwidth_bytes_per_s: float, npu: str = "a100_80", **plan: int) -> Run:
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
    size_bytes = PlanCache().code(run.workload, run.plan).size_bytes
    cache = PlanCache(limit_bytes=2 * size_bytes)
    first = cache.code(run.workload, run.plan)
    second = cache.code(run.workload, ParallelPlan(dp=2))
    assert cache.code(run.workload, run.plan) is first
    cache.code(run.workload, run.plan.model_copy(update={"dp": 4}))
    assert cache.code(run.workload, ParallelPlan(dp=2)) is not second
    cache.code(run.workload, run.plan.model_copy(update={"dp": 1}))
    assert cache.code(run.workload, run.plan) is not first


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

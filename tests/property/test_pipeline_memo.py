"""Looking situations up gives what executing every node gives, to the nanosecond.

Both kernels share the rules of an NPU, so a simulator of stages in plain Python, which shares
nothing with them, judges them too.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_stages import PlainStages

from simcore.compute import COMPUTE_MODELS
from simcore.engines.classes.by_classes import run_nodes
from simcore.engines.collectives.ends import SharedEnds
from simcore.engines.iteration import Iteration, IterationRunner
from simcore.engines.stages import by_stages, plan_code
from simcore.engines.stages.run import PipelineRun, layout_of, run_pipeline
from simcore.errors import ConfigError, InfeasibleError
from simcore.kernels.stages import stage_layout as f
from simcore.machine import Dimension, Platform, load_npu
from simcore.machine.system import EXECUTION_PROFILES, ExecutionProfile, System
from simcore.topologies import TOPOLOGIES
from simcore.workload import Model, ParallelPlan, TrainingWorkload, build_graph, load_model
from simcore.workload.graph import TrainingGraph

Job = tuple[TrainingWorkload, Platform, ParallelPlan, System]
SEEN: list[Iteration] = []
PROLONGED: list[bool] = []
JUDGED: list[int] = []
MOST_JUDGED = 10_000
"""Nodes of the largest run that is repeated in plain Python, which takes a second."""


@st.composite
def plans(draw: st.DrawFn) -> ParallelPlan:
    pp = draw(st.sampled_from([1, 2, 3, 4, 6]))
    interleave = draw(st.sampled_from([1, 1, 2, 3])) if pp > 1 else 1
    schedules = ["1f1b"] if interleave > 1 else ["1f1b", "1f1b", "gpipe"]
    return ParallelPlan(
        tp=draw(st.sampled_from([1, 2, 4])),
        cp=draw(st.sampled_from([1, 1, 2])),
        dp=draw(st.sampled_from([1, 2])),
        pp=pp,
        interleave=interleave,
        sequence_parallel=draw(st.booleans()),
        zero_stage=draw(st.sampled_from([0, 1, 2, 3])),
        recompute=draw(st.sampled_from(["none", "selective", "full"])),
        schedule=draw(st.sampled_from(schedules)),
    )


@st.composite
def jobs(draw: st.DrawFn) -> Job:
    plan = draw(plans())
    batches = draw(st.sampled_from([48, 60, 31, 40, 24, 13, 8, 5, 3, 2, 1]))
    if plan.interleave > 1:
        batches = max(batches // plan.pp, 1) * plan.pp
    model = Model.build(
        name="small",
        layers=draw(st.integers(plan.pp * plan.interleave, 18)),
        hidden=64 * draw(st.sampled_from([4, 16])),
        heads=8,
        ffn=1024,
        vocabulary=draw(st.sampled_from([1024, 20000])),
        tied_embeddings=draw(st.booleans()),
    )
    dimensions = tuple(
        Dimension(
            topology=draw(st.sampled_from(list(TOPOLOGIES))),
            npus=size,
            bandwidth_bytes_per_s=draw(st.sampled_from([2e9, 20e9, 333e9])),
            latency_s=draw(st.sampled_from([0.0, 700e-9, 20e-6])),
        )
        for size in (plan.tp, plan.cp, plan.dp, plan.pp)
        if size > 1
    ) or (Dimension.build(topology="ring", npus=2, bandwidth_bytes_per_s=1e9, latency_s=0.0),)
    system = System(
        chunks=draw(st.sampled_from([1, 4])),
        all_reduce=(draw(st.sampled_from(["ring", "direct", "double_binary_tree"])),),
        phase_end="together",
    )
    workload = TrainingWorkload(model=model, sequence=64, global_batch=plan.dp * batches)
    return workload, Platform(npu=load_npu("a100_80"), dimensions=dimensions), plan, system


def compare(job: Job) -> Iteration | None:
    """The iteration, once it is known to be that of every node, and that of plain Python."""
    workload, platform, plan, system = job
    runner = IterationRunner(platform, system, COMPUTE_MODELS["roofline"]())
    try:
        looked_up = runner.run(workload, plan)
    except (InfeasibleError, ConfigError):
        return None
    plain = runner.run_graph(build_graph(workload, plan))
    np.testing.assert_array_equal(looked_up.finish_ns, plain.finish_ns)
    np.testing.assert_array_equal(looked_up.booked_ns, plain.booked_ns)
    assert looked_up.categories == plain.categories
    assert looked_up.events == plain.events
    assert looked_up.work.nodes == plain.work.nodes
    assert looked_up.work.matrix_flop == pytest.approx(plain.work.matrix_flop, rel=1e-12)
    np.testing.assert_allclose(looked_up.work.sent_bytes, plain.work.sent_bytes, rtol=1e-12)
    assert looked_up.work.held_ns == plain.work.held_ns
    if plain.events <= MOST_JUDGED:
        judge_in_plain_python(job, plain)
        JUDGED.append(plain.events)
    return looked_up


def judge_in_plain_python(job: Job, ran: Iteration) -> None:
    """Check the time of every node."""
    _, platform, plan, system = job
    assert ran.nodes is not None
    graph, lowered, execution = ran.nodes.graph, ran.nodes.lowered, ran.nodes.execution
    ends = SharedEnds(platform, system, graph.collectives, plan.stage_stride)
    judge = PlainStages(graph, lowered, system.profile, ends)
    judge.run()
    np.testing.assert_array_equal(execution.start_ns, [node.start_ns for node in judge.nodes])
    np.testing.assert_array_equal(execution.end_ns, [node.end_ns for node in judge.nodes])
    np.testing.assert_array_equal(execution.booked_ns[:, :-1], judge.booked[:, :-1])


@settings(derandomize=True, deadline=None, max_examples=150)
@given(jobs())
def test_looked_up_run_equals_the_run_of_every_node(job: Job) -> None:
    iteration = compare(job)
    if iteration is not None:
        SEEN.append(iteration)


def test_most_of_those_runs_were_looked_up() -> None:
    if not SEEN:
        pytest.skip("the runs above were not part of this session")
    # elsewhere a message ties with an event of its receiver, and their causes tie as well
    assert sum(iteration.situations > 0 for iteration in SEEN) > 0.95 * len(SEEN)
    assert len(JUDGED) > len(SEEN) / 2


@pytest.mark.parametrize(("compute_slots", "streams"), [(1, 2), (2, 1), (2, 3)])
@settings(derandomize=True, deadline=None, max_examples=30)
@given(job=jobs())
def test_it_does_with_more_slots_and_streams(compute_slots: int, streams: int, job: Job) -> None:
    profile = ExecutionProfile(compute_slots=compute_slots, communication_streams=streams)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(System, "profile", property(lambda _: profile))
        compare(job)
    assert EXECUTION_PROFILES["astra_sim"].compute_slots == 1


@settings(derandomize=True, deadline=None, max_examples=60)
@given(job=jobs())
def test_it_does_where_a_shorter_run_is_tried_first(job: Job) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan_code, "_FAR_LONGER", 2)
        iteration = compare(job)
    if iteration is not None:
        PROLONGED.append(iteration.repeated > 0)


def test_many_of_those_shorter_runs_were_prolonged() -> None:
    if not PROLONGED:
        pytest.skip("the runs above were not part of this session")
    assert sum(PROLONGED) > len(PROLONGED) / 8


def test_a_short_run_is_prolonged_where_the_iteration_is_far_longer() -> None:
    model = Model.build(name="m", layers=4, hidden=256, heads=8, ffn=1024, vocabulary=1024)
    dimension = Dimension.build(
        topology="switch", npus=2, bandwidth_bytes_per_s=20e9, latency_s=1e-6
    )
    platform = Platform(npu=load_npu("a100_80"), dimensions=(dimension,))
    workload = TrainingWorkload(model=model, sequence=64, global_batch=600)
    iteration = compare((workload, platform, ParallelPlan(pp=2), System(phase_end="together")))
    assert iteration is not None
    assert iteration.repeated > 500


@pytest.mark.parametrize(("interleave", "leaps_to"), [(1, 0.2), (2, 0.4)])
def test_a_run_leaps_over_its_steady_state(
    interleave: int, leaps_to: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[PipelineRun | None] = []

    def recorded(*arguments: Any) -> PipelineRun | None:
        runs.append(run_pipeline(*arguments))
        return runs[-1]

    monkeypatch.setattr(by_stages, "run_pipeline", recorded)
    model = Model.build(name="m", layers=8, hidden=256, heads=8, ffn=1024, vocabulary=1024)
    dimension = Dimension.build(
        topology="switch", npus=4, bandwidth_bytes_per_s=20e9, latency_s=1e-6
    )
    platform = Platform(npu=load_npu("a100_80"), dimensions=(dimension,))
    workload = TrainingWorkload(model=model, sequence=128, global_batch=240)
    plan = ParallelPlan(pp=4, interleave=interleave)
    compare((workload, platform, plan, System(phase_end="together")))
    (ran,) = runs
    assert ran is not None
    assert ran.finished
    assert ran.periods > 0
    assert ran.followed < leaps_to * 4 * 240 * 2 * interleave


def test_stages_leave_their_finale_between_the_last_units_of_chunks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    began: list[int] = []

    def recorded(*arguments: Any) -> PipelineRun | None:
        code, _, profile, _, workspace = arguments
        ran = run_pipeline(*arguments)
        layout, _ = layout_of(code, profile, instant=False)
        first = layout.stage + f.BEGAN
        stages = workspace.words(layout.pool_end)[first:][: code.stages * f.STAGE_FIELDS]
        began.extend(stages[:: f.STAGE_FIELDS].tolist())
        return ran

    monkeypatch.setattr(by_stages, "run_pipeline", recorded)
    model = Model.build(name="m", layers=24, hidden=256, heads=8, ffn=1024, vocabulary=1024)
    dimensions = tuple(
        Dimension.build(topology="switch", npus=npus, bandwidth_bytes_per_s=20e9, latency_s=1e-6)
        for npus in (2, 4)
    )
    platform = Platform(npu=load_npu("a100_80"), dimensions=dimensions)
    workload = TrainingWorkload(model=model, sequence=128, global_batch=16)
    plan = ParallelPlan(dp=2, pp=4, interleave=3, zero_stage=1)
    compare((workload, platform, plan, System(phase_end="together")))
    last_unit = 2 * 8 * 3 - 1
    assert began == [last_unit] * 4


def test_situations_do_not_multiply_with_stages_and_microbatches() -> None:
    model = Model.build(name="m", layers=32, hidden=256, heads=8, ffn=1024, vocabulary=1024)
    dimension = Dimension(topology="switch", npus=16, bandwidth_bytes_per_s=20e9, latency_s=1e-6)
    platform = Platform(npu=load_npu("a100_80"), dimensions=(dimension,))
    workload = TrainingWorkload(model=model, sequence=128, global_batch=24)
    runner = IterationRunner(platform, System(), COMPUTE_MODELS["roofline"]())
    iteration = runner.run(workload, ParallelPlan(pp=16))
    units = 16 * 24 * 2
    assert 0 < iteration.situations < units / 5


def test_a_message_that_ties_with_a_send_is_ordered_by_when_their_causes_were_decided() -> None:
    # on a middle stage a send ends when a message comes that was sent at the same time, both at
    # the end of collectives of which one was begun long before the other
    sizes = ((32, 300e9, 936e-9), (128, 25e9, 2e-6), (4, 25e9, 3e-6))
    dimensions = tuple(
        Dimension.build(
            topology="switch", npus=npus, bandwidth_bytes_per_s=rate, latency_s=latency_s
        )
        for npus, rate, latency_s in sizes
    )
    plan = ParallelPlan(
        tp=4, cp=4, pp=8, dp=128, interleave=4, sequence_parallel=True, zero_stage=2,
        recompute="selective", flash_attention=True, fused_loss=True, fused_gradients=True,
    )  # fmt: skip
    workload = TrainingWorkload(model=load_model("llama3_405b"), sequence=8192, global_batch=2048)
    system = System(
        chunks=4,
        all_reduce=("double_binary_tree", "halving_doubling", "ring"),
        collective_optimization="local_bw_aware",
        execution="streams",
        phase_end="together",
    )
    platform = Platform(npu=load_npu("h100_80"), dimensions=dimensions)
    iteration = compare((workload, platform, plan, system))
    assert iteration is not None
    assert iteration.situations > 0


@pytest.mark.parametrize("is_decided", [True, False])
def test_of_a_run_that_ties_at_its_end_at_most_what_it_does_not_leap_over_is_run_node_by_node(
    is_decided: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # stages in step with each other send at once, and the order decides who gets a stream
    nodes: list[int] = []

    def left_open(*arguments: Any) -> PipelineRun | None:
        ran = run_pipeline(*arguments)
        return ran and replace(ran, finished=is_decided and ran.finished)

    def recorded(graph: TrainingGraph, *rest: Any) -> Any:
        nodes.append(sum(stage.nodes for stage in graph.stages))
        return run_nodes(graph, *rest)

    monkeypatch.setattr(by_stages, "run_nodes", recorded)
    monkeypatch.setattr(by_stages, "run_pipeline", left_open)
    sizes = ((16, 300e9, 936e-9), (64, 100e9, 2e-6), (16, 12.5e9, 3e-6))
    dimensions = tuple(
        Dimension.build(
            topology="switch", npus=npus, bandwidth_bytes_per_s=rate, latency_s=latency_s
        )
        for npus, rate, latency_s in sizes
    )
    plan = ParallelPlan(
        tp=16, cp=4, pp=16, dp=16, interleave=4, sequence_parallel=True, zero_stage=2,
        recompute="selective", flash_attention=True, fused_loss=True, fused_gradients=True,
    )  # fmt: skip
    workload = TrainingWorkload(model=load_model("llama3_405b"), sequence=8192, global_batch=2048)
    system = System(
        chunks=64,
        scheduling="lifo",
        all_reduce=("ring", "ring", "double_binary_tree"),
        execution="streams",
        phase_end="together",
    )
    platform = Platform(npu=load_npu("h100_80"), dimensions=dimensions)
    iteration = compare((workload, platform, plan, system))
    assert iteration is not None
    assert iteration.nodes is None
    assert (iteration.situations > 0) is is_decided
    assert (sum(nodes) == 0) is is_decided
    assert sum(nodes) < 0.7 * iteration.events

"""A run that is prolonged from its steady state equals the run of every micro-batch."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.compute import COMPUTE_MODELS
from simcore.errors import InfeasibleError
from simcore.hardware import Dimension, Platform, load_npu
from simcore.system.iteration import IterationRunner
from simcore.system.spec import System
from simcore.terms import TopologyKind
from simcore.workload import Model, ParallelPlan, TrainingWorkload, build_graph

PROLONGED: list[bool] = []


@st.composite
def jobs(draw: st.DrawFn) -> tuple[TrainingWorkload, Platform, ParallelPlan, System]:
    tp = draw(st.sampled_from([1, 2, 4]))
    pp = draw(st.sampled_from([1, 2, 3, 4, 6]))
    dp = draw(st.sampled_from([1, 2]))
    interleave = draw(st.sampled_from([1, 1, 2])) if pp > 1 else 1
    batches = draw(st.integers(20, 60)) // pp * pp
    model = Model.build(
        name="small",
        layers=draw(st.integers(pp * interleave, 14)),
        hidden=64 * draw(st.sampled_from([4, 16])),
        heads=8,
        ffn=1024,
        vocabulary=draw(st.sampled_from([0, 1024, 20000])),
        tied_embeddings=False,
    )
    workload = TrainingWorkload(model=model, sequence=64, global_batch=dp * batches)
    dimensions = tuple(
        Dimension(
            topology=draw(st.sampled_from(list(TopologyKind))),
            npus=size,
            bandwidth_bytes_per_s=draw(st.sampled_from([2e9, 20e9, 333e9])),
            latency_s=draw(st.sampled_from([0.0, 700e-9, 20e-6])),
        )
        for size in (tp, dp, pp)
        if size > 1
    ) or (Dimension.build(topology="ring", npus=2, bandwidth_bytes_per_s=1e9, latency_s=0.0),)
    plan = ParallelPlan(
        tp=tp,
        pp=pp,
        dp=dp,
        interleave=interleave,
        sequence_parallel=draw(st.booleans()),
        zero_stage=draw(st.sampled_from([0, 1, 2])),
        recompute=draw(st.sampled_from(["none", "full"])),
    )
    algorithm = draw(st.sampled_from(["ring", "direct", "double_binary_tree"]))
    system = System(
        chunks=draw(st.sampled_from([1, 4])), all_reduce=(algorithm,), phase_end="together"
    )
    return workload, Platform(npu=load_npu("a100_80"), dimensions=dimensions), plan, system


@settings(derandomize=True, deadline=None, max_examples=120)
@given(jobs())
def test_prolonged_run_equals_the_run_of_every_microbatch(
    job: tuple[TrainingWorkload, Platform, ParallelPlan, System],
) -> None:
    workload, platform, plan, system = job
    runner = IterationRunner(platform, system, COMPUTE_MODELS["roofline"]())
    try:
        short = runner.run(workload, plan)
        whole = runner.run_graph(build_graph(workload, plan))
    except InfeasibleError:
        return
    PROLONGED.append(short.repeated > 0)
    np.testing.assert_array_equal(short.finish_ns, whole.finish_ns)
    np.testing.assert_array_equal(short.booked_ns, whole.booked_ns)
    assert short.work.nodes == whole.work.nodes
    assert short.work.matrix_flop == pytest.approx(whole.work.matrix_flop, rel=1e-12)
    np.testing.assert_allclose(short.work.sent_bytes, whole.work.sent_bytes, rtol=1e-12)


def test_many_of_those_runs_were_prolonged() -> None:
    if not PROLONGED:
        pytest.skip("the runs above were not part of this session")
    assert sum(PROLONGED) > len(PROLONGED) / 3

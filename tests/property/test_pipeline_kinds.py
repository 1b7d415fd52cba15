"""Looking situations up is exact for all kinds of layers, and for all that a plan may choose."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_pipeline_memo import Job, compare

from simcore.machine import Dimension, Platform, load_npu
from simcore.machine.system import System
from simcore.topologies import TOPOLOGIES
from simcore.workload import Model, ParallelPlan, TrainingWorkload

SEEN: list[str] = []
SHAPE: dict[str, Any] = {
    "name": "small", "kind": "llama", "layers": 8, "hidden": 256, "heads": 16, "ffn": 512,
    "vocabulary": 1024,
}  # fmt: skip
ROUTED = {"count": 8, "active": 2, "ffn": 256}
MODELS = {
    "dense": SHAPE,
    "experts": SHAPE | {"experts": ROUTED | {"shared_ffn": 256, "first_layer": 1}},
    "hybrid": SHAPE
    | {
        "pattern": "MEM*E-M*",
        "experts": ROUTED | {"latent_width": 128},
        "mamba": {"heads": 16, "head_width": 32, "groups": 8, "state": 16},
    },
}
CHOICES: list[dict[str, Any]] = [
    {"schedule": "zb_h1"},
    {"schedule": "zb_h1", "zero_stage": 1, "overlap_weights": True},
    {"zero_stage": 1, "overlap_weights": True, "bucket_bytes": 2e6},
    {"zero_stage": 2, "shard": 2},
    {"zero_stage": 3, "prefetch": 2},
    {"zero_stage": 3, "prefetch": 0, "reshard": False},
    {"zero_stage": 3, "scatter_each": False},
    {"zero_stage": 2, "scatter_each": False, "bucket_bytes": 1e6},
    {"zero_stage": 3, "shard": 2, "recompute": "full", "recompute_layers": 1},
    {"overlap_gradients": False, "bucket_bytes": 1e6},
    {"overlap_tensor": True},
    {"recompute_parts": ("norms", "activations")},
    {"recompute_parts": ("mlp", "norms")},
    {"schedule": "zb_h1", "overlap_tensor": True},
    {"average_loss": True, "scale_loss": True},
    {"cp_kind": "ring"},
    {"cp_kind": "ulysses"},
]


@st.composite
def jobs(draw: st.DrawFn, choice: dict[str, Any]) -> Job:
    name = draw(st.sampled_from(list(MODELS)))
    pp = draw(st.sampled_from([2, 4, 4, 8]))
    interleave = draw(st.sampled_from([1, 1, 8 // pp])) if "schedule" not in choice else 1
    has_experts = name != "dense"
    plan = ParallelPlan(
        tp=draw(st.sampled_from([1, 2])),
        cp=2 if "cp_kind" in choice else draw(st.sampled_from([1, 2])),
        dp=2,
        pp=pp,
        ep=(ep := draw(st.sampled_from([1, 2])) if has_experts else 1),
        dispatch_group=draw(st.sampled_from([None, 1, ep])) if ep > 1 else None,
        etp=draw(st.sampled_from([None, 1])) if has_experts else None,
        interleave=interleave,
        sequence_parallel=True,
        **choice,
    )
    batches = draw(st.sampled_from([48, 31, 24, 13, 8, 5, 2, 1]))
    if interleave > 1:
        batches = max(batches // pp, 1) * pp
    dimensions = tuple(
        Dimension(
            topology=draw(st.sampled_from(list(TOPOLOGIES))),
            npus=size,
            bandwidth_bytes_per_s=draw(st.sampled_from([2e9, 20e9, 333e9])),
            latency_s=draw(st.sampled_from([0.0, 700e-9])),
        )
        for size in (plan.tp, plan.cp, plan.dp, plan.pp)
        if size > 1
    )
    workload = TrainingWorkload(
        model=Model.model_validate(MODELS[name]), sequence=128, global_batch=2 * batches
    )
    platform = Platform(npu=load_npu("a100_80"), dimensions=dimensions)
    return (workload, platform, plan, System(phase_end="together"))


@pytest.mark.parametrize("choice", CHOICES, ids=str)
@settings(derandomize=True, deadline=None, max_examples=10)
@given(data=st.data())
def test_every_choice_takes_the_time_of_its_nodes(
    choice: dict[str, Any], data: st.DataObject
) -> None:
    if compare(data.draw(jobs(choice))) is not None:
        SEEN.append(str(choice))


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_each_choice_was_compared(choice: dict[str, Any]) -> None:
    if not SEEN:
        pytest.skip("runs after the comparison")
    assert str(choice) in SEEN


@pytest.mark.parametrize(("pp", "group"), [(2, 2), (2, 4), (4, 4), (4, 6), (2, 12)])
@pytest.mark.parametrize("groups", [1, 2, 9])
def test_groups_of_any_size_take_the_time_of_their_nodes(pp: int, group: int, groups: int) -> None:
    plan = ParallelPlan(dp=2, pp=pp, interleave=2, interleave_group=group)
    workload = TrainingWorkload(
        model=Model.model_validate(SHAPE), sequence=128, global_batch=2 * group * groups
    )
    dimensions = tuple(
        Dimension(topology="switch", npus=size, bandwidth_bytes_per_s=20e9, latency_s=1e-6)
        for size in (2, pp)
    )
    platform = Platform(npu=load_npu("a100_80"), dimensions=dimensions)
    assert compare((workload, platform, plan, System(phase_end="together"))) is not None

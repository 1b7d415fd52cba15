"""Numbers of 4 bytes that NPUs agree on once per iteration: gradient norm, loss, overflow flag.

Which training really has them: M. Shoeybi et al., arXiv:1909.08053, and its code (Megatron-LM).
"""

from typing import Any

import numpy as np
import pytest
from graph_sums import bytes_by_axis

from simcore import load_run, simulate_run
from simcore.terms import CollectiveKind, NodeKind
from simcore.workload import Axis, Model, ParallelPlan, TrainingGraph, TrainingWorkload, build_graph

MODEL = Model(
    name="m", kind="gpt", layers=6, hidden=96, heads=12, ffn=384, vocabulary=512,
    tied_embeddings=True,
)  # fmt: skip
NUMBER = 4
PLANS: list[dict[str, Any]] = [
    {},
    {"tp": 2},
    {"dp": 4},
    {"pp": 3},
    {"cp": 2, "pp": 2, "interleave": 3},
    {"tp": 2, "pp": 3, "dp": 2},
    {"tp": 2, "pp": 2, "dp": 4, "zero_stage": 1},
    {"pp": 2, "dp": 4, "zero_stage": 3, "shard": 2},
    {"pp": 3, "dp": 2, "schedule": "zb_h1"},
    {"dp": 4, "updates": {"kind": "servers"}},
]


def graph_of(**plan: Any) -> TrainingGraph:
    workload = TrainingWorkload(model=MODEL, sequence=48, global_batch=24)
    return build_graph(workload, ParallelPlan(**plan))


def norm_axes(plan: dict[str, Any]) -> set[Axis]:
    """Axes along which NPUs hold different gradients when they take the norm."""
    axes = {axis for axis in (Axis.TP, Axis.PP) if plan.get(str(axis), 1) > 1}
    if plan.get("zero_stage"):
        axes.add(Axis.SHARD if "shard" in plan else Axis.DP)
    return axes


def further(plan: dict[str, Any], **choice: bool) -> dict[Axis, list[int]]:
    """Bytes that a *choice* adds, by axis and stage."""
    plain, chosen = bytes_by_axis(graph_of(**plan)), bytes_by_axis(graph_of(**plan, **choice))
    stages = plan.get("pp", 1)
    none = np.zeros(stages, np.int64)
    found = {axis: (sums - plain.get(axis, none)).tolist() for axis, sums in chosen.items()}
    return {axis: sums for axis, sums in found.items() if any(sums)}


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_the_loss_is_averaged_over_all_replicas_on_the_last_stage(plan: dict[str, Any]) -> None:
    replicas, stages = plan.get("dp", 1) * plan.get("cp", 1), plan.get("pp", 1)
    expected = {Axis.DP: [0] * (stages - 1) + [NUMBER]} if replicas > 1 else {}
    assert further(plan, average_loss=True) == expected


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_the_overflow_flag_goes_where_the_gradient_norm_goes(plan: dict[str, Any]) -> None:
    expected = {axis: [NUMBER] * plan.get("pp", 1) for axis in norm_axes(plan)}
    assert further(plan, scale_loss=True) == expected


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_gradients_are_divided_and_the_flag_known_before_the_norm(plan: dict[str, Any]) -> None:
    graph = graph_of(**plan, scale_loss=True)
    for stage in graph.stages:
        names = [
            graph.operators[item].name if kind == NodeKind.COMPUTE else graph.collectives[item].name
            for kind, item in zip(stage.kind.tolist(), stage.item.tolist(), strict=True)
            if kind in (NodeKind.COMPUTE, NodeKind.COLLECTIVE)
        ]
        starts = ("gradient unscaling", "overflow", "gradient norm")
        own = [name for name in names if name.startswith(starts)]
        count = len(norm_axes(plan))
        flags, norms = own[1 : 1 + count], own[2 + count :]
        assert own[0] == "gradient unscaling"
        assert own[1 + count] == "gradient norm"
        assert [name.removeprefix("overflow flag") for name in flags] == [
            name.removeprefix("gradient norm") for name in norms
        ]


def test_unscaling_reads_and_writes_the_gradients_that_an_npu_owns() -> None:
    for zero_stage, owned in ((0, MODEL.parameters), (1, MODEL.parameters // 4)):
        graph = graph_of(dp=4, zero_stage=zero_stage, scale_loss=True)
        kernels = [
            kernel for operator in graph.operators for kernel in operator.kernels
            if kernel.name == "gradient unscaling"
        ]  # fmt: skip
        assert [kernel.bytes for kernel in kernels] == [2 * 4 * owned]


def test_what_all_agree_on_takes_as_long_as_its_messages() -> None:
    run: dict[str, Any] = {
        "workload": {"model": "gpt3_175b_4layers", "sequence": 256, "global_batch": 8},
        "platform": {
            "npu": "a100_80",
            "dimensions": [
                {"topology": "ring", "npus": 4, "bandwidth": "50 GB/s", "latency": "1 ms"},
            ],
        },
        "plan": {"dp": 4, "overlap_gradients": False, "bucket": "1 TB"},
        "system": {"chunks": 1, "all_reduce": "ring"},
    }
    plain, averaged = (
        simulate_run(load_run(run, {"plan.average_loss": choice})).iteration_time_s
        for choice in (False, True)
    )
    # 2 (p - 1) steps around a ring of 4, all of them latency
    assert averaged - plain == pytest.approx(6 * 1e-3, rel=1e-2)


def test_kinds_are_all_reduces_of_one_number() -> None:
    graph = graph_of(tp=2, pp=2, dp=2, zero_stage=1, average_loss=True, scale_loss=True)
    small = [op for op in graph.collectives if op.size_bytes == NUMBER]
    assert {op.kind for op in small} == {CollectiveKind.ALL_REDUCE}
    assert len(small) == 2 * 3 + 1

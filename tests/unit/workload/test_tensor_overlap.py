"""Tensor parallel collectives beside the products that they belong to."""

from typing import Any

import pytest
from graph_sums import bytes_by_axis, total_flop
from plain_executor import run

from simcore.terms import NodeKind
from simcore.workload import (
    Axis,
    Model,
    ParallelPlan,
    StageGraph,
    TrainingGraph,
    TrainingWorkload,
    build_graph,
)

LAYERS, BATCH = 4, 6
BARE = Model(name="m", kind="llama", layers=LAYERS, hidden=64, heads=8, ffn=160)
EXPERTS = Model.model_validate(
    BARE.model_dump()
    | {"vocabulary": 512, "experts": {"count": 4, "active": 2, "ffn": 96, "shared_ffn": 64}}
)


def graph_of(model: Model, **plan: Any) -> TrainingGraph:
    workload = TrainingWorkload(model=model, sequence=32, global_batch=BATCH)
    return build_graph(workload, ParallelPlan(tp=4, **plan))


@pytest.mark.parametrize("model", [BARE, EXPERTS], ids=["bare", "experts"])
@pytest.mark.parametrize(
    "plan", [{"sequence_parallel": True}, {"pp": 2, "sequence_parallel": True}]
)
def test_overlap_changes_neither_work_nor_traffic(model: Model, plan: dict[str, Any]) -> None:
    apart, beside = (graph_of(model, overlap_tensor=on, **plan) for on in (False, True))
    assert total_flop(apart) == total_flop(beside)
    ours, theirs = bytes_by_axis(beside), bytes_by_axis(apart)
    assert {axis: sums.tolist() for axis, sums in ours.items()} == {
        axis: sums.tolist() for axis, sums in theirs.items()
    }
    ends = run(beside, lambda stage, node: 1.0).ends
    assert [len(of_stage) for of_stage in ends] == [stage.nodes for stage in beside.stages]


@pytest.mark.parametrize("split", [False, True])
def test_forward_collectives_hide_behind_products_of_the_same_length(split: bool) -> None:
    def forward_ends(overlap: bool) -> float:
        graph = graph_of(BARE, overlap_tensor=overlap, sequence_parallel=split)

        def duration(stage: StageGraph, node: int) -> float:
            if stage.kind[node] == NodeKind.COMPUTE:
                return float(graph.operators[stage.item[node]].phase == "forward")
            operation = graph.collectives[stage.item[node]]
            return float(operation.phase == "forward" and operation.axis is Axis.TP)

        return run(graph, duration).makespan

    nodes = 2 * LAYERS * BATCH  # compute nodes of the forward passes
    collectives = nodes * (2 if split else 1)
    assert forward_ends(overlap=False) == nodes + collectives
    # one network: it is the bottleneck where two collectives belong to each product
    assert forward_ends(overlap=True) <= max(nodes, collectives) + 2


@pytest.mark.parametrize("split", [False, True])
def test_separate_gradients_wait_for_the_sum_of_the_input_gradient(split: bool) -> None:
    def makespan(fused: bool) -> tuple[float, dict[str, list[int]]]:
        graph = graph_of(BARE, fused_gradients=fused, sequence_parallel=split)
        traffic = {str(axis): sums.tolist() for axis, sums in bytes_by_axis(graph).items()}
        return run(graph, lambda stage, node: 1.0).makespan, traffic

    (beside, sent), (after, sent_too) = makespan(True), makespan(False)
    assert after > beside
    assert sent == sent_too

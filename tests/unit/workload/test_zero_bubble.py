"""The schedule that computes weight gradients where 1F1B would wait."""

from typing import Any

import numpy as np
import pytest
from graph_sums import bytes_by_axis, total_flop
from plain_executor import run

from simcore.errors import InfeasibleError
from simcore.memory.footprint import footprint
from simcore.terms import NodeKind
from simcore.workload import (
    Axis,
    Model,
    ParallelPlan,
    PassPhase,
    StageGraph,
    TrainingGraph,
    TrainingWorkload,
    build_graph,
)

LAYERS, HIDDEN, SEQUENCE = 8, 64, 32
BARE = Model(name="m", kind="llama", layers=LAYERS, hidden=HIDDEN, heads=8, ffn=160)
TABLED = BARE.model_copy(update={"vocabulary": 512})
EXPERTS = Model.model_validate(
    TABLED.model_dump()
    | {"experts": {"count": 4, "active": 2, "ffn": 96, "shared_ffn": 64, "every": 2}}
)


def graph_of(model: Model, batches: int, **plan: Any) -> TrainingGraph:
    dp = plan.get("dp", 1)
    workload = TrainingWorkload(model=model, sequence=SEQUENCE, global_batch=batches * dp)
    return build_graph(workload, ParallelPlan(**({"schedule": "zb_h1"} | plan)))


def is_weight_gradient(graph: TrainingGraph, item: int) -> bool:
    return all(k.name.endswith("weight gradient") for k in graph.operators[item].kernels)


@pytest.mark.parametrize(("forward", "inputs", "weights"), [(1, 1, 1), (4, 5, 3), (2, 3, 2)])
@pytest.mark.parametrize(("pp", "batches"), [(2, 4), (4, 8), (8, 16), (4, 4)])
def test_bubble_is_that_of_the_paper(
    pp: int, batches: int, forward: float, inputs: float, weights: float
) -> None:
    graph = graph_of(BARE, batches, pp=pp)

    def duration(stage: StageGraph, node: int) -> float:
        if stage.kind[node] != NodeKind.COMPUTE:
            return 0.0
        operator = graph.operators[stage.item[node]]
        if operator.phase is PassPhase.BACKWARD:
            return float(weights if is_weight_gradient(graph, int(stage.item[node])) else inputs)
        return float(forward if operator.phase is PassPhase.FORWARD else 0)

    layers = LAYERS // pp
    ideal = batches * layers * (forward + inputs + weights)
    bubble = (pp - 1) * layers * (forward + inputs - weights)  # Qi 2024, table 2
    assert run(graph, duration).makespan == ideal + bubble


@pytest.mark.parametrize("model", [BARE, TABLED, EXPERTS], ids=["bare", "tabled", "experts"])
@pytest.mark.parametrize(
    "plan",
    [
        {"pp": 2},
        {"pp": 4, "tp": 2, "sequence_parallel": True},
        {"pp": 4, "dp": 2, "zero_stage": 1, "tp": 2, "sequence_parallel": True},
        {"pp": 8, "cp": 2, "cp_kind": "ring"},
    ],
    ids=str,
)
@pytest.mark.parametrize("batches", [2, 5, 9])
def test_work_and_traffic_are_those_of_whole_backward_passes(
    model: Model, plan: dict[str, Any], batches: int
) -> None:
    cut, whole = (graph_of(model, batches, schedule=name, **plan) for name in ("zb_h1", "1f1b"))
    assert total_flop(cut) == pytest.approx(total_flop(whole), rel=1e-12)
    ours, theirs = bytes_by_axis(cut), bytes_by_axis(whole)
    for axis in Axis:
        if axis in theirs:
            assert ours[axis].tolist() == theirs[axis].tolist(), axis


@pytest.mark.parametrize("batches", [1, 3, 9])
def test_gradients_are_reduced_when_the_last_weight_gradient_is_there(batches: int) -> None:
    graph = graph_of(TABLED, batches, pp=4, dp=2)
    for stage in graph.stages:
        wait_for = {}
        for node in np.flatnonzero(stage.kind == NodeKind.COLLECTIVE).tolist():
            operation = graph.collectives[stage.item[node]]
            if operation.axis is Axis.DP:
                (parent,) = stage.dep[stage.dep_start[node] : stage.dep_start[node + 1]].tolist()
                wait_for[operation.name, int(stage.layer[parent])] = parent
        for (name, layer), parent in wait_for.items():
            if name == "layer gradients":
                of_layer = [
                    node
                    for node in np.flatnonzero(stage.kind == NodeKind.COMPUTE).tolist()
                    if stage.layer[node] == layer
                    and is_weight_gradient(graph, int(stage.item[node]))
                ]
                assert parent == of_layer[-1]
                assert len(of_layer) == batches
        assert len(wait_for) == 2 + (stage.stage in (0, 3))


@pytest.mark.parametrize("batches", [1, 2, 6, 11])
def test_every_node_runs_and_the_units_keep_their_order(batches: int) -> None:
    graph = graph_of(TABLED, batches, pp=4, tp=2, sequence_parallel=True)
    finished = run(graph, lambda stage, node: 1.0)
    for stage, ends in zip(graph.stages, finished.ends, strict=True):
        assert len(ends) == stage.nodes
        computing = np.flatnonzero(stage.kind == NodeKind.COMPUTE)
        times = [ends[int(node)] for node in computing]
        assert times == sorted(times)


def test_all_stages_hold_as_many_microbatches_as_the_first_of_1f1b() -> None:
    workload = TrainingWorkload(model=BARE, sequence=SEQUENCE, global_batch=16)
    zero, plain = (
        [
            stage.activations_bytes
            for stage in footprint(workload, ParallelPlan(pp=4, schedule=name)).stages
        ]
        for name in ("zb_h1", "1f1b")
    )
    assert zero == [plain[0]] * 4


@pytest.mark.parametrize(
    ("rule", "plan"),
    [
        ("split_needs_pp", {}),
        ("split_keeps_layers", {"pp": 2, "zero_stage": 3}),
        ("split_keeps_layers", {"pp": 2, "recompute": "full"}),
        ("schedule_interleaves", {"pp": 2, "interleave": 2}),
    ],
)
def test_plan_that_cannot_be_cut_names_its_rule(rule: str, plan: dict[str, Any]) -> None:
    with pytest.raises(InfeasibleError) as caught:
        graph_of(BARE, 4, **plan)
    assert caught.value.rule == rule

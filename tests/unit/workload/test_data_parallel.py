"""Choices of data parallelism: buckets, overlap, shards with copies, prefetch, formats."""

from typing import Any

import numpy as np
import pytest
from graph_sums import bytes_by_axis
from plain_executor import run

from simcore.errors import ConfigError, InfeasibleError
from simcore.memory.footprint import footprint
from simcore.terms import CollectiveKind, NodeKind
from simcore.workload import (
    Axis,
    CollectiveOp,
    Model,
    ParallelPlan,
    PassPhase,
    StageGraph,
    TrainingGraph,
    TrainingWorkload,
    build_graph,
    load_plan,
)

LAYERS, HIDDEN, DP = 8, 64, 8
MODEL = Model(name="m", kind="llama", layers=LAYERS, hidden=HIDDEN, heads=8, ffn=160)
TABLED = MODEL.model_copy(update={"vocabulary": 512})
LAYER = 4 * HIDDEN**2 + 3 * HIDDEN * 160 + 2 * HIDDEN
SEQUENCE, BATCH = 32, 16
NORM_BYTES = 4


def graph_of(
    model: Model = MODEL, *, formats: dict[str, Any] | None = None, **plan: Any
) -> TrainingGraph:
    workload = TrainingWorkload(
        model=model, sequence=SEQUENCE, global_batch=BATCH, **(formats or {})
    )
    return build_graph(workload, ParallelPlan(dp=DP, **plan))


def collectives(graph: TrainingGraph, axis: Axis) -> list[tuple[int, CollectiveOp]]:
    stage = graph.stages[0]
    nodes = np.flatnonzero(stage.kind == NodeKind.COLLECTIVE).tolist()
    ops = [(node, graph.collectives[stage.item[node]]) for node in nodes]
    return [(node, op) for node, op in ops if op.axis is axis]


def parents(graph: TrainingGraph, node: int) -> list[int]:
    stage = graph.stages[0]
    return [int(node) for node in stage.dep[stage.dep_start[node] : stage.dep_start[node + 1]]]


@pytest.mark.parametrize(
    ("layers_per_bucket", "sizes"), [(1, [1] * 8), (3, [3, 3, 2]), (5, [5, 3]), (20, [8])]
)
def test_buckets_are_filled_to_the_asked_size_and_reduced_when_full(
    layers_per_bucket: int, sizes: list[int]
) -> None:
    graph = graph_of(bucket_bytes=4 * LAYER * layers_per_bucket - 1)
    reductions = collectives(graph, Axis.DP)
    assert [op.size_bytes for _, op in reductions] == [4 * LAYER * size for size in sizes]
    stage = graph.stages[0]
    completed_by = [int(stage.layer[parents(graph, node)[0]]) for node, _ in reductions]
    assert completed_by == [LAYERS - sum(sizes[: i + 1]) for i in range(len(sizes))]


def test_buckets_without_overlap_wait_for_the_whole_backward_pass() -> None:
    graph = graph_of(overlap_gradients=False)
    last = {parents(graph, node)[0] for node, _ in collectives(graph, Axis.DP)}
    assert len(last) == 1
    assert graph.stages[0].layer[last.pop()] == 0


@pytest.mark.parametrize("zero_stage", [1, 2, 3])
@pytest.mark.parametrize("shard", [2, 4, 8])
def test_shards_with_copies_move_the_bytes_of_hybrid_sharding(shard: int, zero_stage: int) -> None:
    graph = graph_of(shard=shard, zero_stage=zero_stage)
    parameters, passes = LAYERS * LAYER, BATCH // DP if zero_stage >= 2 else 1
    gathered = {1: 1, 2: 1, 3: 2 * BATCH // DP}[zero_stage] * 2 * parameters // shard
    scattered = 4 * parameters * passes
    sums = bytes_by_axis(graph)
    if shard == DP:
        assert sums[Axis.DP].tolist() == [scattered + gathered + NORM_BYTES]
        assert Axis.REPLICA not in sums
    else:
        assert sums[Axis.SHARD].tolist() == [scattered + gathered + NORM_BYTES]
        assert sums[Axis.REPLICA].tolist() == [scattered // shard]
        layout = {axis: (group.stride, group.size) for axis, group in graph.groups.items()}
        assert layout[Axis.SHARD] == (1, shard)
        assert layout[Axis.REPLICA] == (shard, DP // shard)


@pytest.mark.parametrize("zero_stage", [2, 3])
@pytest.mark.parametrize("shard", [4, 8])
def test_gradients_may_be_scattered_once_for_all_micro_batches(shard: int, zero_stage: int) -> None:
    graph = graph_of(shard=shard, zero_stage=zero_stage, scatter_each=False)
    parameters = LAYERS * LAYER
    gathered = {2: 1, 3: 2 * BATCH // DP}[zero_stage] * 2 * parameters // shard
    axis = Axis.DP if shard == DP else Axis.SHARD
    assert bytes_by_axis(graph)[axis].tolist() == [4 * parameters + gathered + NORM_BYTES]
    late, each = (
        footprint(graph.workload, graph.plan.model_copy(update={"scatter_each": scatter})).fullest
        for scatter in (False, True)
    )
    assert late.gradients_bytes == 4 * parameters > each.gradients_bytes
    assert late.weights_bytes == each.weights_bytes


def test_a_late_scatter_needs_shards() -> None:
    with pytest.raises(InfeasibleError, match="late_scatter_needs_shards"):
        graph_of(zero_stage=1, scatter_each=False)


def test_copy_of_a_shard_is_summed_after_its_scatter() -> None:
    graph = graph_of(shard=4, zero_stage=2)
    for node, op in collectives(graph, Axis.REPLICA):
        assert op.kind is CollectiveKind.ALL_REDUCE
        (before,) = parents(graph, node)
        scatter = graph.collectives[graph.stages[0].item[before]]
        assert (scatter.axis, scatter.kind) == (Axis.SHARD, CollectiveKind.REDUCE_SCATTER)


@pytest.mark.parametrize(("prefetch", "waits"), [(0, 8), (1, 1), (2, 1)])
def test_weights_arrive_ahead_of_the_layers_that_need_them(prefetch: int, waits: int) -> None:
    graph = graph_of(zero_stage=3, prefetch=prefetch)

    def duration(stage: StageGraph, node: int) -> float:
        if stage.kind[node] == NodeKind.COMPUTE:
            return float(graph.operators[stage.item[node]].phase is not PassPhase.OPTIMIZER)
        return float(graph.collectives[stage.item[node]].kind == CollectiveKind.ALL_GATHER)

    # a layer computes 1 and its weights take 1: without prefetch each layer waits for its own
    assert run(graph, duration).makespan == BATCH // DP * 2 * (LAYERS + waits)


def test_deeper_prefetch_hides_gathers_that_come_in_bursts() -> None:
    def makespan(prefetch: int) -> float:
        graph = graph_of(zero_stage=3, prefetch=prefetch)

        def duration(stage: StageGraph, node: int) -> float:
            if stage.kind[node] == NodeKind.COMPUTE:
                operator = graph.operators[stage.item[node]]
                slow = 2.0 * (int(stage.layer[node]) % 2)
                return 0.0 if operator.phase is PassPhase.OPTIMIZER else 1.0 + slow
            return 2.0 * float(
                graph.collectives[stage.item[node]].kind == CollectiveKind.ALL_GATHER
            )

        return run(graph, duration).makespan

    assert makespan(0) > makespan(1) > makespan(2)


def test_weights_that_are_kept_are_gathered_once_per_microbatch() -> None:
    kept, dropped = (
        [op for _, op in collectives(graph_of(zero_stage=3, reshard=reshard), Axis.DP)]
        for reshard in (False, True)
    )
    gathers = [sum(op.kind is CollectiveKind.ALL_GATHER for op in ops) for ops in (kept, dropped)]
    assert gathers == [LAYERS * BATCH // DP, 2 * LAYERS * BATCH // DP]
    workload = TrainingWorkload(model=MODEL, sequence=SEQUENCE, global_batch=BATCH)
    plan = ParallelPlan(dp=DP, zero_stage=3, reshard=False)
    assert footprint(workload, plan).stages[0].weights_bytes == 2 * LAYERS * LAYER


@pytest.mark.parametrize("pp", [1, 2])
@pytest.mark.parametrize("interleave", [1, 2])
def test_new_weights_can_arrive_beside_the_next_forward_pass(pp: int, interleave: int) -> None:
    if interleave > pp:
        pytest.skip("refused by check_plan")
    plan: dict[str, Any] = {"zero_stage": 1, "pp": pp, "interleave": interleave}
    after, beside = (graph_of(TABLED, overlap_weights=on, **plan) for on in (False, True))
    for number, (one, other) in enumerate(zip(after.stages, beside.stages, strict=True)):
        assert bytes_by_axis(after)[Axis.DP][number] == bytes_by_axis(beside)[Axis.DP][number]
        gathers = [
            node
            for node in np.flatnonzero(other.kind == NodeKind.COLLECTIVE).tolist()
            if beside.collectives[other.item[node]].kind is CollectiveKind.ALL_GATHER
        ]
        assert all(other.dep_start[node] == other.dep_start[node + 1] for node in gathers)
        assert max(gathers) < other.unit_start[1]
        assert len(gathers) == LAYERS // pp + (number == 0) + (number == pp - 1)
        assert one.nodes == other.nodes + 1 - len(gathers)


def test_gathers_beside_the_first_forward_pass_hide_behind_its_layers() -> None:
    graph = graph_of(zero_stage=1, overlap_weights=True)

    def duration(stage: StageGraph, node: int) -> float:
        if stage.kind[node] == NodeKind.COMPUTE:
            return float(graph.operators[stage.item[node]].phase is not PassPhase.OPTIMIZER)
        return float(graph.collectives[stage.item[node]].kind == CollectiveKind.ALL_GATHER)

    assert run(graph, duration).makespan == BATCH // DP * 2 * LAYERS + 1


@pytest.mark.parametrize(
    ("formats", "gradient_bytes", "weight_bytes"),
    [
        ({}, 4, 2),
        ({"gradient_format": "bf16"}, 2, 2),
        ({"precision": "fp8", "weight_format": "fp8"}, 4, 1),
        ({"precision": "fp4", "weight_format": "fp4", "gradient_format": "bf16"}, 2, 0.5),
    ],
)
def test_formats_set_the_bytes_of_gradients_and_weights(
    formats: dict[str, Any], gradient_bytes: int, weight_bytes: float
) -> None:
    parameters = LAYERS * LAYER
    graph = graph_of(formats=formats, zero_stage=1)
    expected = gradient_bytes * parameters + weight_bytes * parameters / DP + NORM_BYTES
    assert bytes_by_axis(graph)[Axis.DP].tolist() == [expected]
    workload = TrainingWorkload(model=MODEL, sequence=SEQUENCE, global_batch=BATCH, **formats)
    stage = footprint(workload, ParallelPlan(dp=DP, zero_stage=1)).stages[0]
    assert stage.weights_bytes == weight_bytes * parameters
    assert stage.gradients_bytes == gradient_bytes * parameters
    assert stage.optimizer_bytes == 12 * parameters // DP


def test_shards_must_divide_the_replicas() -> None:
    with pytest.raises(InfeasibleError, match=r"shards_divide_replicas: dp x cp = 8 does not"):
        graph_of(shard=3, zero_stage=3)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"bucket": "0 MB"}, "plan.bucket: must be greater than 0"),
        ({"bucket": 25}, "plan.bucket: must have a unit"),
        ({"prefetch": -1}, "plan.prefetch: must be greater than or equal to 0, but got -1."),
        ({"shard": 0}, "plan.shard: must be greater than or equal to 1, but got 0."),
    ],
)
def test_broken_choice_is_told_what_to_mend(values: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_plan(values)
    assert message in str(caught.value)

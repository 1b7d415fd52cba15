"""Structure and sizes of the graph, against the published closed forms."""

import os
import pickle
import subprocess
import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest
from every_case import with_every
from graph_sums import bytes_by_axis
from plain_executor import run

from simcore.terms import CollectiveKind, NodeKind
from simcore.units import plain_sum
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

MODEL = Model(
    name="m", kind="gpt", layers=6, hidden=96, heads=12, ffn=384, vocabulary=512,
    tied_embeddings=True,
)  # fmt: skip
UNTIED = MODEL.model_copy(update={"tied_embeddings": False})
BARE = Model(name="bare", layers=8, hidden=64, heads=8, kv_heads=4, ffn=160, kind="llama")
SEQUENCE, BATCH = 48, 24
STREAM_BYTES = 2 * SEQUENCE * 96  # A = w b s h of one sequence of MODEL
NORM_BYTES = 4  # the gradient norm, summed along each axis that splits gradients


def graph_of(model: Model = MODEL, **plan: Any) -> TrainingGraph:
    workload = TrainingWorkload(model=model, sequence=SEQUENCE, global_batch=BATCH)
    return build_graph(workload, ParallelPlan(**plan))


def collectives_of(
    graph: TrainingGraph, stage: StageGraph, axis: Axis, phases: set[PassPhase]
) -> Counter[CollectiveKind]:
    items = stage.item[stage.kind == NodeKind.COLLECTIVE]
    chosen = [graph.collectives[item] for item in items]
    return Counter(op.kind for op in chosen if op.axis is axis and op.phase in phases)


WORK = {PassPhase.FORWARD, PassPhase.RECOMPUTE, PassPhase.BACKWARD}


@pytest.mark.parametrize("recompute", ["none", "selective", "full"])
def test_layer_has_the_collectives_of_megatron(recompute: str) -> None:
    runs = 24 * 8  # micro-batches x layers
    again = 1 if recompute == "full" else 0
    plain = graph_of(BARE, tp=4, recompute=recompute)
    counts = collectives_of(plain, plain.stages[0], Axis.TP, WORK)
    assert counts == {CollectiveKind.ALL_REDUCE: (4 + 2 * again) * runs}
    split = graph_of(BARE, tp=4, recompute=recompute, sequence_parallel=True)
    counts = collectives_of(split, split.stages[0], Axis.TP, WORK)
    assert counts == {
        CollectiveKind.ALL_GATHER: (6 + 2 * again) * runs,
        CollectiveKind.REDUCE_SCATTER: (4 + 2 * again) * runs,
    }


@pytest.mark.parametrize("tp", [2, 4])
@pytest.mark.parametrize("pp", [1, 2, 4])
def test_tensor_parallel_bytes_without_sequence_parallelism(tp: int, pp: int) -> None:
    graph = graph_of(tp=tp, pp=pp, dp=2)
    batches, layers = BATCH // 2, [len(stage.layers) for stage in graph.stages]
    expected = np.array(layers) * 4 * STREAM_BYTES * batches
    expected[0] += STREAM_BYTES * batches  # embedding forward
    expected[-1] += (STREAM_BYTES + 3 * 4 * SEQUENCE) * batches  # head input gradient, loss
    assert bytes_by_axis(graph)[Axis.TP].tolist() == (expected + NORM_BYTES).tolist()


@pytest.mark.parametrize("pp", [1, 2, 4])
def test_tensor_parallel_bytes_with_sequence_parallelism(pp: int) -> None:
    tp = 4
    graph = graph_of(tp=tp, pp=pp, dp=2, sequence_parallel=True)
    batches, layers = BATCH // 2, np.array([len(stage.layers) for stage in graph.stages])
    shard = STREAM_BYTES // tp
    per_batch = layers * (6 * shard + 4 * STREAM_BYTES)
    per_batch[0] += STREAM_BYTES + shard  # embedding: scatter forward, gather backward
    per_batch[-1] += 2 * shard + STREAM_BYTES + 3 * 4 * SEQUENCE
    norms = 2 * 2 * 96 * layers
    norms[-1] += 2 * 96
    expected = per_batch * batches + 4 * norms + NORM_BYTES
    assert bytes_by_axis(graph)[Axis.TP].tolist() == expected.tolist()


@pytest.mark.parametrize("zero_stage", [0, 1])
def test_data_parallel_bytes_reduce_every_gradient_once(zero_stage: int) -> None:
    tp, pp, dp = 2, 3, 4
    graph = graph_of(tp=tp, pp=pp, dp=dp, zero_stage=zero_stage)
    layer = 12 * 96 * 96 // tp + 2 * 2 * 96
    table = 512 * 96 // tp
    parameters = np.array([2 * layer + table, 2 * layer, 2 * layer + table + 2 * 96])
    expected = 4 * parameters + (2 * -(-parameters // dp) + NORM_BYTES if zero_stage else 0)
    sums = bytes_by_axis(graph)
    assert sums[Axis.DP].tolist() == expected.tolist()
    assert sums[Axis.EMBEDDING].tolist() == [4 * table, 0, 4 * table]


@pytest.mark.parametrize(("pp", "interleave"), [(1, 1), (3, 1), (3, 2)])
@pytest.mark.parametrize("zero_stage", [2, 3])
def test_sharded_gradients_and_weights_move_in_every_pass(
    zero_stage: int, pp: int, interleave: int
) -> None:
    dp, batches = 4, BATCH // 4
    graph = graph_of(UNTIED, pp=pp, dp=dp, interleave=interleave, zero_stage=zero_stage)
    layer, table, norm = 12 * 96 * 96 + 2 * 2 * 96, 512 * 96, 2 * 96
    layers = np.full(pp, 6 // pp)
    tables, heads = np.zeros((2, pp), np.int64)
    tables[0] = table
    heads[-1] = table + norm
    parameters = layers * layer + tables + heads
    gathered = (2 * layers * layer + tables + heads) // dp if zero_stage == 3 else 0
    final = 2 * parameters // dp if zero_stage == 2 else 0
    expected = batches * (4 * parameters + 2 * gathered) + final + NORM_BYTES
    assert bytes_by_axis(graph)[Axis.DP].tolist() == expected.tolist()


def test_gathering_of_weights_hides_behind_the_layer_before() -> None:
    graph = graph_of(BARE, dp=4, zero_stage=3)

    def duration(stage: StageGraph, node: int) -> float:
        if stage.kind[node] == NodeKind.COMPUTE:
            return float(graph.operators[stage.item[node]].phase is not PassPhase.OPTIMIZER)
        return float(graph.collectives[stage.item[node]].kind == CollectiveKind.ALL_GATHER)

    # in each pass only the first of the 8 layers waits for its weights
    assert run(graph, duration).makespan == BATCH // 4 * 2 * (8 + 1)


def test_tied_table_of_a_single_stage_is_reduced_once() -> None:
    graph = graph_of(dp=2)
    assert bytes_by_axis(graph)[Axis.DP].tolist() == [4 * MODEL.parameters]
    assert Axis.EMBEDDING not in graph.groups


@pytest.mark.parametrize("split", [False, True])
def test_pipeline_bytes_are_one_boundary_tensor_each_way(split: bool) -> None:
    graph = graph_of(tp=2, pp=3, sequence_parallel=split)
    message = STREAM_BYTES // (2 if split else 1)
    expected = np.array([1, 2, 1]) * message * BATCH + NORM_BYTES
    assert bytes_by_axis(graph)[Axis.PP].tolist() == expected.tolist()


def test_context_parallel_bytes_gather_keys_and_values() -> None:
    cp, tp = 2, 2
    graph = graph_of(BARE, cp=cp, tp=tp)
    shard = 2 * 2 * (SEQUENCE // cp) * (64 // 8 * 4 // tp)
    per_layer = 2 * shard + cp * shard  # gather twice, scatter the gradient of all rows
    assert bytes_by_axis(graph)[Axis.CP].tolist() == [8 * BATCH * per_layer]
    assert graph.groups[Axis.DP].size == cp  # weights are held cp times


def test_groups_number_npus_with_tp_cp_dp_pp_innermost_first() -> None:
    groups = graph_of(tp=2, cp=2, dp=3, pp=2).groups
    layout = {axis: (group.stride, group.size) for axis, group in groups.items()}
    assert layout == {
        Axis.TP: (1, 2),
        Axis.CP: (2, 2),
        Axis.DP: (2, 6),
        Axis.PP: (12, 2),
        Axis.EMBEDDING: (12, 2),
    }


@pytest.mark.parametrize(
    ("plan", "layers"),
    [({}, [-1, 5, 4, 3, 2, 1, 0, -1]), ({"pp": 2, "interleave": 3}, [4, 2, 0, -1])],
)
def test_bucket_is_reduced_as_soon_as_its_last_gradient_is_ready(
    plan: dict[str, Any], layers: list[int]
) -> None:
    graph = graph_of(dp=2, **plan)
    stage = graph.stages[0]
    reduces = [
        node
        for node in np.flatnonzero(stage.kind == NodeKind.COLLECTIVE)
        if graph.collectives[stage.item[node]].axis is Axis.DP
    ]
    parents = [int(stage.dep[stage.dep_start[node]]) for node in reduces]
    assert [int(stage.layer[parent]) for parent in parents] == layers
    assert all(stage.microbatch[parent] == BATCH // 2 - 1 for parent in parents)
    phases = {graph.operators[stage.item[parent]].phase for parent in parents}
    assert phases == {PassPhase.BACKWARD}


def test_weight_gradient_runs_beside_the_sum_of_the_input_gradient() -> None:
    graph = graph_of(BARE, tp=2)
    unit = 1.0

    def duration(stage: StageGraph, node: int) -> float:
        if stage.kind[node] == NodeKind.COMPUTE:
            operator = graph.operators[stage.item[node]]
            return unit if operator.name == "mlp weight gradient" else 0.0
        operation = graph.collectives[stage.item[node]]
        return unit if operation.name == "mlp input gradient" else 0.0

    assert run(graph, duration).makespan == 8 * BATCH * unit


@pytest.mark.parametrize("schedule", ["1f1b", "gpipe"])
@pytest.mark.parametrize("pp", [2, 4, 8])
def test_pipeline_on_a_network_without_cost_has_the_ideal_bubble(schedule: str, pp: int) -> None:
    graph = graph_of(BARE, pp=pp, schedule=schedule)
    forward_s, backward_s = 1.0, 2.5
    time_of = {PassPhase.FORWARD: forward_s, PassPhase.BACKWARD: backward_s}

    def duration(stage: StageGraph, node: int) -> float:
        if stage.kind[node] != NodeKind.COMPUTE:
            return 0.0
        return time_of.get(graph.operators[stage.item[node]].phase, 0.0)

    layers = 8 // pp
    expected = (BATCH + pp - 1) * layers * (forward_s + backward_s)
    assert run(graph, duration).makespan == pytest.approx(expected)


@pytest.mark.parametrize(("pp", "interleave"), [(2, 2), (2, 4), (4, 2)])
def test_interleaving_divides_the_bubble(pp: int, interleave: int) -> None:
    graph = graph_of(BARE, pp=pp, interleave=interleave)
    time_of = {PassPhase.FORWARD: 1.0, PassPhase.BACKWARD: 2.0}

    def duration(stage: StageGraph, node: int) -> float:
        if stage.kind[node] != NodeKind.COMPUTE:
            return 0.0
        return time_of.get(graph.operators[stage.item[node]].phase, 0.0)

    ideal = BATCH * (8 // pp) * 3.0
    bubble = (pp - 1) / (interleave * BATCH)  # Narayanan 2021, section 2.2.2
    assert run(graph, duration).makespan == pytest.approx(ideal * (1 + bubble))


def test_interleaved_stages_hold_every_other_chunk() -> None:
    graph = graph_of(pp=2, interleave=3)
    assert [stage.layers for stage in graph.stages] == [(0, 2, 4), (1, 3, 5)]
    assert [sorted(set(stage.layer.tolist())) for stage in graph.stages] == [
        [-1, 0, 2, 4],
        [-1, 1, 3, 5],
    ]
    messages = bytes_by_axis(graph)[Axis.PP] // (STREAM_BYTES * BATCH)
    assert messages.tolist() == [5, 5]  # 5 boundaries between 6 chunks, each way


@pytest.mark.parametrize("schedule", ["1f1b", "gpipe"])
def test_backward_pass_waits_for_the_loss_of_its_microbatch(schedule: str) -> None:
    graph = graph_of(pp=2, tp=2, schedule=schedule)
    stage = graph.stages[-1]
    ends = run(graph, lambda stage, node: 1.0).ends[-1]
    for batch in range(BATCH):
        of_batch = np.flatnonzero(stage.microbatch == batch)
        names = {
            int(node): graph.operators[stage.item[node]].name
            if stage.kind[node] == NodeKind.COMPUTE
            else graph.collectives[stage.item[node]].name
            for node in of_batch
            if stage.item[node] >= 0
        }
        loss = next(node for node, name in names.items() if name == "sum of exponentials")
        heads = [node for node, name in names.items() if name == "head"]
        assert ends[max(heads)] >= ends[loss] + 1.0


@with_every("seed", range(3))
@with_every("schedule", ["1f1b", "gpipe"])
@with_every(
    "plan",
    [
        {"pp": 4, "tp": 2, "sequence_parallel": True, "recompute": "full", "dp": 2},
        {"pp": 3, "tp": 2, "cp": 2, "zero_stage": 1},
        {"pp": 2, "tp": 2, "interleave": 3, "sequence_parallel": True, "zero_stage": 1, "dp": 3},
        {"pp": 2, "dp": 2, "zero_stage": 2, "interleave": 2, "tp": 2},
        {"pp": 3, "dp": 2, "zero_stage": 3, "tp": 2, "recompute": "full"},
        {"pp": 6, "dp": 3, "flash_attention": False, "recompute": "selective"},
        {"pp": 1},
    ],
)
def test_graph_runs_to_its_end_whatever_the_durations(
    plan: dict[str, Any], schedule: str, seed: int
) -> None:
    if schedule == "gpipe" and "interleave" in plan:
        pytest.skip("refused by check_plan")
    graph = graph_of(schedule=schedule, **plan)
    random = np.random.default_rng(seed)
    finished = run(graph, lambda stage, node: float(random.integers(0, 9)))
    assert [len(end) for end in finished.ends] == [stage.nodes for stage in graph.stages]


@pytest.mark.parametrize("pp", [2, 4])
def test_1f1b_keeps_the_order_of_its_units(pp: int) -> None:
    graph = graph_of(BARE, pp=pp, tp=2, sequence_parallel=True)
    finished = run(graph, lambda stage, node: 1.0)
    for stage, ends in zip(graph.stages, finished.ends, strict=True):
        computing = np.flatnonzero(stage.kind == NodeKind.COMPUTE)
        times = [ends[int(node)] for node in computing]
        assert times == sorted(times)


def test_two_builds_give_the_same_arrays() -> None:
    one, two = (graph_of(tp=2, pp=3, dp=2) for _ in range(2))
    for first, second in zip(one.stages, two.stages, strict=True):
        for name in ("kind", "item", "size_bytes", "peer_stage", "tag", "dep_start", "dep"):
            assert np.array_equal(getattr(first, name), getattr(second, name))


def test_operators_of_another_process_are_found_by_what_they_are() -> None:
    graph = build_graph(
        TrainingWorkload(model=MODEL, sequence=SEQUENCE, global_batch=BATCH), ParallelPlan()
    )
    code = (
        "import pickle, sys; found = pickle.load(sys.stdin.buffer); "
        "assert all(one in set(found) for one in found); "
        "sys.stdout.buffer.write(pickle.dumps(found))"
    )
    passed = subprocess.run(
        [sys.executable, "-c", code],
        input=pickle.dumps(graph.operators),
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "7"},
    )
    others = pickle.loads(passed.stdout)
    assert others == graph.operators
    assert set(others) == set(graph.operators)
    for one in others:
        products = [k.flop for k in one.kernels if k.kind in ("gemm", "attention", "scan")]
        assert one.matrix_flop == plain_sum(products)

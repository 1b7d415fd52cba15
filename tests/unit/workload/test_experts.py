"""Graphs of models with routed experts, against the closed forms of expert parallelism."""

from collections import Counter
from typing import Any

import pytest
from every_case import with_every
from graph_sums import bytes_by_axis, total_flop

from simcore.errors import ConfigError, InfeasibleError
from simcore.memory.footprint import footprint
from simcore.terms import CollectiveKind, NodeKind
from simcore.workload import (
    Axis,
    Model,
    ParallelPlan,
    TrainingGraph,
    TrainingWorkload,
    build_graph,
    load_model,
    load_workload,
    total_model_flop,
)

HIDDEN, EXPERTS, ACTIVE, FFN, SHARED = 64, 8, 2, 96, 64
SEQUENCE, BATCH = 64, 24
PLAIN: dict[str, Any] = {
    "name": "moe", "kind": "llama", "layers": 6, "hidden": HIDDEN, "heads": 8, "vocabulary": 512,
}  # fmt: skip
ROUTED = {"count": EXPERTS, "active": ACTIVE, "ffn": FFN}
MODEL = Model.model_validate(PLAIN | {"experts": ROUTED})
SHARING = Model.model_validate(PLAIN | {"experts": ROUTED | {"shared_ffn": SHARED}})
DENSE_FIRST = Model.model_validate(PLAIN | {"ffn": 128, "experts": ROUTED | {"first_layer": 2}})
EVERY_OTHER = Model.model_validate(PLAIN | {"ffn": 128, "experts": ROUTED | {"every": 2}})
LATENT = Model.model_validate(
    PLAIN
    | {
        "experts": ROUTED | {"shared_ffn": SHARED},
        "latent": {
            "query_rank": 24, "key_value_rank": 16, "plain_width": 8, "rotary_width": 4,
            "value_width": 8,
        },
    }
)  # fmt: skip

PLANS: list[dict[str, Any]] = [
    {},
    {"dp": 4, "ep": 4},
    {"dp": 4, "ep": 2, "pp": 3},
    {"dp": 2, "cp": 2, "ep": 4, "pp": 2, "interleave": 3},
    {"tp": 2, "dp": 4, "ep": 4, "sequence_parallel": True},
    {"tp": 2, "dp": 4, "ep": 8, "etp": 1, "sequence_parallel": True, "zero_stage": 1},
    {"tp": 4, "dp": 2, "ep": 2, "etp": 2, "sequence_parallel": True, "zero_stage": 2},
    {"tp": 2, "cp": 2, "dp": 2, "ep": 2, "etp": 2, "sequence_parallel": True, "zero_stage": 3},
    {"tp": 2, "dp": 4, "ep": 4, "sequence_parallel": True, "recompute": "full"},
]


def workload_of(model: Model, **more: Any) -> TrainingWorkload:
    return TrainingWorkload(model=model, sequence=SEQUENCE, global_batch=BATCH, **more)


def graph_of(model: Model, **plan: Any) -> TrainingGraph:
    return build_graph(workload_of(model), ParallelPlan(**plan))


@with_every("plan", PLANS)
@with_every("model", [MODEL, SHARING, DENSE_FIRST, EVERY_OTHER, LATENT])
def test_products_add_up_to_what_the_active_parameters_need(
    model: Model, plan: dict[str, Any]
) -> None:
    graph = graph_of(model, **plan)
    matrices = model.matrix_parameters(model.layer_kinds, active=True)
    passes = 8 if plan.get("recompute") == "full" else 6
    table = 6 * model.embedding_parameters
    assert total_flop(graph, "gemm") == BATCH * SEQUENCE * (passes * matrices + table)


@pytest.mark.parametrize("plan", PLANS, ids=str)
@pytest.mark.parametrize("model", [MODEL, SHARING, DENSE_FIRST, EVERY_OTHER])
def test_tokens_travel_to_their_experts_and_back_in_both_passes(
    model: Model, plan: dict[str, Any]
) -> None:
    graph, job = graph_of(model, **plan), ParallelPlan(**plan)
    tokens = SEQUENCE // (job.cp * job.tp)  # sequence parallelism splits them over tp too
    sent_bytes = 2 * tokens * ACTIVE * HIDDEN
    forwards = 2 if job.recompute == "full" else 1
    passes, runs = forwards + 1, BATCH // job.dp
    sums = bytes_by_axis(graph)
    for number, stage in enumerate(graph.stages):
        layers = sum("experts" in model.layer_kinds[layer] for layer in stage.layers)
        if job.ep > 1:
            loads = 4 * EXPERTS * forwards
            norm = 4 if layers and job.zero_stage == 0 else 0
            expected = layers * runs * (2 * passes * sent_bytes + loads)
            assert sums[Axis.EP][number] == expected + norm
        if job.expert_tp > 1:
            # as many all-gathers of the shard as reduce-scatters of the whole
            expected = layers * runs * passes * sent_bytes * (1 + job.expert_tp)
            assert sums[Axis.ETP][number] == expected


@pytest.mark.parametrize("plan", PLANS, ids=str)
@pytest.mark.parametrize("model", [MODEL, SHARING, DENSE_FIRST, LATENT])
def test_gradients_of_experts_are_summed_over_their_own_replicas(
    model: Model, plan: dict[str, Any]
) -> None:
    graph, job = graph_of(model, **plan), ParallelPlan(**plan)
    of_expert = 3 * HIDDEN * FFN
    reductions = Counter[Axis]()
    for stage in graph.stages:
        for item in stage.item[stage.kind == NodeKind.COLLECTIVE]:
            operation = graph.collectives[item]
            if operation.name.endswith(" gradients") and operation.axis in (Axis.DP, Axis.EDP):
                reductions[operation.axis] += operation.size_bytes
    times = BATCH // job.dp if job.zero_stage >= 2 else 1
    layers = model.count("experts")
    held = layers * EXPERTS * of_expert // (job.ep * job.expert_tp)
    dense = model.parameters - layers * EXPERTS * of_expert
    assert reductions[Axis.EDP] == (4 * held * times if job.expert_replicas > 1 else 0)
    if job.gradient_replicas > 1 and job.tp == 1:
        assert reductions[Axis.DP] == 4 * dense * times


def test_experts_lie_within_the_stage_with_their_parts_innermost() -> None:
    graph = graph_of(
        MODEL, tp=4, cp=2, dp=4, pp=2, ep=4, etp=2, sequence_parallel=True, zero_stage=1
    )
    layout = {axis: (group.stride, group.size) for axis, group in graph.groups.items()}
    assert layout == {
        Axis.TP: (1, 4),
        Axis.CP: (4, 2),
        Axis.DP: (4, 8),
        Axis.ETP: (1, 2),
        Axis.EP: (2, 4),
        Axis.EDP: (8, 4),
        Axis.PP: (32, 2),
    }


def test_shared_experts_run_beside_the_all_to_all() -> None:
    graph = graph_of(SHARING, dp=4, ep=4)
    stage = graph.stages[0]
    names = [
        graph.operators[item].name if kind == NodeKind.COMPUTE else graph.collectives[item].name
        for kind, item in zip(stage.kind.tolist(), stage.item.tolist(), strict=True)
    ]
    shared = names.index("shared experts")
    waits = stage.dep[stage.dep_start[shared] : stage.dep_start[shared + 1]].tolist()
    assert [names[node] for node in waits] == ["attention input to router"]
    experts = names.index("experts")
    waits = stage.dep[stage.dep_start[experts] : stage.dep_start[experts + 1]].tolist()
    assert [names[node] for node in waits] == ["tokens to experts", "shared experts"]


@pytest.mark.parametrize(
    ("load", "factor"),
    [
        ({"imbalance": 1.5}, 1.5),
        ({"capacity": 1.25}, 1.25),
        ({"shares": (4, 2, 1, 1, 1, 1, 1, 1)}, 2.0),  # the first of 4 NPUs has 6 of 12
    ],
)
def test_busiest_npu_sets_the_pace(load: dict[str, Any], factor: float) -> None:
    plan = ParallelPlan(dp=4, ep=4)
    even = build_graph(workload_of(MODEL), plan)
    uneven = build_graph(workload_of(MODEL, expert_load=load), plan)

    def work(graph: TrainingGraph) -> tuple[float, int]:
        flop = sum(
            kernel.flop
            for operator in graph.operators
            for kernel in operator.kernels
            if kernel.name.startswith("experts") and kernel.kind == "gemm"
        )
        moved = [
            operation.size_bytes
            for operation in graph.collectives
            if operation.kind == CollectiveKind.ALL_TO_ALL
        ]
        return flop, sum(moved)

    assert work(uneven) == tuple(factor * amount for amount in work(even))


@pytest.mark.parametrize(
    ("rule", "values"),
    [
        ("experts_divide_by_ep", {"dp": 3, "ep": 3}),
        ("expert_groups_fill_stage", {"dp": 2, "ep": 4}),
        ("expert_ffn_divides_by_etp", {"dp": 10, "etp": 5}),
        ("experts_need_sequence_parallel", {"tp": 2}),
    ],
)
def test_plan_that_cannot_hold_the_experts_names_its_rule(
    rule: str, values: dict[str, Any]
) -> None:
    workload = TrainingWorkload(model=MODEL, sequence=SEQUENCE, global_batch=30)
    with pytest.raises(InfeasibleError) as caught:
        build_graph(workload, ParallelPlan(**values))
    assert caught.value.rule == rule


def test_dense_model_has_no_expert_groups() -> None:
    dense = Model(name="d", layers=2, hidden=64, heads=8, ffn=128)
    with pytest.raises(InfeasibleError, match="experts_exist"):
        build_graph(workload_of(dense), ParallelPlan(dp=2, ep=2))


@pytest.mark.parametrize(
    ("load", "message"),
    [
        ({"imbalance": 0.5}, "workload.expert_load.imbalance: must be greater than or equal to 1"),
        ({"imbalance": 2, "capacity": 1}, "takes one of imbalance, capacity and shares"),
        ({"shares": [0, 0]}, "workload.expert_load.shares: must be 0 or more with a sum above 0"),
    ],
)
def test_broken_load_is_told_what_to_mend(load: dict[str, Any], message: str) -> None:
    table = {"model": "mixtral_8x7b", "sequence": 64, "global_batch": 8, "expert_load": load}
    with pytest.raises(ConfigError) as caught:
        load_workload(table)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "billion", "active_billion"),
    [
        ("mixtral_8x7b", 46.7, 12.9),  # Jiang 2024, section 1
        ("mixtral_8x22b", 141, 39),
        ("deepseek_v3", 671, 37),  # DeepSeek-V3 report, abstract
        ("qwen3_30b_a3b", 30.5, 3.3),  # Qwen3 model cards
        ("qwen3_235b_a22b", 235, 22),
        ("grok1_314b", 314, None),
        ("llama4_scout", 109, 17),
        ("llama4_maverick", 400, 17),
        ("gpt_oss_120b", 116.8, None),  # model card, table 1
        ("gpt_moe_1_8t", 1800, 280),
    ],
)
def test_shipped_model_has_its_published_sizes(
    name: str, billion: float, active_billion: float | None
) -> None:
    model = load_model(name)
    assert model.parameters * 1e-9 == pytest.approx(billion, rel=0.02)
    if active_billion:
        assert model.active_parameters * 1e-9 == pytest.approx(active_billion, rel=0.02)


def test_footprint_shards_experts_over_their_own_replicas() -> None:
    model = load_model("mixtral_8x7b")
    workload = TrainingWorkload(model=model, sequence=4096, global_batch=64)
    plan = ParallelPlan(dp=16, ep=8, zero_stage=1)
    stage = footprint(workload, plan).stages[0]
    experts = 32 * 3 * 4096 * 14336  # one of each layer
    dense = model.parameters - 8 * experts
    assert stage.weights_bytes == 2 * (dense + experts)
    assert stage.optimizer_bytes == 12 * (dense // 16 + experts // 2)


def test_model_flop_of_deepseek_v3_are_the_reported_ones() -> None:
    # 37 billion active parameters; MLA core: 61 layers, 128 heads, widths 192 and 128
    model = load_model("deepseek_v3")
    workload = TrainingWorkload(model=model, sequence=4096, global_batch=1)
    core = 6 * 0.5 * 61 * 4096 * 128 * (192 + 128)
    table, norms = model.embedding_parameters, 61 * (2 * 7168 + 1536 + 512) + 7168
    products = 6 * (model.active_parameters - table - norms)
    assert total_model_flop(workload) / 4096 == products + core


@pytest.mark.parametrize("tp", [1, 2, 4])
def test_latents_travel_in_place_of_the_stream_before_latent_attention(tp: int) -> None:
    if tp == 1:
        assert Axis.TP not in graph_of(LATENT).groups
        return
    split = graph_of(LATENT, tp=tp, sequence_parallel=True)
    stream, latents = 2 * SEQUENCE * HIDDEN, 2 * SEQUENCE * (24 + 16 + 4)
    shard, latent_shard = stream // tp, latents // tp
    attention = latent_shard + stream + shard + latent_shard + latents
    shared = shard + stream + shard + shard + stream
    per_batch = 6 * (attention + shared)  # routed experts are counted on their own axes
    per_batch += stream + shard  # embedding
    per_batch += 2 * shard + stream + 3 * 4 * SEQUENCE  # head and loss
    whole = 6 * (2 * HIDDEN + 24 + 16 + HIDDEN * (24 + 16 + 4) + HIDDEN * EXPERTS) + HIDDEN
    expected = per_batch * BATCH + 4 * whole + 4
    assert bytes_by_axis(split)[Axis.TP].tolist() == [expected]

"""Steps of inference against the closed forms of FLOP, bytes and memory, and published figures."""

from typing import Any

import numpy as np
import pytest
from graph_sums import bytes_by_axis, total_flop

from simcore.errors import ConfigError, InfeasibleError
from simcore.memory.footprint import footprint
from simcore.terms import NodeKind
from simcore.workload import (
    Axis,
    Kernel,
    Model,
    ParallelPlan,
    PassPhase,
    TrainingGraph,
    Workload,
    build_graph,
    load_model,
    load_workload,
)

PROMPT, CONTEXT = 256, 4096
DENSE: dict[str, Any] = {
    "name": "dense", "kind": "llama", "layers": 4, "hidden": 512, "heads": 8, "kv_heads": 4,
    "ffn": 1024, "vocabulary": 4096,
}  # fmt: skip
ROUTED = DENSE | {"experts": {"count": 8, "active": 2, "ffn": 256, "shared_ffn": 256}}
LATENT = DENSE | {
    "latent": {
        "query_rank": 64, "key_value_rank": 32, "plain_width": 48, "rotary_width": 16,
        "value_width": 48,
    },
}  # fmt: skip
PLANS: list[dict[str, Any]] = [
    {}, {"tp": 4}, {"tp": 4, "sequence_parallel": True}, {"pp": 2, "micro_batch": 4},
    {"dp": 2, "tp": 2, "pp": 2}, {"pp": 2, "chunk_layers": [3, 1]},
]  # fmt: skip


def job(model: object = DENSE, step: str = "decode", batch: int = 16, **more: Any) -> Workload:
    sequence = CONTEXT if step == "decode" else PROMPT
    table = {"kind": "inference", "model": model, "step": step, "global_batch": batch}
    return load_workload({**table, "sequence": sequence, **more})


def plan_of(**plan: Any) -> ParallelPlan:
    return ParallelPlan(**{"schedule": "forward", "micro_batch": 4, **plan})


def built(workload: Workload, **plan: Any) -> TrainingGraph:
    return build_graph(workload, plan_of(**plan))


def kernels(graph: TrainingGraph, name: str) -> list[Kernel]:
    return [kernel for op in graph.operators for kernel in op.kernels if kernel.name == name]


def model_of(workload: Workload) -> Model:
    assert isinstance(workload.model, Model)
    return workload.model


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("step", ["prefill", "decode"])
def test_products_and_scores_are_the_closed_forms_for_every_split(
    step: str, plan: dict[str, Any]
) -> None:
    workload = job(step=step)
    model, graph = model_of(workload), built(workload, **plan)
    tokens = 16 * (PROMPT if step == "prefill" else 1)
    products = 2 * tokens * model.active_matrix_parameters + 2 * 16 * 4096 * 512
    seen = PROMPT / 2 if step == "prefill" else CONTEXT
    scores = 4 * tokens * seen * 512 * model.layers
    assert total_flop(graph, "gemm") == products
    assert total_flop(graph, "attention") == scores
    assert workload.model_flop == products + scores


@pytest.mark.parametrize("kind", ["all_gather", "ring", "ulysses"])
@pytest.mark.parametrize("model", [DENSE, LATENT], ids=["dense", "latent"])
@pytest.mark.parametrize("cp", [2, 4])
def test_prompts_may_be_split_over_npus(cp: int, model: dict[str, Any], kind: str) -> None:
    workload = job(model, "prefill")
    graph, whole = built(workload, cp=cp, cp_kind=kind), built(workload)
    heads = 2 * 16 * 4096 * 512  # of the last tokens, on every NPU
    products = [total_flop(each, "gemm") for each in (graph, whole)]
    assert products[0] - cp * heads == products[1] - heads
    assert total_flop(graph, "attention") == total_flop(whole, "attention")
    caches = [footprint(workload, each.plan).fullest.cache_bytes for each in (graph, whole)]
    assert caches[0] * cp == caches[1]
    if model is DENSE and kind == "all_gather":
        shard = 2 * 4 * PROMPT // cp * 2 * 4 * 64
        assert bytes_by_axis(graph)[Axis.CP].tolist() == [4 * 4 * shard]


@pytest.mark.parametrize("ep", [1, 2, 4])
def test_products_of_experts_are_the_closed_form_for_every_split(ep: int) -> None:
    workload = job(ROUTED)
    active = model_of(workload).active_matrix_parameters
    graph = built(workload, dp=4, ep=ep)
    assert total_flop(graph, "gemm") == 2 * 16 * (active + 4096 * 512)


@pytest.mark.parametrize("step", ["prefill", "decode"])
def test_two_all_reduces_per_layer_carry_the_stream_of_the_tokens_read(step: str) -> None:
    graph = built(job(step=step, batch=4), tp=4)
    stream = 2 * 4 * (PROMPT if step == "prefill" else 1) * 512
    token_table, largest_logit = stream, 4 * 4
    assert bytes_by_axis(graph)[Axis.TP].tolist() == [8 * stream + token_table + largest_logit]


def test_stages_send_the_stream_of_each_micro_batch_once() -> None:
    graph = built(job(), pp=4)
    assert bytes_by_axis(graph)[Axis.PP].tolist() == [4 * 2 * 4 * 512] * 3 + [0]
    for stage, later in zip(graph.stages, graph.stages[1:], strict=False):
        sent = stage.tag[stage.kind == NodeKind.SEND]
        assert sent.tolist() == later.tag[later.kind == NodeKind.RECV].tolist()


def test_tokens_travel_to_experts_and_back() -> None:
    graph = built(job(ROUTED), dp=4, ep=4)
    copies, loads = 4 * 2 * 512, 4 * 8
    assert bytes_by_axis(graph)[Axis.EP].tolist() == [4 * (2 * 2 * copies + loads)]


@pytest.mark.parametrize("tp", [1, 2, 4])
def test_a_decode_step_reads_the_cache_once(tp: int) -> None:
    (core,) = kernels(built(job(batch=4), tp=tp), "attention core")
    cache = 2 * 2 * 4 * CONTEXT * 512 * 4 // (8 * tp)
    queries_and_outputs = 2 * 2 * 4 * 512 // tp
    assert core.bytes == cache + queries_and_outputs
    assert (core.m, core.n) == (1, CONTEXT)


@pytest.mark.parametrize(("stored", "width"), [(None, 2), ("fp8", 1)])
def test_the_products_of_one_sequence_read_each_weight_once(stored: str | None, width: int) -> None:
    workload = job(batch=1, weight_format=stored)
    graph = built(workload, tp=2, micro_batch=1)
    (stage,) = graph.stages
    runs = np.bincount(stage.item[stage.kind == NodeKind.COMPUTE], minlength=len(graph.operators))
    moved = sum(
        count * kernel.bytes
        for count, operator in zip(runs.tolist(), graph.operators, strict=True)
        for kernel in operator.kernels
        if kernel.kind == "gemm"
    )
    weights = model_of(workload).active_matrix_parameters + 4096 * 512
    assert moved == pytest.approx(width * weights / 2, rel=0.02)


def test_experts_that_get_no_token_are_not_read() -> None:
    (up,) = kernels(built(job(ROUTED, batch=1), micro_batch=1), "experts up")
    assert (up.groups, up.m) == (2, 1)


@pytest.mark.parametrize("tp", [1, 2])
def test_latents_are_keys_and_values_of_all_heads(tp: int) -> None:
    (core,) = kernels(built(job(LATENT, batch=4), tp=tp), "attention core")
    heads, cached = 8 // tp, 32 + 16
    assert core.flop == 2 * 4 * CONTEXT * heads * (cached + 32)
    assert core.bytes == 2 * 4 * (CONTEXT * cached + heads * (cached + 32))


@pytest.mark.parametrize(
    ("name", "token_bytes"),
    [
        # C. Zhao et al., "Insights into DeepSeek-V3", arXiv:2505.09343, table 1
        ("deepseek_v3", 70_272),
        ("llama3_405b", 516_096),
        # the same form for 80 layers of 8 heads
        ("llama3_70b", 327_680),
    ],
)
@pytest.mark.parametrize("step", ["prefill", "decode"])
def test_cache_per_token_is_as_published(name: str, token_bytes: int, step: str) -> None:
    workload = job(name, step)
    tokens = 16 * (CONTEXT if step == "decode" else PROMPT)
    assert footprint(workload, plan_of()).fullest.cache_bytes == tokens * token_bytes


def test_the_cache_is_split_over_heads_and_replicas_but_latents_only_over_replicas() -> None:
    whole, split = (
        [footprint(job(model), plan_of(**plan)).fullest.cache_bytes for model in (DENSE, LATENT)]
        for plan in ({}, {"tp": 2, "dp": 2})
    )
    assert split == [whole[0] // 4, whole[1] // 2]


def test_layers_with_windows_read_and_keep_no_more_than_their_window() -> None:
    workload = job(DENSE | {"window": 128, "global_every": 2}, batch=4)
    cores = kernels(built(workload), "attention core")
    assert sorted(core.flop for core in cores) == [4 * 4 * seen * 512 for seen in (128, CONTEXT)]
    cache = footprint(workload, plan_of()).fullest.cache_bytes
    assert cache == 4 * 2 * (2 * 128 + 2 * CONTEXT) * 2 * 4 * 64


def test_memory_holds_weights_and_cache_but_nothing_of_training() -> None:
    workload = job(weight_format="fp8")
    needed = footprint(workload, plan_of(tp=2, pp=2))
    for stage in needed.stages:
        assert stage.gradients_bytes == stage.optimizer_bytes == 0
        assert stage.cache_bytes == 16 * CONTEXT * 2 * 2 * 2 * 2 * 64
    assert sum(needed.components().values()) == needed.total_bytes
    whole = footprint(workload, plan_of()).fullest.weights_bytes
    assert whole == model_of(workload).parameters


@pytest.mark.parametrize("plan", PLANS)
def test_there_are_forward_passes_alone(plan: dict[str, Any]) -> None:
    graph = built(job(), **plan)
    assert {operator.phase for operator in graph.operators} == {PassPhase.FORWARD}
    for stage in graph.stages:
        batches = 16 // (graph.plan.dp * graph.plan.micro_batch)
        assert sorted(set(stage.microbatch.tolist())) == list(range(batches))
        assert (stage.dep < np.repeat(np.arange(stage.nodes), np.diff(stage.dep_start))).all()


@pytest.mark.parametrize(
    ("plan", "rule"),
    [
        ({"schedule": "1f1b"}, "schedule_suits_kind"),
        ({"cp": 2}, "sequence_is_whole"),
        ({"zero_stage": 3, "dp": 2}, "nothing_is_updated"),
        ({"average_loss": True}, "nothing_is_learned"),
        ({"scale_loss": True}, "nothing_is_learned"),
        ({"recompute": "full"}, "nothing_is_repeated"),
        ({"recompute_parts": ["norms"]}, "nothing_is_repeated"),
        ({"flash_attention": False}, "attention_is_fused"),
        ({"tp": 8, "micro_batch": 4, "sequence_parallel": True}, "tokens_divide_by_tp"),
        ({"tp": 3}, "heads_divide_by_tp"),
        ({"micro_batch": 5}, "batch_divides"),
    ],
)
def test_plans_that_inference_cannot_follow_are_refused(plan: dict[str, Any], rule: str) -> None:
    with pytest.raises(InfeasibleError) as error:
        built(job(), **plan)
    assert error.value.rule == rule


def test_training_needs_a_schedule_with_backward_passes() -> None:
    training = load_workload({"model": "llama3_8b", "sequence": 128, "global_batch": 8})
    with pytest.raises(InfeasibleError) as error:
        built(training)
    assert error.value.rule == "schedule_suits_kind"


@pytest.mark.parametrize(
    ("more", "place"),
    [
        ({"optimizer": "sgd"}, "optimizer"),
        ({"gradient_format": "bf16"}, "gradient_format"),
        ({"step": "train"}, "step"),
        ({"model": "vit_22b"}, "model"),
        ({"model": "t5_11b"}, "model"),
        ({"sequence": 0}, "sequence"),
    ],
)
def test_what_only_training_has_is_refused(more: dict[str, Any], place: str) -> None:
    with pytest.raises(ConfigError, match=place):
        job(**more)


def test_every_shipped_decoder_can_be_served() -> None:
    names = ["gpt3_175b", "llama4_scout", "mixtral_8x7b", "qwen3_235b_a22b", "gpt_oss_120b"]
    for name in names:
        model = load_model(name)
        for step in ("prefill", "decode"):
            assert total_flop(built(job(model, step)), "gemm") > 0

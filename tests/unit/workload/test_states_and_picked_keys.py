"""Serving models whose attention keeps a state, or sees the few keys that an indexer picks."""

from typing import Any

import pytest
from graph_sums import total_flop

from simcore.errors import ConfigError, InfeasibleError
from simcore.memory.footprint import footprint
from simcore.workload import (
    Kernel,
    ParallelPlan,
    Workload,
    build_graph,
    load_model,
    load_workload,
)

CONTEXT, SEQUENCES, TOP = 4096, 8, 512
RULE = {"key_heads": 2, "value_heads": 4, "key_width": 32, "value_width": 64, "convolution": 4}
MIXED = 2 * 2 * 32 + 4 * 64
BASE: dict[str, Any] = {
    "name": "m", "kind": "llama", "layers": 8, "hidden": 256, "heads": 8, "kv_heads": 2,
    "head_dim": 64, "ffn": 512, "vocabulary": 1024,
}  # fmt: skip
STATES = BASE | {"linear": RULE, "global_every": 4, "output_gate": True}
LATENT = {
    "query_rank": 96, "key_value_rank": 64, "plain_width": 48, "rotary_width": 16,
    "value_width": 32,
}  # fmt: skip
INDEXER = {"heads": 4, "width": 32, "top": TOP}
PICKED = BASE | {"latent": LATENT | {"indexer": INDEXER}}
MIXER = {"heads": 8, "head_width": 16, "groups": 2, "state": 32}
HYBRID = BASE | {"pattern": "M-M*M-M-", "mamba": MIXER}


def job(model: dict[str, Any], step: str = "decode", **more: Any) -> Workload:
    table = {"kind": "inference", "model": model, "step": step, "global_batch": SEQUENCES}
    return load_workload({"sequence": CONTEXT, **table, **more})


def plan_of(**plan: Any) -> ParallelPlan:
    return ParallelPlan(**{"schedule": "forward", "micro_batch": SEQUENCES, **plan})


def kernels(workload: Workload, begin: str, **plan: Any) -> list[Kernel]:
    graph = build_graph(workload, plan_of(**plan))
    every = [kernel for operator in graph.operators for kernel in operator.kernels]
    return [kernel for kernel in every if kernel.name.startswith(begin)]


def cache_bytes(workload: Workload) -> int:
    return footprint(workload, plan_of()).fullest.cache_bytes


@pytest.mark.parametrize(("model", "state", "row"), [
    (STATES, 4 * 32 * 64, MIXED + 4 * 64 + 2 * 4),
    (HYBRID, 8 * 16 * 32, 3 * 128 + 2 * 2 * 32 - 128 + 8),
], ids=["linear", "mamba"])  # fmt: skip
def test_a_token_reads_and_writes_the_states_whatever_came_before(
    model: dict[str, Any], state: int, row: int
) -> None:
    near, far = (kernels(job(model, sequence=n), "") for n in (64, CONTEXT))
    scans = [[one for one in found if one.kind == "scan"] for found in (near, far)]
    assert scans[0] == scans[1]
    assert scans[0][0].bytes == SEQUENCES * (2 * 4 * state + 2 * row)  # fp32 states, bf16 rows


def test_the_delta_rule_does_its_products_with_states_and_within_chunks() -> None:
    prompt = job(STATES, "prefill", global_batch=1)
    layers, tokens, chunk = 6, CONTEXT, 64
    # of each head: scores of keys, scores of queries, both applied; the state twice, and its update
    within = chunk * (3 * 32 + 2 * 64)
    whole = within + 6 * 32 * 64
    assert total_flop(build_graph(prompt, plan_of(micro_batch=1)), "scan") == pytest.approx(
        layers * tokens * 4 * whole
    )


def test_only_whole_attention_keeps_keys_of_every_token() -> None:
    keys, states = 2 * (2 * 2 * 64), 4 * 4 * 32 * 64 + 2 * 3 * MIXED
    for tokens in (64, CONTEXT):
        expected = SEQUENCES * (2 * tokens * keys + 6 * states)
        assert cache_bytes(job(STATES, sequence=tokens)) == expected


def test_states_of_mamba_layers_are_kept_too() -> None:
    states = 4 * 8 * 16 * 32 + 2 * 3 * (8 * 16 + 2 * 2 * 32)
    expected = SEQUENCES * (CONTEXT * 2 * (2 * 2 * 64) + 4 * states)
    assert cache_bytes(job(HYBRID)) == expected


def test_heads_of_states_are_split_over_a_tensor_group() -> None:
    one, split = (kernels(job(STATES), "linear attention scan", tp=tp)[0] for tp in (1, 2))
    assert 2 * split.bytes == one.bytes
    with pytest.raises(InfeasibleError, match="value heads of linear attention"):
        build_graph(job(STATES), plan_of(tp=8))


def test_the_core_of_a_token_sees_no_more_than_the_indexer_picks() -> None:
    for tokens in (64, TOP, CONTEXT):
        (core,) = set(kernels(job(PICKED, sequence=tokens), "attention core"))
        assert core.n == min(tokens, TOP)
        assert core.flop == 2 * SEQUENCES * core.n * 8 * ((64 + 16) + 64)


def test_the_indexer_scores_all_keys_where_it_must_choose() -> None:
    assert kernels(job(PICKED, sequence=TOP), "index scores") == []
    scores = kernels(job(PICKED), "index scores")
    assert scores[0].flop == 2 * SEQUENCES * CONTEXT * 4 * 32
    # keys and queries of 8 bits, scores of 32
    assert scores[0].bytes == SEQUENCES * (CONTEXT * 32 + 4 * 32 + 4 * CONTEXT)


def test_each_query_of_a_long_prompt_reads_keys_of_its_own() -> None:
    (core,) = set(kernels(job(PICKED, "prefill", global_batch=1), "attention core", micro_batch=1))
    seen = TOP * CONTEXT - TOP**2 / 2  # pairs: all up to TOP, then TOP each
    assert core.groups == CONTEXT
    assert core.n == pytest.approx(seen / CONTEXT, abs=1)
    assert core.flop == pytest.approx(2 * seen * 8 * ((64 + 16) + 64), rel=1e-2)


def test_short_prompts_are_read_as_without_an_indexer() -> None:
    plain = PICKED | {"latent": LATENT}
    for model in (plain, PICKED):
        found = kernels(job(model, "prefill", sequence=TOP, global_batch=1), "attention core",
                        micro_batch=1)  # fmt: skip
        assert found[0].flop == 2 * TOP**2 / 2 * 8 * ((48 + 16) + 32)


def test_latents_and_keys_of_the_indexer_are_kept() -> None:
    of_token = 2 * (64 + 16) + 32 + 4  # a latent in 16 bits, a key in 8, and its scale
    assert cache_bytes(job(PICKED)) == SEQUENCES * 8 * CONTEXT * of_token


@pytest.mark.parametrize(
    ("name", "billions", "active"),
    [("glm5", 744, 40), ("qwen3_5_397b_a17b", 397, 17), ("deepseek_v3_2", 671, 37)],
)
def test_shipped_models_have_the_parameters_that_their_makers_publish(
    name: str, billions: float, active: float
) -> None:
    model = load_model(name)
    assert model.parameters == pytest.approx(1e9 * billions, rel=0.005)
    assert model.active_parameters == pytest.approx(1e9 * active, rel=0.05)


@pytest.mark.parametrize(
    ("more", "place"),
    [
        ({"window": 64}, "window"),
        ({"pattern": "*-*-*-*-"}, "linear"),
        ({"linear": RULE | {"value_heads": 3}}, "linear.value_heads"),
        ({"latent": LATENT}, "output_gate"),
    ],
)
def test_parts_that_do_not_go_together_are_refused(more: dict[str, Any], place: str) -> None:
    with pytest.raises(ConfigError, match=place):
        job(STATES | more)


def test_an_indexer_needs_whole_sequences() -> None:
    with pytest.raises(InfeasibleError, match=r"latent\.indexer take cp 1"):
        build_graph(job(PICKED, "prefill", global_batch=1), plan_of(micro_batch=1, cp=2))

"""Parts of layers that are repeated by themselves, against closed forms of bytes and FLOP."""

from typing import Any

import pytest
from graph_sums import bytes_by_axis, total_flop

from simcore.errors import InfeasibleError
from simcore.memory.footprint import footprint
from simcore.workload import (
    Model,
    ParallelPlan,
    TrainingGraph,
    TrainingWorkload,
    build_graph,
    load_workload,
)

LAYERS, HIDDEN, SEQUENCE, BATCH = 4, 64, 32, 8
SBH = SEQUENCE * HIDDEN
DENSE = Model(name="m", layers=LAYERS, hidden=HIDDEN, heads=8, ffn=4 * HIDDEN)
ROUTED = Model.model_validate(
    {
        "name": "r", "kind": "llama", "layers": LAYERS, "hidden": HIDDEN, "heads": 8,
        "experts": {"count": 8, "active": 2, "ffn": 96, "shared_ffn": 32},
    }
)  # fmt: skip
LATENT = Model.model_validate(
    {
        "name": "l", "kind": "llama", "layers": LAYERS, "hidden": HIDDEN, "heads": 8, "ffn": 96,
        "latent": {
            "query_rank": 24, "key_value_rank": 16, "plain_width": 8, "rotary_width": 4,
            "value_width": 8,
        },
    }
)  # fmt: skip
NORMS, ACTIVATIONS, HEADS = "norms", "activations", "latent_heads"
MLP, EXPERTS = "mlp", "experts"


def job(model: Model = DENSE) -> TrainingWorkload:
    return TrainingWorkload(model=model, sequence=SEQUENCE, global_batch=BATCH)


def graph_of(model: Model, *parts: str, **plan: Any) -> TrainingGraph:
    return build_graph(job(model), ParallelPlan.build(recompute_parts=parts, **plan))


def kept_bytes(model: Model, *parts: str, **plan: Any) -> int:
    chosen = ParallelPlan.build(recompute_parts=parts, **plan)
    return footprint(job(model), chosen).stages[0].activations_bytes


def kernel_names(graph: TrainingGraph) -> list[str]:
    return [kernel.name for operator in graph.operators for kernel in operator.kernels]


@pytest.mark.parametrize(
    ("parts", "dropped"),
    # of the 34 s b h of a GPT layer: the outputs of two norms, and 4 h of the activation
    # of the MLP repeated as a whole, 4 h before the activation and after it
    [
        ((), 0),
        ((NORMS,), 4),
        ((ACTIVATIONS,), 8),
        ((NORMS, ACTIVATIONS), 12),
        ((MLP,), 16),
        ((MLP, ACTIVATIONS), 16),
        ((MLP, NORMS), 20),
    ],
)
def test_a_gpt_layer_keeps_what_is_not_repeated(parts: tuple[str, ...], dropped: int) -> None:
    at_work = dropped  # those of one layer are there while they are needed
    assert kept_bytes(DENSE, *parts) == (LAYERS * (34 - dropped) + at_work) * SBH


@pytest.mark.parametrize("tp", [1, 2])
def test_experts_keep_what_they_activate_but_not_the_result(tp: int) -> None:
    plan = {"tp": tp, "sequence_parallel": True}
    tokens = SEQUENCE // tp
    routed, shared = 2 * tokens * 96, SEQUENCE * 32 // tp
    dropped = 2 * (routed + shared)
    whole, less = kept_bytes(ROUTED, **plan), kept_bytes(ROUTED, ACTIVATIONS, **plan)
    assert whole - less == (LAYERS - 1) * dropped


def test_heads_are_made_of_latents_once_more() -> None:
    widths = 8 * (12 + 12 + 8)  # queries, keys and values of 8 heads
    whole, less = kept_bytes(LATENT), kept_bytes(LATENT, HEADS)
    assert whole - less == (LAYERS - 1) * 2 * SEQUENCE * widths
    made = 24 * 8 * 12 + 16 * 8 * (8 + 8)
    added = total_flop(graph_of(LATENT, HEADS), "gemm") - total_flop(graph_of(LATENT), "gemm")
    assert added == 2 * BATCH * SEQUENCE * LAYERS * made


@pytest.mark.parametrize("tp", [1, 2])
def test_an_mlp_that_is_repeated_computes_and_communicates_forward_once_more(tp: int) -> None:
    plain, again = (
        graph_of(DENSE, *parts, tp=tp, sequence_parallel=True) for parts in ((), (MLP,))
    )
    added = total_flop(again, "gemm") - total_flop(plain, "gemm")
    assert added == 2 * BATCH * SEQUENCE * LAYERS * 8 * HIDDEN**2
    moved = [
        sum(sizes.sum() for sizes in bytes_by_axis(graph).values()) for graph in (plain, again)
    ]
    assert (moved[1] > moved[0]) == (tp > 1)


def test_experts_that_are_repeated_keep_their_input_and_send_tokens_twice() -> None:
    plan = {"dp": 8, "ep": 8}
    kept = kept_bytes(ROUTED, EXPERTS, **plan)
    attention = 2 * SEQUENCE * (4 * HIDDEN + 2 * HIDDEN + 2 * HIDDEN - 2 * HIDDEN)
    assert kept == LAYERS * (attention + 2 * SEQUENCE * 2 * HIDDEN) + (
        kept_bytes(ROUTED, **plan) // LAYERS - attention - 2 * SEQUENCE * 2 * HIDDEN
    )
    moved = [
        {
            str(axis): sizes.sum()
            for axis, sizes in bytes_by_axis(graph_of(ROUTED, *p, **plan)).items()
        }
        for p in ((), (EXPERTS,))
    ]
    assert moved[1]["ep"] == pytest.approx(1.5 * moved[0]["ep"], rel=0.05), "4 all-to-alls and 2"
    assert moved[1]["dp"] == moved[0]["dp"]


def test_modules_have_the_names_of_megatron_too() -> None:
    plan = ParallelPlan.build(recompute_parts=["layernorm", "moe_act", "mla_up_proj", "moe", "mlp"])
    assert plan.recompute_parts == (NORMS, ACTIVATIONS, HEADS, EXPERTS, MLP)


@pytest.mark.parametrize("model", [DENSE, ROUTED, LATENT], ids=lambda model: model.name)
@pytest.mark.parametrize(
    "plan", [{}, {"tp": 2, "sequence_parallel": True}, {"pp": 2, "dp": 2, "zero_stage": 3}], ids=str
)
def test_products_and_traffic_stay_and_every_part_is_repeated(
    model: Model, plan: dict[str, Any]
) -> None:
    plain, again = (graph_of(model, *parts, **plan) for parts in ((), (NORMS, ACTIVATIONS)))
    assert total_flop(plain, "gemm") == total_flop(again, "gemm")
    moved = [{a: s.tolist() for a, s in bytes_by_axis(g).items()} for g in (plain, again)]
    assert moved[0] == moved[1]
    repeated = [name for name in kernel_names(again) if " again" in name]
    assert sum(name.endswith("norm") for name in repeated) >= 2
    assert sum("activation" in name for name in repeated) >= 1
    assert not [name for name in kernel_names(plain) if " again" in name]


@pytest.mark.parametrize(
    ("model", "plan", "rule"),
    [
        (DENSE, {"recompute": "full", "recompute_parts": ["norms"]}, "parts_are_repeated_once"),
        (DENSE, {"recompute_parts": ["latent_heads"]}, "parts_exist"),
        (DENSE, {"recompute_parts": ["norms"], "schedule": "zb_h1", "pp": 2}, "split_keeps_layers"),
        (DENSE, {"recompute_parts": ["experts"]}, "parts_exist"),
        (
            DENSE,
            {"recompute_parts": ["mlp"], "schedule": "dualpipe", "pp": 2, "interleave": 2},
            "split_keeps_layers",
        ),
    ],
)
def test_parts_that_cannot_be_repeated_are_refused(
    model: Model, plan: dict[str, Any], rule: str
) -> None:
    with pytest.raises(InfeasibleError) as error:
        build_graph(job(model), ParallelPlan.build(**plan))
    assert error.value.rule == rule


def test_nets_of_other_kinds_have_no_such_parts() -> None:
    net = load_workload({"kind": "cnn", "model": "resnet50", "global_batch": 8})
    with pytest.raises(InfeasibleError, match="parts_exist"):
        build_graph(net, ParallelPlan.build(recompute_parts=["norms"]))

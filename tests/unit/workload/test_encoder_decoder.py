"""Encoder-decoders and vision transformers against closed forms of FLOP, bytes and messages."""

from typing import Any

import pytest
from graph_sums import total_flop

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
)

HIDDEN, HEADS, FFN, VOCABULARY = 64, 8, 256, 128
ENCODER, DECODER = 4, 4
READ, TOLD, BATCH = 48, 32, 8


def t5(**more: Any) -> TrainingWorkload:
    model = Model.build(
        name="small",
        kind="llama",
        mlp="gelu",
        layers=ENCODER + DECODER,
        encoder_layers=ENCODER,
        hidden=HIDDEN,
        heads=HEADS,
        ffn=FFN,
        vocabulary=VOCABULARY,
    )
    return TrainingWorkload(
        model=model, sequence=TOLD, encoder_sequence=READ, global_batch=BATCH, **more
    )


def vit() -> TrainingWorkload:
    model = Model.build(
        name="small",
        layers=4,
        hidden=HIDDEN,
        heads=HEADS,
        ffn=FFN,
        causal=False,
        vision={"patch": 4, "classes": 16},
    )
    return TrainingWorkload(model=model, sequence=READ, global_batch=BATCH)


def built(workload: TrainingWorkload, **plan: Any) -> TrainingGraph:
    return build_graph(workload, ParallelPlan(**plan))


def sizes(graph: TrainingGraph, stage: int, axis: Axis, name: str) -> list[int]:
    one = graph.stages[stage]
    items = one.item[one.kind == NodeKind.COLLECTIVE].tolist()
    found = [graph.collectives[item] for item in items]
    return [c.size_bytes for c in found if c.axis is axis and c.name == name]


SPLITS = [
    {},
    {"dp": 4},
    {"tp": 2, "dp": 2},
    {"tp": 4, "sequence_parallel": True},
    {"pp": 2, "tp": 2, "micro_batch": 2},
    {"pp": 4, "dp": 2, "recompute": "none"},
    {"pp": 4, "schedule": "zb_h1"},
    {"dp": 2, "zero_stage": 3},
]


@pytest.mark.parametrize("plan", SPLITS, ids=str)
def test_products_of_an_encoder_decoder_are_six_per_parameter_and_token_it_meets(
    plan: dict[str, Any],
) -> None:
    workload = t5()
    attention, mlp = 4 * HIDDEN**2, 2 * HIDDEN * FFN
    read = BATCH * READ * (ENCODER * (attention + mlp) + DECODER * 2 * HIDDEN**2)
    told = BATCH * TOLD * (DECODER * (attention + 2 * HIDDEN**2 + mlp) + HIDDEN * VOCABULARY)
    graph = built(workload, **plan)
    assert total_flop(graph, "gemm") == 6 * (read + told)
    scores = READ * READ * ENCODER + (TOLD * TOLD / 2 + TOLD * READ) * DECODER
    assert total_flop(graph, "attention") == 14 * BATCH * HIDDEN * scores
    assert workload.model_flop == 6 * (read + told) + 12 * BATCH * HIDDEN * scores


@pytest.mark.parametrize("plan", SPLITS, ids=str)
def test_products_of_a_vision_transformer_count_patches_per_token_and_classes_per_image(
    plan: dict[str, Any],
) -> None:
    workload = vit()
    layers = 4 * (4 * HIDDEN**2 + 2 * HIDDEN * FFN)
    tokens, patch = BATCH * READ, 4 * 4 * 3 * HIDDEN
    graph = built(workload, **plan)
    tp = 1 if plan.get("sequence_parallel") else plan.get("tp", 1)
    patches = 4 * tokens * patch  # forward and weights: nothing asks for gradients of pixels
    classes = 6 * BATCH * 16 * HIDDEN
    assert total_flop(graph, "gemm") == 6 * tokens * layers + tp * patches + classes
    model = 6 * tokens * (layers + patch) + classes + 12 * BATCH * READ**2 * HIDDEN * 4
    assert workload.model_flop == model


def test_the_encoders_output_travels_along_the_stages_of_the_decoder() -> None:
    graph = built(t5(), pp=4, micro_batch=2)
    read, told = 2 * 2 * READ * HIDDEN, 2 * 2 * TOLD * HIDDEN
    for stage, (before, after) in enumerate([(0, read), (read, read), (read, read + told),
                                             (read + told, 0)]):  # fmt: skip
        one = graph.stages[stage]
        messages = (one.kind == NodeKind.SEND) | (one.kind == NodeKind.RECV)
        to_next = messages & (one.peer_stage == stage + 1)
        to_previous = messages & (one.peer_stage == stage - 1)
        assert set(one.size_bytes[to_next].tolist()) == ({after} if after else set())
        assert set(one.size_bytes[to_previous].tolist()) == ({before} if before else set())


def test_every_message_is_received_with_its_size() -> None:
    graph = built(t5(), pp=4, tp=2, sequence_parallel=True)
    ends: dict[int, dict[int, int]] = {}
    for stage in graph.stages:
        for what in (NodeKind.SEND, NodeKind.RECV):
            at = stage.kind == what
            tags, bytes_ = stage.tag[at].tolist(), stage.size_bytes[at].tolist()
            for tag, size in zip(tags, bytes_, strict=True):
                ends.setdefault(tag, {})[what] = size
    assert len(ends) == 2 * 3 * BATCH
    assert all(found[NodeKind.SEND] == found[NodeKind.RECV] for found in ends.values())


def test_tensor_parallelism_sums_streams_of_their_own_length() -> None:
    graph = built(t5(), tp=2, micro_batch=2, dp=4)
    read, told = 2 * 2 * READ * HIDDEN, 2 * 2 * TOLD * HIDDEN
    assert sizes(graph, 0, Axis.TP, "attention output") == [read] * ENCODER + [told] * DECODER
    assert sizes(graph, 0, Axis.TP, "cross attention output") == [told] * DECODER
    assert sizes(graph, 0, Axis.TP, "cross keys and values input gradient") == [read] * DECODER
    assert sizes(graph, 0, Axis.TP, "embedding") == [read]
    assert sizes(graph, 0, Axis.TP, "decoder embedding") == [told]


def test_sequence_parallelism_gathers_the_encoders_output_for_every_cross_attention() -> None:
    graph = built(t5(), tp=2, micro_batch=2, dp=4, sequence_parallel=True)
    shard = 2 * 2 * READ * HIDDEN // 2
    assert sizes(graph, 0, Axis.TP, "encoder output") == [shard] * DECODER
    assert sizes(graph, 0, Axis.TP, "encoder output again") == [shard] * DECODER
    kinds = {c.kind for c in graph.collectives if c.name == "cross keys and values input gradient"}
    assert kinds == {CollectiveKind.REDUCE_SCATTER}


def test_t5_and_vit_have_their_published_parameters() -> None:
    assert load_model("t5_11b").parameters == pytest.approx(11.3e9, rel=0.01)
    vit_22b = load_model("vit_22b")
    ends = 14 * 14 * 3 * 6144 + 30000 * 6144 + 2 * 6144
    assert vit_22b.parameters - ends == pytest.approx(21.74e9, rel=1e-3)


@pytest.mark.parametrize("workload", [t5(), vit()], ids=["t5", "vit"])
def test_stages_hold_all_parameters_once(workload: TrainingWorkload) -> None:
    stages = footprint(workload, ParallelPlan(pp=4, micro_batch=2)).stages
    parameters = workload.model.parameters
    assert sum(stage.weights_bytes for stage in stages) == 2 * parameters
    assert sum(stage.optimizer_bytes for stage in stages) == 12 * parameters


def test_what_does_not_fit_together_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^encoder_sequence: must be above 0 exactly where"):
        TrainingWorkload.build(model=t5().model, sequence=8, global_batch=1)
    with pytest.raises(InfeasibleError, match=r"^sequence_is_whole: "):
        built(t5(), cp=2)
    with pytest.raises(InfeasibleError, match=r"^encoder_is_not_interleaved: "):
        built(t5(), pp=2, interleave=2)
    with pytest.raises(ConfigError, match=r"^encoder_layers: must be below layers = 8"):
        Model.build(**{**t5().model.model_dump(), "encoder_layers": 8})
    with pytest.raises(ConfigError, match=r"^vocabulary: must be 0 with vision"):
        Model.build(**{**vit().model.model_dump(), "vocabulary": 8})

"""What holds for every plan: FLOP, matched messages, order of dependencies and collectives."""

import numpy as np
import pytest
from graph_sums import total_flop
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from simcore.errors import InfeasibleError
from simcore.memory.footprint import footprint
from simcore.terms import NodeKind
from simcore.workload import (
    Axis,
    Model,
    ParallelPlan,
    TrainingGraph,
    TrainingWorkload,
    build_graph,
    total_model_flop,
)
from simcore.workload.kinds.transformer.model_parts import Experts, LatentAttention
from simcore.workload.schedules import SCHEDULES

CHECKED = settings(derandomize=True, deadline=None, max_examples=60)


EXPERTS = Experts(count=4, active=2, ffn=192, shared_ffn=96)
LATENT = LatentAttention(
    query_rank=48, key_value_rank=24, plain_width=12, rotary_width=4, value_width=16
)


@st.composite
def jobs(draw: st.DrawFn) -> tuple[TrainingWorkload, ParallelPlan]:
    kind = draw(st.sampled_from(["gpt", "llama"]))
    model = Model(
        name="any",
        kind=kind,
        layers=draw(st.integers(1, 7)),
        hidden=192,
        heads=12,
        kv_heads=draw(st.sampled_from([4, 12])),
        ffn=draw(st.sampled_from([384, 768])),
        vocabulary=(vocabulary := draw(st.sampled_from([0, 1200]))),
        tied_embeddings=draw(st.booleans()) if vocabulary else False,
        causal=draw(st.booleans()),
        experts=(experts := draw(st.sampled_from([None, None, EXPERTS]))),
        latent=draw(st.sampled_from([None, None, LATENT])),
    )
    plan = ParallelPlan(
        tp=draw(st.sampled_from([1, 2, 4])),
        cp=draw(st.sampled_from([1, 2])),
        pp=draw(st.integers(1, 5)),
        dp=draw(st.sampled_from([1, 2, 3])),
        ep=(ep := draw(st.sampled_from([1, 2, 4])) if experts else 1),
        dispatch_group=draw(st.sampled_from([None, 1, 2, 4])) if ep > 1 else None,
        etp=draw(st.sampled_from([None, 1])) if experts else None,
        interleave=draw(st.sampled_from([1, 1, 2])),
        micro_batch=draw(st.sampled_from([1, 2])),
        sequence_parallel=draw(st.booleans()),
        zero_stage=draw(st.integers(0, 3)),
        recompute=draw(st.sampled_from(["none", "selective", "full"])),
        schedule=draw(st.sampled_from(["1f1b", "1f1b_overlapped", "gpipe", "dualpipe"])),
        flash_attention=draw(st.booleans()),
        average_loss=draw(st.booleans()),
        scale_loss=draw(st.booleans()),
    )
    workload = TrainingWorkload(
        model=model, sequence=draw(st.sampled_from([64, 128])), global_batch=12
    )
    return workload, plan


def built(job: tuple[TrainingWorkload, ParallelPlan]) -> TrainingGraph:
    try:
        return build_graph(*job)
    except InfeasibleError:
        assume(False)
        raise


@CHECKED
@given(jobs())
def test_products_of_all_npus_add_up_to_the_closed_form(
    job: tuple[TrainingWorkload, ParallelPlan],
) -> None:
    graph = built(job)
    workload, plan = job
    model, tokens = workload.model, workload.tokens
    layers = model.matrix_parameters(model.layer_kinds, active=True)
    if model.latent and not plan.sequence_parallel:  # the latents are made on every NPU of tp
        layers += model.layers * (plan.tp - 1) * model.hidden * (48 + 24 + 4)
    passes = 8 if plan.recompute == "full" else 6
    assert total_flop(graph, "gemm") == tokens * (
        passes * layers + 6 * model.vocabulary * model.hidden
    )
    visible = 0.5 if plan.flash_attention and model.causal else 1.0
    # queries and keys have the width of values, or of a latent head: 3 of 5 products backward
    scores, values = (4, 3) if plan.flash_attention else (3, 3)
    if plan.recompute == "full" or (plan.recompute == "selective" and not plan.flash_attention):
        scores, values = scores + 1, values + 1
    widths = scores * model.head_width + values * model.value_head_width
    core = 2 * visible * model.layers * tokens * workload.sequence * model.heads * widths
    assert total_flop(graph, "attention") == core


@pytest.mark.parametrize("pp", [1, 5, 8])
@pytest.mark.parametrize("tp", [1, 8])
def test_executed_flop_of_gpt3_are_the_model_flop_within_a_percent(pp: int, tp: int) -> None:
    model = Model(name="g", layers=96, hidden=12288, heads=96, ffn=49152, vocabulary=51200)
    workload = TrainingWorkload(model=model, sequence=2048, global_batch=4)
    graph = build_graph(workload, ParallelPlan(tp=tp, pp=pp, sequence_parallel=True))
    share = total_flop(graph, "gemm") + total_flop(graph, "attention") * 12 / 14
    assert share == pytest.approx(total_model_flop(workload), rel=1e-12)
    assert total_flop(graph) == pytest.approx(total_model_flop(workload), rel=0.01)


@CHECKED
@given(jobs())
def test_every_send_has_one_receive_of_its_tag_and_size(
    job: tuple[TrainingWorkload, ParallelPlan],
) -> None:
    graph = built(job)
    messages: dict[int, set[tuple[int, int, int, int]]] = {
        NodeKind.SEND: set(),
        NodeKind.RECV: set(),
    }
    count = 0
    for stage in graph.stages:
        for node in np.flatnonzero((stage.kind == NodeKind.SEND) | (stage.kind == NodeKind.RECV)):
            kind = int(stage.kind[node])
            peer = int(stage.peer_stage[node])
            ends = (stage.stage, peer) if kind == NodeKind.SEND else (peer, stage.stage)
            messages[kind].add((int(stage.tag[node]), *ends, int(stage.size_bytes[node])))
            count += 1
    assert messages[NodeKind.SEND] == messages[NodeKind.RECV]
    assert count == 2 * len(messages[NodeKind.SEND])
    assert len({tag for tag, *_ in messages[NodeKind.SEND]}) == count // 2


@CHECKED
@given(jobs())
def test_dependencies_point_back_and_are_distinct(
    job: tuple[TrainingWorkload, ParallelPlan],
) -> None:
    for stage in built(job).stages:
        owner = np.repeat(np.arange(stage.nodes), np.diff(stage.dep_start))
        assert stage.dep_start[-1] == stage.dep.size
        assert np.all(stage.dep >= 0)
        assert np.all(stage.dep < owner)
        assert np.unique(owner * stage.nodes + stage.dep).size == stage.dep.size


@CHECKED
@given(jobs())
def test_stages_that_share_a_group_use_it_in_the_same_order(
    job: tuple[TrainingWorkload, ParallelPlan],
) -> None:
    graph = built(job)
    for axis in (Axis.PP, Axis.EMBEDDING):
        orders = {
            tuple(
                int(item)
                for item in stage.item[stage.kind == NodeKind.COLLECTIVE]
                if graph.collectives[item].axis is axis
            )
            for stage in graph.stages
        }
        assert len(orders - {()}) <= 1
        assert all(graph.groups[axis].size > 1 for order in orders if order)


@CHECKED
@given(jobs())
def test_compute_nodes_of_a_stage_form_one_chain(
    job: tuple[TrainingWorkload, ParallelPlan],
) -> None:
    assume(not SCHEDULES[job[1].schedule].overlaps)
    for stage in built(job).stages:
        last = -1
        # the latest compute node that each node waits for, directly or not
        behind = np.full(stage.nodes, -1)
        for node in range(stage.nodes):
            for parent in stage.dep[stage.dep_start[node] : stage.dep_start[node + 1]]:
                computes = stage.kind[parent] == NodeKind.COMPUTE
                behind[node] = max(behind[node], parent if computes else behind[parent])
            if stage.kind[node] == NodeKind.COMPUTE:
                assert behind[node] == last
                last = node


@CHECKED
@given(jobs())
def test_footprint_shrinks_with_sharding_and_recompute(
    job: tuple[TrainingWorkload, ParallelPlan],
) -> None:
    built(job)
    workload, plan = job
    needed = footprint(workload, plan).total_bytes
    saving = {"recompute": "full", "zero_stage": 3, "flash_attention": True}
    leaner = footprint(workload, plan.model_copy(update=saving))
    one_layer = footprint(workload, plan.model_copy(update=saving | {"recompute": "none"}))
    assert needed > 0
    assert min(leaner.total_bytes, one_layer.total_bytes) <= needed

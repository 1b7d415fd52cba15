"""Tokens that are sent once per node and passed on there, against counts of all choices."""

from itertools import combinations
from typing import Any

import pytest
from graph_sums import bytes_by_axis, total_flop

from simcore.errors import InfeasibleError
from simcore.terms import Precision
from simcore.workload import (
    Axis,
    Model,
    ParallelPlan,
    TrainingGraph,
    TrainingWorkload,
    build_graph,
    load_model,
)
from simcore.workload.kinds.transformer.expert_paths import ExpertPaths, met

HIDDEN, SEQUENCE, BATCH = 64, 64, 16
PLAIN: dict[str, Any] = {
    "name": "moe", "kind": "llama", "layers": 2, "hidden": HIDDEN, "heads": 8, "vocabulary": 512,
}  # fmt: skip
ROUTED = {"count": 8, "active": 2, "ffn": 96, "shared_ffn": 64}


def model_of(**experts: Any) -> Model:
    return Model.model_validate(PLAIN | {"experts": ROUTED | experts})


def graph_of(model: Model, plan: dict[str, Any], **more: Any) -> TrainingGraph:
    workload = TrainingWorkload(model=model, sequence=SEQUENCE, global_batch=BATCH, **more)
    return build_graph(workload, ParallelPlan(**plan))


@pytest.mark.parametrize("active", [1, 2, 3, 4])
@pytest.mark.parametrize("holders", [1, 2, 4, 8])
def test_holders_met_are_the_mean_over_all_choices(holders: int, active: int) -> None:
    each = 8 // holders
    choices = list(combinations(range(8), active))
    mean = sum(len({expert // each for expert in choice}) for choice in choices) / len(choices)
    assert met(holders, 8, active) == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_a_limit_keeps_the_experts_of_a_token_on_few_nodes(limit: int) -> None:
    experts = model_of(count=16, active=3, node_limit=limit).experts
    assert experts is not None
    paths = ExpertPaths.of(experts, ParallelPlan(dp=8, ep=8, dispatch_group=2))
    # 4 nodes of 2 NPUs with 2 experts each: on the allowed ones any 3 experts
    choices = list(combinations(range(4 * limit), 3))
    nodes = sum(len({expert // 4 for expert in choice}) for choice in choices) / len(choices)
    npus = sum(len({expert // 2 for expert in choice}) for choice in choices) / len(choices)
    assert (paths.to_groups, paths.to_npus) == pytest.approx((nodes, npus), rel=1e-12)


PLANS: list[dict[str, Any]] = [
    {"dp": 8, "ep": 8, "dispatch_group": 2},
    {"dp": 8, "ep": 8, "dispatch_group": 4},
    {"dp": 4, "ep": 4, "dispatch_group": 2, "pp": 2},
    {"tp": 2, "dp": 4, "ep": 4, "dispatch_group": 2, "sequence_parallel": True},
    {"tp": 2, "dp": 4, "ep": 8, "etp": 1, "dispatch_group": 4, "sequence_parallel": True},
]


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_copies_cross_nodes_once_and_reach_each_npu_once(plan: dict[str, Any]) -> None:
    model, job = model_of(), ParallelPlan(**plan)
    sums = bytes_by_axis(graph_of(model, plan))
    group = plan["dispatch_group"]
    tokens, nodes = SEQUENCE // job.tp, job.ep // group
    runs = BATCH // job.dp * 2 // job.pp * 4  # layers of a stage, four journeys each
    pairs = list(combinations(range(8), 2))
    for axis, holders in ((Axis.EP_RAIL, nodes), (Axis.EP_NODE, job.ep)):
        each = 8 // holders
        copies = sum(len({expert // each for expert in pair}) for pair in pairs) / len(pairs)
        rows = -(-tokens * round(copies * len(pairs)) // len(pairs))
        assert sums[axis].tolist() == [runs * 2 * rows * HIDDEN] * job.pp


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_products_stay_the_same(plan: dict[str, Any]) -> None:
    model = model_of()
    alone = {key: value for key, value in plan.items() if key != "dispatch_group"}
    assert total_flop(graph_of(model, plan), "gemm") == total_flop(graph_of(model, alone), "gemm")


def test_nodes_and_rails_are_the_rows_and_columns_of_the_group() -> None:
    graph = graph_of(model_of(), {"dp": 8, "ep": 8, "dispatch_group": 4, "pp": 2})
    groups = {axis: (group.stride, group.size) for axis, group in graph.groups.items()}
    assert groups[Axis.EP_NODE] == (1, 4)
    assert groups[Axis.EP_RAIL] == (4, 2)
    assert groups[Axis.EP] == (1, 8)


def test_one_group_sends_nothing_between_nodes() -> None:
    sums = bytes_by_axis(graph_of(model_of(), {"dp": 4, "ep": 4, "dispatch_group": 4}))
    assert Axis.EP_RAIL not in sums
    assert sums[Axis.EP_NODE][0] > 0


def test_tokens_of_deepseek_v3_reach_at_most_four_nodes() -> None:
    experts = load_model("deepseek_v3").experts
    assert experts is not None
    paths = ExpertPaths.of(experts, ParallelPlan(dp=64, ep=64, dispatch_group=8))
    assert experts.node_limit == 4
    assert 3.5 < paths.to_groups <= 4
    assert paths.to_groups < paths.to_npus < 8


@pytest.mark.parametrize(
    ("given", "element_bytes"),
    [("fp8", 1 + 4 / 128), ("fp4", 0.5 + 1 / 16), ("bf16", 2.0), (None, 2.0)],
)
def test_narrow_formats_travel_with_their_scales(given: str | None, element_bytes: float) -> None:
    narrow = Precision(given) if given else None
    wide, sent = (
        bytes_by_axis(graph_of(model_of(), {"dp": 4, "ep": 4}, dispatch_format=each))[Axis.EP][0]
        for each in (None, narrow)
    )
    journeys = 2 * 4 * SEQUENCE * 2 * HIDDEN  # of the tokens: layers, micro-batches, numbers
    assert wide - sent == journeys * (2 - element_bytes)


@pytest.mark.parametrize(
    ("experts", "plan", "rule"),
    [
        ({}, {"dp": 8, "ep": 8, "dispatch_group": 3}, "dispatch_groups_fill_ep"),
        ({}, {"dp": 4, "ep": 4, "dispatch_group": 8}, "dispatch_groups_fill_ep"),
        (
            {"node_limit": 1, "active": 3},
            {"dp": 8, "ep": 8, "dispatch_group": 2},
            "node_limit_holds_experts",
        ),
    ],
)
def test_groups_that_do_not_fit_are_refused(
    experts: dict[str, Any], plan: dict[str, Any], rule: str
) -> None:
    with pytest.raises(InfeasibleError) as error:
        graph_of(model_of(**experts), plan)
    assert error.value.rule == rule


def test_a_dense_model_has_no_dispatch_groups() -> None:
    dense = Model.model_validate(PLAIN | {"ffn": 128})
    with pytest.raises(InfeasibleError) as error:
        graph_of(dense, {"dp": 8, "dispatch_group": 2})
    assert error.value.rule == "experts_exist"

"""Recompute of some layers, and pipelines whose chunks differ in length."""

from typing import Any

import pytest
from graph_sums import total_flop

from simcore.errors import ConfigError, InfeasibleError
from simcore.memory.footprint import footprint
from simcore.workload import (
    Model,
    ParallelPlan,
    TrainingGraph,
    TrainingWorkload,
    build_graph,
    load_plan,
)

MODEL = Model(name="m", layers=12, hidden=64, heads=8, ffn=256)
SEQUENCE, BATCH = 32, 8
PER_LAYER = 12 * 64**2
SBH = SEQUENCE * 64


def workload() -> TrainingWorkload:
    return TrainingWorkload(model=MODEL, sequence=SEQUENCE, global_batch=BATCH)


def graph_of(**plan: Any) -> TrainingGraph:
    return build_graph(workload(), ParallelPlan(**plan))


@pytest.mark.parametrize(
    ("plan", "redone"),
    [
        ({"recompute_layers": 5}, 5),
        ({"recompute_layers": 2, "pp": 3}, 6),
        ({"recompute_layers": 1, "pp": 2, "interleave": 3}, 6),
        ({"recompute_layers": 99, "pp": 2}, 12),
        ({}, 12),
    ],
)
def test_only_the_first_layers_of_each_chunk_are_repeated(
    plan: dict[str, Any], redone: int
) -> None:
    graph = graph_of(recompute="full", **plan)
    tokens = BATCH * SEQUENCE
    assert total_flop(graph, "gemm") == tokens * PER_LAYER * (6 * 12 + 2 * redone)


@pytest.mark.parametrize(("layers", "every"), [(12, 1), (4, 1), (12, 3), (12, 4), (8, 2), (12, 5)])
def test_repeated_layers_keep_their_inputs(layers: int, every: int) -> None:
    plan = ParallelPlan(recompute="full", recompute_layers=layers, recompute_every=every)
    kept = footprint(workload(), plan).stages[0].activations_bytes
    inputs = 2 * SBH * -(-layers // every)
    assert kept == inputs + (12 - layers) * 34 * SBH + every * 34 * SBH


def test_chunks_hold_the_layers_that_the_plan_gives_them() -> None:
    graph = graph_of(pp=3, chunk_layers=(3, 5, 4))
    assert [stage.layers for stage in graph.stages] == [
        (0, 1, 2),
        (3, 4, 5, 6, 7),
        (8, 9, 10, 11),
    ]
    interleaved = graph_of(pp=2, interleave=2, chunk_layers=(2, 4, 4, 2))
    assert [stage.layers for stage in interleaved.stages] == [
        (0, 1, 6, 7, 8, 9),
        (2, 3, 4, 5, 10, 11),
    ]
    for even, uneven in [(graph_of(pp=3), graph), (graph_of(pp=2, interleave=2), interleaved)]:
        assert total_flop(even, "gemm") == total_flop(uneven, "gemm")


def test_footprint_follows_the_uneven_chunks() -> None:
    stages = footprint(workload(), ParallelPlan(pp=3, chunk_layers=(3, 5, 4))).stages
    parameters = PER_LAYER + 4 * 64
    assert [stage.weights_bytes for stage in stages] == [2 * parameters * n for n in (3, 5, 4)]
    assert [stage.activations_bytes for stage in stages] == [
        34 * SBH * layers * alive for layers, alive in ((3, 3), (5, 2), (4, 1))
    ]


@pytest.mark.parametrize(
    ("rule", "values"),
    [
        ("chunk_layers_match", {"pp": 3, "chunk_layers": (6, 6)}),
        ("chunk_layers_match", {"pp": 2, "chunk_layers": (6, 7)}),
        ("recompute_is_full", {"recompute_layers": 2}),
        ("recompute_is_full", {"recompute": "selective", "recompute_every": 2}),
    ],
)
def test_choice_that_does_not_fit_names_its_rule(rule: str, values: dict[str, Any]) -> None:
    with pytest.raises(InfeasibleError) as caught:
        graph_of(**values)
    assert caught.value.rule == rule


def test_chunk_without_layers_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"plan.chunk_layers\[1\]: must be greater than or"):
        load_plan({"pp": 2, "chunk_layers": [12, 0]})

"""Graphs of models whose layers differ: Mamba-2 mixers beside attention, MLPs and experts."""

from typing import Any

import pytest
from graph_sums import bytes_by_axis, total_flop

from simcore.errors import ConfigError, InfeasibleError
from simcore.memory.footprint import footprint
from simcore.terms import CollectiveKind
from simcore.workload import (
    Axis,
    Model,
    ParallelPlan,
    TrainingGraph,
    TrainingWorkload,
    build_graph,
    load_model,
)

STATE = {"heads": 16, "head_width": 8, "groups": 4, "state": 16, "chunk": 16}
TABLE: dict[str, Any] = {
    "name": "hybrid", "kind": "llama", "mlp": "squared_relu", "layers": 8, "hidden": 64,
    "pattern": "MEM*E-M*", "heads": 8, "kv_heads": 4, "head_dim": 16, "ffn": 128,
    "experts": {"count": 8, "active": 2, "ffn": 96, "latent_width": 32, "shared_ffn": 64},
    "mamba": STATE, "vocabulary": 512,
}  # fmt: skip
HYBRID = Model.model_validate(TABLE)
SEQUENCE, BATCH = 64, 24
INNER, MIXED = 16 * 8, 2 * 4 * 16


def graph_of(**plan: Any) -> TrainingGraph:
    workload = TrainingWorkload(model=HYBRID, sequence=SEQUENCE, global_batch=BATCH)
    return build_graph(workload, ParallelPlan(**plan))


PLANS: list[dict[str, Any]] = [
    {},
    {"dp": 4, "ep": 4, "pp": 2},
    {"pp": 2, "interleave": 2, "dp": 2, "ep": 2, "zero_stage": 3},
    {"tp": 2, "cp": 2, "ep": 2, "sequence_parallel": True, "pp": 3},
    {"tp": 4, "dp": 2, "ep": 8, "etp": 1, "sequence_parallel": True, "recompute": "full"},
]


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_products_and_scans_add_up_over_all_splits(plan: dict[str, Any]) -> None:
    graph = graph_of(**plan)
    tokens, full = BATCH * SEQUENCE, plan.get("recompute") == "full"
    matrices = HYBRID.matrix_parameters(HYBRID.layer_kinds, active=True)
    table = 6 * HYBRID.embedding_parameters
    assert total_flop(graph, "gemm") == tokens * ((8 if full else 6) * matrices + table)
    # per token and layer: within chunks 2 Q (N g + d), states 2 N d to make and as many to use
    within, states = 2 * 16 * (4 * 16 + INNER), 2 * 16 * INNER
    forward, backward = within + 2 * states, 3 * within + 5 * states
    assert total_flop(graph, "scan") == 3 * tokens * (forward * (2 if full else 1) + backward)


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_weights_of_all_npus_add_up_to_the_parameters_of_the_model(plan: dict[str, Any]) -> None:
    workload = TrainingWorkload(model=HYBRID, sequence=SEQUENCE, global_batch=BATCH)
    job = ParallelPlan(**(plan | {"zero_stage": 0}))
    held = sum(stage.weights_bytes // 2 for stage in footprint(workload, job).stages)
    of_experts = 2 * 8 * 2 * 32 * 96
    experts_held = of_experts // (job.ep * job.expert_tp)
    # what tp does not split: norms, router, narrowing and widening
    whole = (8 + 1) * 64 + 2 * 64 * (8 + 2 * 32)
    split = HYBRID.parameters - of_experts - whole
    assert held == experts_held + whole + split // job.tp


def test_heads_and_tokens_change_places_under_context_parallelism() -> None:
    graph = graph_of(cp=2)
    row, moved = 2 * INNER + MIXED + 16, 2 * (SEQUENCE // 2)
    mamba = 2 * (row + INNER) * moved  # there and back, forward and backward
    keys_and_values = 2 * 4 * 16 * moved
    attention = 2 * keys_and_values + 2 * keys_and_values  # gathered twice; gradients of all rows
    assert bytes_by_axis(graph)[Axis.CP].tolist() == [BATCH * (3 * mamba + 2 * attention)]
    exchanged = {op.name for op in graph.collectives if op.kind == CollectiveKind.ALL_TO_ALL}
    assert exchanged == {
        "mamba tokens", "mamba heads", "mamba head gradients", "mamba token gradients",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pattern": "MEM"}, "model.pattern: must have one letter per layer, 8, but got 3."),
        ({"pattern": "MEM*E-MX"}, "model.pattern: letters must be M * - E, but got 'X'."),
        ({"mamba": None}, "model.mamba: must be given exactly where some layers have it"),
        ({"ffn": 0}, "model.ffn: must be above 0, as some layers have a plain MLP"),
        ({"mlp": "relu"}, "model.mlp: must be one of"),
    ],
)
def test_broken_hybrid_is_told_what_to_mend(change: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_model(TABLE | change)
    assert message in str(caught.value)


def test_mamba_heads_must_divide() -> None:
    with pytest.raises(InfeasibleError, match="mamba_heads_divide"):
        build_graph(
            TrainingWorkload(
                model=Model.model_validate(TABLE | {"mamba": STATE | {"heads": 15}}),
                sequence=SEQUENCE,
                global_batch=BATCH,
            ),
            ParallelPlan(cp=2),
        )


@pytest.mark.parametrize(
    ("name", "billion", "active_billion"),
    [
        ("nemotron3_nano_30b_a3b", 31.6, 3.6),  # technical report, section 2
        ("nemotron3_super_120b_a12b", 120.6, 12.7),  # technical report, table 1
    ],
)
def test_shipped_hybrid_has_its_published_sizes(
    name: str, billion: float, active_billion: float
) -> None:
    model = load_model(name)
    assert model.parameters * 1e-9 == pytest.approx(billion, rel=0.01)
    assert model.active_parameters * 1e-9 == pytest.approx(active_billion, rel=0.01)

"""Footprints against the published formulas and figures."""

from typing import Any

import pytest

from simcore.errors import InfeasibleError
from simcore.memory.footprint import footprint
from simcore.workload import Model, ParallelPlan, TrainingWorkload, load_model

# Korthikanti et al., MLSys 2023, table 3: heads, hidden, layers, pp of the four models
# (s = 2048, t = 8, micro-batch 1, v = 51200).
PUBLISHED = {"22B": (64, 6144, 48), "175B": (96, 12288, 96), "530B": (128, 20480, 105)}


def job(name: str) -> TrainingWorkload:
    heads, hidden, layers = PUBLISHED[name]
    model = Model(name=name, layers=layers, hidden=hidden, heads=heads, ffn=4 * hidden)
    return TrainingWorkload(model=model, sequence=2048, global_batch=1)


def activations(workload: TrainingWorkload, **plan: Any) -> int:
    return footprint(workload, ParallelPlan(**plan)).stages[0].activations_bytes


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.parametrize("tp", [1, 8])
def test_activations_follow_table_2_of_korthikanti(name: str, tp: int) -> None:
    heads, hidden, layers = PUBLISHED[name]
    sbh, scores = 2048 * hidden * layers, 5 * heads * 2048 / hidden
    workload = job(name)
    plain = {"tp": tp, "flash_attention": False}
    split = plain | {"sequence_parallel": True}
    assert activations(workload, **plain) == pytest.approx(sbh * (10 + 24 / tp + scores / tp))
    assert activations(workload, **split) == pytest.approx(sbh / tp * (34 + scores))
    assert activations(workload, **split, recompute="selective") == sbh * 34 / tp
    assert activations(workload, **plain, recompute="selective") == sbh * (10 + 24 / tp)
    assert activations(workload, tp=tp, sequence_parallel=True) == sbh * 34 / tp


@pytest.mark.parametrize(("name", "saved"), [("175B", 0.70), ("530B", 0.65)])
def test_selective_recompute_saves_the_published_share(name: str, saved: float) -> None:
    # section 5: "saves 70% and 65% of the required memory for activations"
    workload = job(name)
    plan = {"tp": 8, "sequence_parallel": True, "flash_attention": False}
    kept = activations(workload, **plan, recompute="selective") / activations(workload, **plan)
    assert 1 - kept == pytest.approx(saved, abs=0.005)


def test_full_recompute_keeps_inputs_and_one_working_layer() -> None:
    workload = job("175B")
    sbh = 2048 * 12288
    kept = activations(workload, tp=8, sequence_parallel=True, recompute="full")
    assert kept == 96 * 2 * sbh / 8 + 34 * sbh / 8


@pytest.mark.parametrize(
    ("zero_stage", "dp", "bytes_per_parameter"),
    [(0, 4, 18), (1, 4, 6 + 12 / 4), (1, 8, 6 + 12 / 8)],  # Megatron-LM, distributed optimizer
)
def test_model_state_takes_the_published_bytes_per_parameter(
    zero_stage: int, dp: int, bytes_per_parameter: float
) -> None:
    model = load_model("llama3_8b")
    workload = TrainingWorkload(model=model, sequence=8192, global_batch=8)
    stage = footprint(workload, ParallelPlan(dp=dp, zero_stage=zero_stage)).stages[0]
    state = stage.weights_bytes + stage.gradients_bytes + stage.optimizer_bytes
    assert state == model.parameters * bytes_per_parameter


@pytest.mark.parametrize(
    ("zero_stage", "shared", "whole"),
    [(2, 2, 16), (3, 0, 18)],  # ZeRO, SC 2020, figure 1
)
def test_sharded_state_takes_the_published_bytes_and_what_is_in_use(
    zero_stage: int, shared: float, whole: float
) -> None:
    model = load_model("llama3_8b")
    workload = TrainingWorkload(model=model, sequence=8192, global_batch=8)
    stage = footprint(workload, ParallelPlan(dp=8, zero_stage=zero_stage)).stages[0]
    state = stage.weights_bytes + stage.gradients_bytes + stage.optimizer_bytes
    layer, head = model.parameters_per_layer, model.embedding_parameters + 4096
    in_use = 4 * layer + (2 * (2 * layer + head) if zero_stage == 3 else 0)
    assert state == model.parameters * (shared + whole / 8) + in_use


@pytest.mark.parametrize(("schedule", "alive"), [("1f1b", [4, 3, 2, 1]), ("gpipe", [16] * 4)])
def test_stages_hold_the_alive_microbatches_of_their_schedule(
    schedule: str, alive: list[int]
) -> None:
    workload = job("175B").model_copy(update={"global_batch": 16})
    plan = ParallelPlan(tp=8, pp=4, sequence_parallel=True, schedule=schedule)
    needed = footprint(workload, plan)
    one = 24 * 34 * 2048 * 12288 // 8
    assert [stage.activations_bytes for stage in needed.stages] == [one * n for n in alive]


@pytest.mark.parametrize("interleave", [2, 4])
def test_interleaving_keeps_the_published_share_more_on_the_first_stage(interleave: int) -> None:
    # Korthikanti 2022, section 4.2.3: 1 + (p - 1) / (p m) times, m chunks
    workload = job("175B").model_copy(update={"global_batch": 64})
    plan = {"tp": 8, "pp": 8, "sequence_parallel": True}
    more = activations(workload, **plan, interleave=interleave) / activations(workload, **plan)
    assert more == pytest.approx(1 + 7 / (8 * interleave))


def test_last_stage_holds_fp32_logits() -> None:
    workload = TrainingWorkload(model=load_model("gpt3_175b"), sequence=2048, global_batch=8)
    needed = footprint(workload, ParallelPlan(tp=8, pp=8, sequence_parallel=True))
    inputs = 2 * 2 * 2048 * 12288 // 8
    assert [stage.logits_bytes for stage in needed.stages[:-1]] == [0] * 7
    assert needed.stages[-1].logits_bytes == 4 * 2048 * 51200 // 8 + inputs


def test_swiglu_with_grouped_queries_keeps_its_own_tensors() -> None:
    model = Model(name="m", kind="llama", layers=1, hidden=64, heads=8, kv_heads=2, ffn=96)
    workload = TrainingWorkload(model=model, sequence=32, global_batch=1)
    norms_and_inputs, attention, mlp = 4 * 64, 2 * 64 + 2 * 16, 3 * 96
    assert activations(workload) == 2 * 32 * (norms_and_inputs + attention + mlp)


def test_components_add_up_to_the_fullest_stage() -> None:
    workload = TrainingWorkload(model=load_model("gpt3_175b"), sequence=2048, global_batch=8)
    needed = footprint(workload, ParallelPlan(tp=8, pp=8, sequence_parallel=True))
    assert needed.fullest.stage == 0
    assert sum(needed.components().values()) == needed.total_bytes
    assert needed.total_bytes == max(stage.total_bytes for stage in needed.stages)


def test_plan_that_does_not_fit_the_workload_has_no_footprint() -> None:
    with pytest.raises(InfeasibleError, match="heads_divide_by_tp"):
        footprint(job("175B"), ParallelPlan(tp=7))


def last_stage_bytes(vocabulary: int, recompute: str, **plan: Any) -> int:
    """Logits and activations of the last stage of three layers for each stage."""
    stages, batches = plan.get("pp", 1), 4
    model = Model(
        name="some", layers=3 * stages, hidden=1024, heads=8, ffn=4096, vocabulary=vocabulary
    )
    work = TrainingWorkload(model=model, sequence=1024, global_batch=batches)
    stage = footprint(work, ParallelPlan(recompute=recompute, **plan)).stages[-1]
    return stage.logits_bytes + stage.activations_bytes


@pytest.mark.parametrize(
    ("schedule", "pp", "alive"), [("1f1b", 1, 1), ("1f1b", 2, 1), ("gpipe", 2, 4)]
)
def test_logits_and_a_repeated_layer_are_not_held_at_once(
    schedule: str, pp: int, alive: int
) -> None:
    """Measured: ``tests/golden/one_accelerator``, peaks of iterations with full recompute."""
    sbh = 1024 * 1024
    layer, inputs = 34 * sbh, alive * 3 * 2 * sbh
    for vocabulary in (128, 8 * 1024, 64 * 1024):
        logits = 4 * 1024 * vocabulary + 2 * 2 * sbh
        found = last_stage_bytes(vocabulary, "full", schedule=schedule, pp=pp)
        assert found == inputs + (alive - 1) * logits + max(layer, logits)


def test_schedules_whose_units_overlap_may_hold_both() -> None:
    plan = {"schedule": "1f1b_overlapped", "pp": 2}
    alone = [last_stage_bytes(vocabulary, "full", **plan) for vocabulary in (128, 64 * 1024)]
    assert alone[1] - alone[0] == 2 * 4 * 1024 * (64 * 1024 - 128)

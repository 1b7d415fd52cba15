"""Shortages told apart, from the least that a run holds to the most that it may take."""

from typing import Any

import pytest

from simcore.memory.fit import MemoryFit, Shortage
from simcore.memory.footprint import footprint
from simcore.memory.modules import activations_by_module
from simcore.memory.runtime import GROUP_BYTES, PRODUCT_BYTES, RuntimeMemory, runtime_memory
from simcore.units import format_memory
from simcore.workload import Model, ParallelPlan, TrainingWorkload, load_model, load_workload

MODEL = Model(name="m", layers=8, hidden=512, heads=8, ffn=2048, vocabulary=1024)
JOB = TrainingWorkload(model=MODEL, sequence=1024, global_batch=16)
RUNTIME = RuntimeMemory(context_bytes=10, workspace_bytes=20, reserve=0.1)


def runtime_of(job: TrainingWorkload, plan: ParallelPlan) -> RuntimeMemory:
    return runtime_memory(job, plan, footprint(job, plan))


def fit_in(capacity_bytes: float, runtime: RuntimeMemory = RUNTIME) -> MemoryFit:
    return MemoryFit.of(footprint(JOB, ParallelPlan(dp=16)), runtime, capacity_bytes)


def test_less_memory_never_makes_a_shortage_milder() -> None:
    order, beside = list(Shortage), RuntimeMemory(context_bytes=10**9, reserve=0.1)
    held = fit_in(1.0).held_bytes
    sizes = [(held + 2e9) * (1.5 - step / 100) for step in range(150)]
    found = [order.index(fit_in(size, beside).shortage) for size in sizes]
    assert found == sorted(found)
    assert set(found) == {0, 1, 2, 3}


def test_each_shortage_begins_where_its_sum_exceeds_the_memory() -> None:
    held = fit_in(1.0).held_bytes
    expected, highest = held + 30, int((held + 30) * 1.1)
    assert fit_in(held - 1).shortage is Shortage.CERTAIN
    assert fit_in(held).shortage is Shortage.LIKELY
    assert fit_in(expected).shortage is Shortage.TIGHT
    assert fit_in(highest).shortage is Shortage.NONE
    for capacity, words in (
        (held - 1, "too small: tensors alone"),
        (held, "likely too small"),
        (expected, "tight"),
        (highest, "suffices"),
    ):
        assert words in fit_in(capacity).reason


def test_memory_is_told_in_the_unit_that_it_is_sold_in() -> None:
    assert "80 GiB there" in fit_in(80 * 2**30).reason
    assert format_memory(0) == "0 B"
    assert format_memory(1023) == "1023 B"
    assert format_memory(1024) == "1 KiB"
    assert format_memory(1.5 * 2**40) == "1.5 TiB"


def test_what_a_run_takes_beside_its_tensors_grows_with_the_groups_it_communicates_in() -> None:
    alone = runtime_of(JOB, ParallelPlan())
    split = runtime_of(JOB, ParallelPlan(tp=2, dp=4, pp=2, sequence_parallel=True))
    assert alone.communication_bytes == 0
    assert split.communication_bytes == 3 * GROUP_BYTES


@pytest.mark.parametrize(
    ("changes", "per_weight"),
    [
        ({}, 0.0),
        ({"precision": "fp8"}, 0.5),  # a byte beside the two of each weight
        ({"precision": "fp8", "weight_format": "fp8"}, 0.0),
    ],
)
def test_weights_in_16_bits_are_there_in_the_format_of_products_too(
    changes: dict[str, Any], per_weight: float
) -> None:
    job = TrainingWorkload(model=MODEL, sequence=1024, global_batch=16, **changes)
    weights_bytes = footprint(job, ParallelPlan(dp=2)).fullest.weights_bytes
    assert runtime_of(job, ParallelPlan(dp=2)).copies_bytes == weights_bytes * per_weight
    sharded = ParallelPlan(dp=2, zero_stage=3)
    assert runtime_of(job, sharded).copies_bytes == 0, "they are gathered each time"


def test_gradients_flow_through_one_block_at_a_time() -> None:
    plan = ParallelPlan(dp=16)
    mlp = 1024 * 512 * (2 + 2 + 1 + 8 + 8)  # norm's input and result, mask, and twice 4 h
    assert runtime_of(JOB, plan).workspace_bytes == PRODUCT_BYTES + mlp


@pytest.mark.parametrize(
    "plan",
    [
        {},
        {"recompute": "full"},
        {"recompute": "full", "recompute_layers": 2, "pp": 2},
        {"recompute_parts": ("norms", "mlp")},
        {"pp": 4, "schedule": "gpipe"},
        {"pp": 2, "interleave": 2, "dp": 4},
        {"pp": 2, "schedule": "zb_h1"},
    ],
    ids=str,
)
def test_modules_add_up_to_the_activations(plan: dict[str, Any]) -> None:
    chosen = ParallelPlan.build(**plan)
    needed = footprint(JOB, chosen)
    found = activations_by_module(JOB, chosen, needed)
    assert sum(found.values()) == needed.fullest.activations_bytes
    assert min(found.values()) >= 0


def test_kinds_without_named_modules_have_one_account_too() -> None:
    job = load_workload({"kind": "cnn", "model": "resnet50", "global_batch": 8})
    needed = footprint(job, ParallelPlan())
    found = activations_by_module(job, ParallelPlan(), needed)
    assert sum(found.values()) == needed.fullest.activations_bytes


def test_experts_hold_most_of_the_activations_of_a_model_of_many() -> None:
    job = TrainingWorkload(model=load_model("deepseek_v3"), sequence=4096, global_batch=64)
    plan = ParallelPlan(pp=4, dp=64, ep=64, zero_stage=1)
    found = activations_by_module(job, plan, footprint(job, plan))
    assert max(found, key=lambda name: found[name]) == "experts"


def test_parts_tell_main_copies_apart_and_add_up() -> None:
    needed = footprint(JOB, ParallelPlan(dp=4, zero_stage=1))
    parts = needed.parts()
    assert sum(parts.values()) == needed.total_bytes
    assert parts["main weights"] * 2 == parts["optimizer"], "fp32 copy, and two moments"

"""Number formats of what is kept, against sums by hand and published bytes per parameter."""

from typing import Any

import pytest

from simcore.errors import ConfigError
from simcore.memory.footprint import footprint
from simcore.workload import Model, ParallelPlan, TrainingWorkload, load_model, load_workload

LAYERS, HIDDEN, SEQUENCE = 4, 64, 32
DENSE = Model(name="m", layers=LAYERS, hidden=HIDDEN, heads=8, ffn=4 * HIDDEN)


def activations(**changes: Any) -> int:
    job = TrainingWorkload(model=DENSE, sequence=SEQUENCE, global_batch=1, **changes)
    return footprint(job, ParallelPlan()).stages[0].activations_bytes


@pytest.mark.parametrize(
    ("changes", "per_element"),
    [
        ({}, 34),
        # both norms' inputs 4 and results 2, masks 2, queries, keys and values 6, their mean 2 and
        # a copy of it in 8 bits, what is activated 8, and the result 4
        ({"precision": "fp8"}, 29),
        ({"precision": "fp8", "kept_format": "bf16"}, 34),
        ({"kept_format": "bf16"}, 34),
    ],
)
def test_inputs_of_products_are_kept_as_the_products_read_them(
    changes: dict[str, Any], per_element: int
) -> None:
    assert activations(**changes) == per_element * LAYERS * SEQUENCE * HIDDEN


def test_fewer_bits_keep_less() -> None:
    sizes = [activations(precision=name) for name in ("fp32", "bf16", "fp8", "fp4")]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 4


@pytest.mark.parametrize(
    ("changes", "bytes_per_parameter"),
    [
        ({}, 18),  # Megatron-LM, theoretical_memory_usage.py
        ({"gradient_format": "bf16"}, 16),
        ({"moment_format": "bf16"}, 14),  # two bytes of each moment in the place of four
        ({"moment_format": "fp8", "gradient_format": "bf16"}, 10),
        ({"optimizer": "sgd", "moment_format": "bf16"}, 12),
        ({"weight_format": "fp8", "precision": "fp8"}, 17),
    ],
)
def test_states_take_the_bytes_of_their_formats(
    changes: dict[str, Any], bytes_per_parameter: float
) -> None:
    model = load_model("llama3_8b")
    job = TrainingWorkload(model=model, sequence=8192, global_batch=8, **changes)
    stage = footprint(job, ParallelPlan(dp=4)).stages[0]
    state = stage.weights_bytes + stage.gradients_bytes + stage.optimizer_bytes
    assert state == model.parameters * bytes_per_parameter
    assert stage.main_bytes == 4 * model.parameters


@pytest.mark.parametrize(
    ("zero_stage", "published_gb"),
    [(0, 120), (1, 31.4)],  # ZeRO, SC 2020, figure 1: 7.5e9 parameters, 64 replicas, fp16 sums
)
def test_a_replica_of_64_takes_the_memory_that_zero_publishes(
    zero_stage: int, published_gb: float
) -> None:
    model = load_model("llama3_8b")
    job = TrainingWorkload(model=model, sequence=8192, global_batch=64, gradient_format="fp16")
    stage = footprint(job, ParallelPlan(dp=64, zero_stage=zero_stage)).stages[0]
    state = stage.weights_bytes + stage.gradients_bytes + stage.optimizer_bytes
    assert state / model.parameters * 7.5 == pytest.approx(published_gb, abs=0.05)


def test_moments_in_16_bits_move_less_in_the_optimizer_step() -> None:
    from simcore.workload import build_graph

    def moved(name: str) -> float:
        job = TrainingWorkload(model=DENSE, sequence=SEQUENCE, global_batch=1, moment_format=name)
        operators = build_graph(job, ParallelPlan()).operators
        kernels = [k for operator in operators for k in operator.kernels if k.name == "optimizer"]
        return sum(kernel.bytes for kernel in kernels)

    assert moved("fp32") - moved("bf16") == 2 * 2 * 2 * DENSE.parameters


@pytest.mark.parametrize("key", ["moment_format", "kept_format"])
def test_inference_keeps_neither_moments_nor_inputs(key: str) -> None:
    table = {"kind": "inference", "model": "llama3_8b", "step": "decode", "sequence": 128}
    with pytest.raises(ConfigError, match=key):
        load_workload({**table, "global_batch": 1, key: "bf16"})

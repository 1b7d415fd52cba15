"""Rows of load tests: names of checkpoints, and degrees that tables tell in several ways."""

import pytest

from simcore.files.resources import shipped_names
from simcore.validation.rows import MeasuredRow, UnsupportedRow
from simcore.validation.served.mapping import ServedRuns, Shape
from simcore.validation.served.models import CHECKPOINTS, served_model
from simcore.validation.served.predict import ServedPredictor


def row_of(**cells: str) -> MeasuredRow:
    return MeasuredRow(cells={"id": "x", **cells}, at="rows.csv:2")


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("nvidia/Llama-3.1-8B-Instruct-FP8", "llama3_8b"),
        ("meta-llama/Meta-Llama-3.1-70B", "llama3_70b"),
        ("deepseek-ai/DeepSeek-R1-0528", "deepseek_v3"),
        ("nvidia/Qwen3-32B-NVFP4", "qwen3_32b"),
        ("GPT-OSS 120B", "gpt_oss_120b"),
    ],
)
def test_a_checkpoint_has_the_shape_of_its_model(name: str, model: str) -> None:
    assert served_model(name).name == model


def test_a_shape_that_nobody_ships_is_unsupported() -> None:
    with pytest.raises(UnsupportedRow, match="no model of configs/models has the shape of Foo-9B"):
        served_model("Foo-9B")


def test_every_model_behind_a_checkpoint_is_shipped() -> None:
    assert set(CHECKPOINTS.values()) <= set(shipped_names("models"))


@pytest.mark.parametrize(
    ("tp", "dp", "etp", "ep", "shape"),
    [
        ("8", "1", "8", "1", (8, 1, 8, 1)),
        ("8", "1", "1", "8", (8, 1, 1, 8)),
        ("1", "8", "1", "8", (1, 8, 1, 8)),
        ("64", "1", "8", "8", (8, 1, 1, 8)),  # multiplied once too often
        ("1", "16", "4", "4", (1, 4, 1, 4)),
        ("32", "1", "1", "32", (1, 32, 1, 32)),  # latents whole on each NPU
        ("4", "", "1", "1", (4, 1, 4, 1)),
    ],
)
def test_degrees_are_read_as_engines_can_run_them(
    tp: str, dp: str, etp: str, ep: str, shape: tuple[int, ...]
) -> None:
    row = row_of(tp=tp, attention_dp=dp, moe_tp=etp, moe_ep=ep)
    found = Shape.of(row, served_model("DeepSeek-R1"))
    assert (found.tp, found.replicas, found.etp, found.ep) == shape


def test_one_accelerator_is_simulated_as_one_of_two_that_never_talk() -> None:
    row = row_of(model="gpt-oss-120b", system="h100", backend="vllm")
    shape = Shape(tp=1, replicas=1, etp=1, ep=1)
    run = ServedRuns().run(row, shape, "decode", 4, 1024)
    assert (run.plan.dp, run.workload.global_batch) == (2, 8)
    assert run.platform.npu.kernels is not None
    assert run.platform.npu.kernels.engine == "vllm"


def test_a_dense_model_is_not_split_by_what_its_heads_do_not_divide_by() -> None:
    row = row_of(
        model="Llama-3.1-70B",
        system="h100",
        tp="3",
        concurrency="4",
        input_len="64",
        output_len="64",
    )
    found = ServedPredictor().predict(row)
    assert found.status == "unsupported"
    assert found.reason.startswith("heads_divide_by_tp: 64 heads do not divide by tp = 3")

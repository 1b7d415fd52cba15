"""Steps of engines that are no graphs, and prompts and pools as they take them."""

from dataclasses import replace

import pytest

from simcore.config import Run
from simcore.validation.rows import MeasuredRow
from simcore.validation.served.mapping import Load, ServedRuns, Shape
from simcore.validation.served.models import served_model
from simcore.validation.served.predict import ServedPrediction, ServedPredictor
from simcore.validation.served.stack import ServingStack, stack_of

EIGHT = Shape(tp=8, replicas=1, etp=8, ep=1)


def row_of(**cells: str) -> MeasuredRow:
    row = {"model": "DeepSeek-R1", "system": "h200", "backend": "sglang", "mode": "agg", "tp": "8"}
    row |= {"gemm_format": "fp8", "moe_format": "fp8_block", "input_len": "1024", "id": "x"}
    return MeasuredRow(cells=row | {"output_len": "1024"} | cells, at="rows.csv:2")


def run_of(row: MeasuredRow, load: Load) -> Run:
    return ServedRuns().run(row, EIGHT, load)


def predicted(**cells: str) -> ServedPrediction:
    found = ServedPredictor().predict(row_of(**cells))
    assert found.status == "ok", found.reason
    return found


def test_only_steps_that_read_prompts_wait_for_launches() -> None:
    stack = stack_of(row_of()).model_copy(update={"read_issue_s": 2e-3})
    reads = run_of(row_of(), Load(step="prefill", sequences=1, keys=64))
    answers = run_of(row_of(), Load(step="decode", sequences=1, keys=64))
    beside = run_of(
        row_of(),
        Load(step="decode", sequences=8, keys=64, chunks=1, chunk_tokens=64),
    )
    assert stack.step_s(reads, 1e-3) == pytest.approx(61 * 2e-3)
    assert stack.step_s(beside, 1e-3) == pytest.approx(61 * 2e-3)
    assert stack.step_s(answers, 1e-3) == 1e-3
    assert stack.step_s(reads, 0.5) == 0.5


@pytest.mark.parametrize(
    ("model", "waits"),
    [("Qwen3.5-397B-A17B", True), ("GLM-5", True), ("DeepSeek-R1", False), ("Qwen3-32B", False)],
)
def test_states_and_picked_keys_are_prepared_before_each_step(model: str, waits: bool) -> None:
    row = row_of(model=model)
    run, stack = run_of(row, Load(step="decode", sequences=4, keys=64)), stack_of(row)
    assert stack.prepare_step_s > 0
    expected = 0.01 + (stack.prepare_step_s if waits else 0.0)
    assert stack.step_s(run, 0.01) == pytest.approx(expected)


def test_prompts_are_cut_where_an_engine_does_so() -> None:
    cut = ServingStack.load("vllm")
    whole = ServingStack.load("tensorrt_llm")
    assert [cut.parts(prompt) for prompt in (1, 8192, 8193, 20_000)] == [1, 1, 2, 3]
    assert whole.parts(20_000) == 1


def test_readers_that_no_table_tells_keep_pace_and_others_are_queued_for() -> None:
    pools = {
        "model": "gpt-oss-120b", "system": "gb200", "backend": "trtllm", "mode": "disagg",
        "gemm_format": "nvfp4", "moe_format": "nvfp4", "input_len": "8192", "num_gpus": "3",
        "concurrency": "512", "prefill_tp_size": "1", "decode_tp_size": "2",
        "decode_moe_tp_size": "2", "backend_version": "0.7.0",
    }  # fmt: skip
    told = {"prefill_num_workers": "1", "decode_num_workers": "1"}
    free, queued = predicted(**pools), predicted(**pools | told)
    assert free.tpot_s
    assert queued.tpot_s
    assert free.ttft_s
    assert queued.ttft_s
    assert queued.tpot_s < free.tpot_s  # fewer answers are under way
    assert queued.ttft_s > 5 * free.ttft_s


@pytest.mark.parametrize(
    ("checkpoint", "model"),
    [
        ("zai-org/GLM-5-FP8", "glm5"),
        ("Qwen/Qwen3.5-397B-A17B", "qwen3_5_397b_a17b"),
        ("deepseek-ai/DeepSeek-V3.2-Exp", "deepseek_v3_2"),
        ("deepseek-ai/DeepSeek-V3.2", "deepseek_v3_2"),
        ("deepseek-ai/DeepSeek-V3.1", "deepseek_v3"),
    ],
)
def test_checkpoints_with_other_attention_have_models_of_their_own(
    checkpoint: str, model: str
) -> None:
    assert served_model(checkpoint).name == model


def test_long_contexts_cost_picked_keys_less_than_all() -> None:
    near, far = (
        [
            ServedPredictor()
            .predict(
                replace(row_of(), cells=row_of(model=model, concurrency="32", input_len=size).cells)
            )
            .tpot_s
            or 0.0
            for size in ("4096", "131072")
        ]
        for model in ("DeepSeek-V3.1", "DeepSeek-V3.2")
    )
    assert far[1] / far[0] < near[1] / near[0]

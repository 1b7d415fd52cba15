"""Software of load tests by release, what checkpoints tell, and room for requests."""

import pytest

from simcore.errors import ConfigError
from simcore.files.resources import shipped_names
from simcore.terms import Precision
from simcore.validation.rows import MeasuredRow
from simcore.validation.served.checkpoints import Checkpoint, checkpoint_of
from simcore.validation.served.mapping import Load, ServedRuns, Shape
from simcore.validation.served.predict import ServedPrediction, ServedPredictor
from simcore.validation.served.stack import ServingStack, stack_of, unread_experts_s
from simcore.workload import Model
from simcore.workload.kinds import InferenceWorkload


def row_of(**cells: str) -> MeasuredRow:
    row = {"model": "DeepSeek-R1", "system": "b200", "backend": "trtllm", "mode": "agg", "tp": "8"}
    row |= {"gemm_format": "nvfp4", "moe_format": "nvfp4", "input_len": "1024", "id": "x"}
    return MeasuredRow(cells=row | {"output_len": "1024"} | cells, at="rows.csv:2")


def predicted(**cells: str) -> ServedPrediction:
    found = ServedPredictor().predict(row_of(**cells))
    assert found.status == "ok", found.reason
    return found


@pytest.mark.parametrize("name", shipped_names("serving_stacks"))
def test_every_shipped_stack_says_where_it_comes_from(name: str) -> None:
    assert len(ServingStack.load(name).source) > 60


@pytest.mark.parametrize(
    ("engine", "release", "stack"),
    [
        ("vllm", "", "vllm"),
        ("vllm", "0.18.0", "vllm"),
        ("vllm", "0.12.0", "vllm_0_12"),
        ("sglang", "0.5.9", "sglang"),
        ("trtllm", "1.3.0rc1", "tensorrt_llm_1_3_rc1"),
        ("sglang", "0.5.10.post1", "sglang_0_5_10"),
        ("trtllm", "1.3.0rc10", "tensorrt_llm_1_2"),
        ("trtllm", "1.1.0rc2", "tensorrt_llm"),
        ("trtllm", "0.5.1-rc0.pre3", "dynamo_tensorrt_llm"),
        ("trtllm", "0.8.1.post2", "dynamo_tensorrt_llm_1_2"),
        ("trtllm", "0.80", "tensorrt_llm"),
        ("", "", "unknown"),
    ],
)
def test_a_release_that_no_stack_names_runs_the_default_of_its_engine(
    engine: str, release: str, stack: str
) -> None:
    assert stack_of(row_of(backend=engine, backend_version=release)).name == stack


def test_a_key_that_no_stack_has_is_refused() -> None:
    with pytest.raises(ConfigError, match="unknown key"):
        ServingStack.build("stack", name="x", engine="vllm", source="a page", graph=True)


def test_an_engine_that_guesses_answers_faster_than_one_that_does_not() -> None:
    """A second token that holds in 60 of 100 cases gains at most 1.6."""
    plain = predicted(concurrency="32", backend_version="1.2.0rc6.post2").tpot_s
    guessing = predicted(concurrency="32", backend_version="1.2.0rc6.post3").tpot_s
    assert plain
    assert guessing
    assert plain / 1.6 < guessing < plain


@pytest.mark.parametrize("release", ["1.2.0rc6.post2", "1.2.0rc6.post3"])
def test_a_row_that_tells_whether_tokens_are_guessed_is_believed(release: str) -> None:
    told = [
        predicted(concurrency="32", backend_version=release, speculation=answer).tpot_s
        for answer in ("yes", "no")
    ]
    plain = predicted(concurrency="32", backend_version="1.2.0rc6.post2").tpot_s
    guessing = predicted(concurrency="32", backend_version="1.2.0rc6.post3").tpot_s
    assert told == [guessing, plain]


def test_guesses_that_hold_less_and_less_gain_less_and_less() -> None:
    """n guesses of chance a add a + ... + a^n tokens; each takes the module's own time."""
    times = [
        predicted(concurrency="4", speculation=str(tokens)).tpot_s or 0.0 for tokens in range(4)
    ]
    assert times[0] == predicted(concurrency="4", speculation="no").tpot_s
    gains = [times[0] / time for time in times]
    assert all(gain < 1 + sum(0.6**k for k in range(1, n + 1)) for n, gain in enumerate(gains) if n)
    assert gains[1] - gains[0] > gains[2] - gains[1] > gains[3] - gains[2]


def test_an_answer_that_nobody_knows_is_refused() -> None:
    found = ServedPredictor().predict(row_of(speculation="sometimes"))
    assert found.status == "unsupported"
    assert "speculation must be yes, no, a number of tokens up to 16 or empty" in found.reason


def test_a_model_without_a_module_for_it_guesses_nothing() -> None:
    row = row_of(model="Llama-3.1-70B", backend_version="1.2.0rc6.post3")
    shape = Shape(tp=8, replicas=1, etp=8, ep=1)
    run = ServedRuns().run(row, shape, Load(step="decode", sequences=4, keys=1024))
    assert run.workload.gained_tokens == 1


def test_steps_that_the_host_launches_take_its_time_at_any_load() -> None:
    times = [
        predicted(concurrency=number, backend_version="1.3.0rc1", input_len="128").tpot_s
        for number in ("4", "8")
    ]
    assert times == [pytest.approx(61 * 1.35e-3)] * 2


def test_few_tokens_leave_most_experts_unread_and_many_none() -> None:
    row, shape = row_of(backend="vllm"), Shape(tp=8, replicas=1, etp=8, ep=1)
    one, many = (
        ServedRuns().run(row, shape, Load(step="decode", sequences=number, keys=1024))
        for number in (1, 4096)
    )
    weights = 58 * 3 * 7168 * 2048 * (256 - 8) * 0.5625 / 8
    rate = 0.6 * one.platform.npu.memory_bandwidth_bytes_per_s
    assert unread_experts_s(one) == pytest.approx(weights / rate, rel=0.01)
    assert unread_experts_s(many) < 1e-6


def test_a_checkpoint_tells_formats_that_a_table_may_call_otherwise() -> None:
    assert checkpoint_of("openai/gpt-oss-120b").experts == "mxfp4"
    assert checkpoint_of("nvidia/Llama-3.1-8B-Instruct-FP8").cache == "fp8"
    assert checkpoint_of("meta-llama/Llama-3.1-8B").cache == ""
    assert checkpoint_of("nvidia/DeepSeek-R1-NVFP4").speculation is not None
    assert set(shipped_names("checkpoints")) - {"modelopt"} <= set(shipped_names("models"))
    assert all(len(Checkpoint.load(name).source) > 60 for name in shipped_names("checkpoints"))


def test_requests_without_room_in_the_memory_wait_for_others() -> None:
    """Qwen3 32B in 16 bits on two H100: 33 GB of weights each, 0.13 MB per token of a request."""
    qwen = {"model": "Qwen3-32B", "system": "h100", "backend": "vllm", "tp": "2"}
    qwen |= {"gemm_format": "", "moe_format": "", "input_len": "4096"}
    some, many, more = (predicted(**qwen, concurrency=each) for each in ("32", "128", "256"))
    assert some.ttft_s
    assert many.ttft_s
    assert many.ttft_s > 10 * some.ttft_s
    assert many.tpot_s == more.tpot_s


def test_tokens_go_once_to_each_npu_in_the_format_of_its_products() -> None:
    row, shape = row_of(), Shape(tp=1, replicas=8, etp=1, ep=8)
    run = ServedRuns().run(row, shape, Load(step="decode", sequences=64, keys=1024))
    assert isinstance(run.workload, InferenceWorkload)
    assert (run.plan.dispatch_group, run.workload.dispatch_format) == (8, Precision.FP4)
    split = Shape(tp=8, replicas=1, etp=1, ep=8)
    summed = ServedRuns().run(row, split, Load(step="decode", sequences=64, keys=1024))
    assert run.platform.dimensions[0].latency_s == summed.platform.dimensions[0].latency_s
    puts, sums = (
        each.platform.dimensions[0].usable_bandwidth_bytes_per_s for each in (run, summed)
    )
    assert puts > sums


def test_experts_that_do_not_divide_are_held_twice_in_part() -> None:
    row, shape = row_of(), Shape(tp=1, replicas=36, etp=1, ep=36)
    run = ServedRuns().run(row, shape, Load(step="decode", sequences=36, keys=1024))
    model = run.workload.model
    assert isinstance(model, Model)
    assert model.experts is not None
    assert model.experts.count == 288


def test_steps_that_wait_for_the_host_take_its_time_for_each_request() -> None:
    """0.12 of vLLM and 0.18 run the same kernels of a model without experts."""
    qwen = {"model": "Qwen3-32B", "system": "h100", "backend": "vllm", "gemm_format": ""}
    qwen |= {"moe_format": "", "output_len": "8192", "concurrency": "32"}
    waiting, free = (predicted(**qwen, backend_version=each).tpot_s for each in ("0.12.0", ""))
    assert waiting
    assert free
    assert waiting - free == pytest.approx(1.6e-3 + 32 * 30e-6, rel=1e-6)


def test_prompts_read_alone_and_in_pieces_take_longer() -> None:
    """Each piece of 128 tokens reads the weights again."""
    long = {"system": "b300", "backend": "sglang", "input_len": "8192", "concurrency": "16"}
    pieces, whole = (predicted(**long, backend_version=each).tpot_s for each in ("0.5.10", ""))
    assert pieces
    assert whole
    assert pieces > 1.5 * whole


def test_experts_of_a_shared_library_run_where_products_have_four_bits() -> None:
    shape, load = Shape(tp=8, replicas=1, etp=8, ep=1), Load(step="decode", sequences=4, keys=1024)
    chosen = []
    for system in ("b200", "h200"):
        row = row_of(system=system, gemm_format="fp8", moe_format="fp8", backend_version="1.2.0")
        kernels = ServedRuns().run(row, shape, load).platform.npu.kernels
        assert kernels is not None
        chosen.append((kernels.engine, kernels.any_engine))
    assert chosen == [("tensorrt_llm", ("experts",)), ("tensorrt_llm", ())]

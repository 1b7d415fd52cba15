"""Rows of load tests: names of checkpoints, and degrees that tables tell in several ways."""

from pathlib import Path

import pytest

from simcore.files.resources import shipped_names
from simcore.validation.rows import MeasuredRow, UnsupportedRow
from simcore.validation.served.mapping import Load, ServedRuns, Shape
from simcore.validation.served.models import CHECKPOINTS, served_model
from simcore.validation.served.pools import Pool, Pools
from simcore.validation.served.predict import ServedPredictor, predict_serving


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
        ("4", "4", "1", "16", (1, 4, 1, 4)),
        ("2", "2", "1", "4", (1, 2, 1, 2)),
        ("32", "1", "1", "32", (1, 32, 1, 32)),  # latents whole on each NPU
        ("4", "", "1", "1", (4, 1, 4, 1)),
        ("1", "", "4", "1", (4, 1, 4, 1)),  # experts need NPUs, too
        ("1", "32", "32", "1", (1, 32, 1, 32)),  # beside copies of attention they are spread
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
    run = ServedRuns().run(row, shape, Load(step="decode", sequences=4, keys=1024))
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


def served(**cells: str) -> MeasuredRow:
    row = {"model": "DeepSeek-V3", "system": "b200", "backend": "trtllm", "mode": "agg", "tp": "8"}
    row |= {"gemm_format": "nvfp4", "moe_format": "nvfp4", "input_len": "1024"}
    return row_of(**(row | {"output_len": "1024"} | cells))


def tpot_s(**cells: str) -> float:
    found = ServedPredictor().predict(served(**cells))
    assert found.tpot_s is not None, found.reason
    return found.tpot_s


def test_requests_at_several_instances_are_those_of_one_each() -> None:
    """The table tells the requests of each rank, and so that there are four instances."""
    many = tpot_s(concurrency="64", batch_per_rank="16", num_gpus="8")
    assert many == tpot_s(concurrency="16", batch_per_rank="16", num_gpus="8")
    assert many < tpot_s(concurrency="64", batch_per_rank="64", num_gpus="8")


LENGTHS = {"input_len": "1024", "output_len": "1024", "gemm_format": "fp8", "moe_format": "fp8"}


def test_ranks_that_a_table_multiplied_are_those_of_one_instance() -> None:
    """256 requests on 8 ranks are 32 on each, or 4 where the table counts 64 ranks."""
    told = LENGTHS | {"model": "DeepSeek-R1", "system": "h200", "tp": "1", "concurrency": "256"}
    eight = {"attention_dp": "8", "moe_tp": "1", "moe_ep": "8", "batch_per_rank": "32"}
    multiplied = {"attention_dp": "64", "moe_tp": "8", "moe_ep": "8", "batch_per_rank": "4"}
    found = [ServedPredictor().predict(row_of(**told, **shape)) for shape in (eight, multiplied)]
    assert found[0].tpot_s
    assert found[0].tpot_s == found[1].tpot_s


def test_a_pool_that_is_told_to_copy_attention_is_one() -> None:
    told = LENGTHS | {"model": "MiniMax-M2.5", "system": "h100", "concurrency": "64"}
    copied = {"attention_dp": "4", "moe_tp": "1", "batch_per_rank": "16"}
    found = [
        ServedPredictor().predict(row_of(**told, **copied, tp=tp, moe_ep=ep))
        for tp, ep in (("1", "4"), ("4", "16"))
    ]
    assert found[0].tpot_s
    assert found[0].tpot_s == found[1].tpot_s


def test_prompts_read_beside_answers_cost_less_than_before_them() -> None:
    """Longer prompts slow answers down, by less than the time that reading takes by itself."""
    predictor = ServedPredictor()
    short, long = (
        predictor.predict(served(concurrency="64", input_len=length)) for length in ("128", "8192")
    )
    assert short.tpot_s
    assert long.tpot_s
    assert long.ttft_s
    assert short.tpot_s < long.tpot_s < short.tpot_s + 64 * long.ttft_s / 1024 * 1.5


def test_a_pool_answers_no_more_requests_than_the_other_reads() -> None:
    pools = {"mode": "disagg", "num_gpus": "16", "prefill_tp_size": "8", "decode_tp_size": "8"}
    few, many = (
        tpot_s(
            **pools,
            concurrency="4096",
            input_len="8192",
            prefill_num_workers=readers,
            decode_num_workers="1",
        )
        for readers in ("1", "16")
    )
    assert few < many


def test_small_and_large_messages_take_the_transfers_that_suit_them() -> None:
    row, shape = served(concurrency="8"), Shape(tp=8, replicas=1, etp=8, ep=1)
    small, large = (
        ServedRuns().run(row, shape, Load(step=step, sequences=1, keys=8192))
        for step in ("decode", "prefill")
    )
    few, many = (run.platform.dimensions[0] for run in (small, large))
    assert few.latency_s < many.latency_s
    assert few.usable_bandwidth_bytes_per_s < many.usable_bandwidth_bytes_per_s


def test_a_load_test_on_an_a100_ran_on_the_board_whose_kernels_were_measured() -> None:
    row, shape = served(system="a100_sxm"), Shape(tp=8, replicas=1, etp=8, ep=1)
    run = ServedRuns().run(row, shape, Load(step="decode", sequences=4, keys=1024))
    assert run.platform.npu.name == "a100_80"


def test_tokens_per_npu_count_the_npus_of_all_instances() -> None:
    rates = []
    for requests in ("64", "16"):
        row = served(concurrency=requests, batch_per_rank="16", num_gpus="8")
        rates.append(ServedPredictor().predict(row).tokens_per_s_per_npu)
    assert rates[0] == rates[1]


def test_requests_beyond_those_whose_prompts_steps_can_read_wait_for_a_place() -> None:
    """Each step reads one prompt, so 15 answers of 15 tokens (the mean) are the most under way.

    The others add to the time to the first token alone, and nothing to the throughput: more
    requests in a saturated closed loop leave its rate as it is (Little's law).
    """
    predictor = ServedPredictor()
    long = {"input_len": "8192", "output_len": "16"}
    full, beyond = (predictor.predict(served(concurrency=n, **long)) for n in ("64", "256"))
    assert full.tpot_s
    assert full.ttft_s
    assert beyond.ttft_s
    assert full.tokens_per_s_per_npu
    assert beyond.tpot_s == pytest.approx(full.tpot_s, rel=0.01)
    assert beyond.ttft_s > 3 * full.ttft_s
    assert beyond.tokens_per_s_per_npu == pytest.approx(full.tokens_per_s_per_npu, rel=0.1)


def test_requests_that_start_together_wait_for_the_prompts_of_each_other() -> None:
    predictor = ServedPredictor()
    few, many = (
        predictor.predict(served(concurrency=n, input_len="8192")).ttft_s for n in ("2", "32")
    )
    assert few
    assert many
    assert many > 1.5 * few


def latent(**cells: str) -> MeasuredRow:
    """Two pools of sixteen H100, whose workers the table does not tell."""
    row = {"system": "h100", "backend": "sglang", "mode": "disagg", "num_gpus": "32"}
    row |= {"model": "DeepSeek-R1", "gemm_format": "fp8", "moe_format": "fp8"}
    row |= {f"{pool}_tp_size": "16" for pool in ("prefill", "decode")}
    return served(**(row | {f"{pool}_moe_tp_size": "16" for pool in ("prefill", "decode")} | cells))


def test_latent_attention_is_split_beyond_eight_where_the_weights_need_it() -> None:
    """671 GB in 8 bits: sixteen H100 of 80 GB hold them with room to spare, and eight H200."""
    pools = Pools(ServedRuns())
    many, few = (pools.shape(latent(system=name), "decode_") for name in ("h100", "h200"))
    assert (many.tp, many.replicas, many.etp) == (16, 1, 16)
    assert pools.ways(latent(), many, 16) == (Pool(many, 1),)
    assert (few.tp, few.replicas) == (1, 16)


def test_a_degree_that_heads_do_not_divide_by_counts_several_instances() -> None:
    """Of 36 NPUs four times eight split attention, or all copy it; few requests need the former."""
    row = served(system="gb200", tp="36", moe_tp="36", num_gpus="36", concurrency="4")
    pools = Pools(ServedRuns())
    assert pools.apart(row)
    split, copied = pools.ways(row, pools.shape(row), 0)
    assert (split.shape.tp, split.count) == (8, 4)
    assert (copied.shape.replicas, copied.count) == (36, 1)
    one = served(system="gb200", tp="8", moe_tp="8", num_gpus="8", concurrency="1")
    found, alone = (ServedPredictor().predict(each).tpot_s for each in (row, one))
    assert found == pytest.approx(alone, rel=0.05)


def test_sums_that_leave_a_node_are_none_of_the_engines_own() -> None:
    row, load = latent(), Load(step="decode", sequences=1, keys=1024)
    inside, across = (
        ServedRuns().run(row, Shape(tp=tp, replicas=1, etp=tp, ep=1), load).platform.dimensions
        for tp in (8, 16)
    )
    assert (len(inside), len(across)) == (1, 2)
    assert across[0].latency_s > 5 * inside[0].latency_s


def test_more_requests_take_longer_where_copies_have_less_than_one_each() -> None:
    pools = {"mode": "disagg", "num_gpus": "64", "decode_attention_dp_size": "32"}
    pools |= {"prefill_tp_size": "8", "decode_moe_ep_size": "32"}
    times = [tpot_s(**pools, concurrency=number) for number in ("4", "8", "24", "40", "64")]
    assert times == sorted(times)
    assert len(set(times)) == len(times)


def test_requests_that_start_together_wait_for_the_pool_that_reads() -> None:
    """A ten times longer queue of prompts at the start takes ten times as long to read."""
    pools = {"mode": "disagg", "num_gpus": "64", "decode_attention_dp_size": "32"}
    pools |= {"prefill_tp_size": "8", "decode_moe_ep_size": "32"}
    waits = []
    for number in ("1", "101", "1001"):
        found = ServedPredictor().predict(served(**pools, concurrency=number))
        assert found.ttft_s
        assert found.tpot_s
        waits.append(found.ttft_s - found.tpot_s)
    assert waits[2] - waits[0] == pytest.approx(10 * (waits[1] - waits[0]))
    assert waits[1] > 1.1 * waits[0]


def test_fewer_accelerators_answer_where_more_prompts_must_be_read() -> None:
    """Degrees of one pool that are none of one count the accelerators of both; equal contexts."""
    row = {"system": "gb200", "tp": "36", "moe_tp": "36", "num_gpus": "36", "concurrency": "2048"}
    more, less = (
        ServedPredictor().predict(served(**row, input_len=prompt, output_len=answer)).tpot_s
        for prompt, answer in (("8192", "1024"), ("2048", "13312"))
    )
    assert more
    assert less
    assert more > 1.15 * less


def test_pools_that_cannot_read_as_fast_as_they_answer_queue() -> None:
    """The rate of a saturated closed loop is that of its slowest pool."""
    row = {"model": "gpt-oss-120b", "system": "gb200", "mode": "disagg", "num_gpus": "5"}
    row |= {"prefill_tp_size": "1", "decode_tp_size": "4", "input_len": "8192"}
    row |= {"prefill_num_workers": "1", "decode_num_workers": "1"}
    some, many = (
        ServedPredictor().predict(served(**row, concurrency=number)) for number in ("1024", "4096")
    )
    assert some.ttft_s
    assert many.ttft_s
    assert some.tokens_per_s_per_npu
    assert many.ttft_s > 3 * some.ttft_s
    assert many.tokens_per_s_per_npu == pytest.approx(some.tokens_per_s_per_npu, rel=0.1)


@pytest.mark.parametrize("mode", ["agg", "disagg"])
@pytest.mark.parametrize(
    ("column", "text", "says"),
    [
        ("num_gpus", "x", "num_gpus: must be a number, but got 'x'"),
        ("num_gpus", "0", "num_gpus: must be a whole number above 0"),
        ("concurrency", "2.5", "concurrency: must be a whole number above 0"),
        ("input_len", "", "input_len is not told"),
    ],
)
def test_a_cell_that_is_no_number_makes_its_own_row_unsupported_and_no_other(
    tmp_path: Path, mode: str, column: str, text: str, says: str
) -> None:
    """Bands ask for cells that predictions of one pool do without."""
    good = {
        **{"backend": "vllm", "model": "meta-llama/Llama-3.1-70B", "system": "h100"},
        **{"mode": mode, "input_len": "1024", "output_len": "256", "concurrency": "16"},
        **{"gemm_format": "bf16", "moe_format": "bf16", "tp": "8", "num_gpus": "16"},
    }
    lines = [",".join(["id", *good])]
    for name, row in (("bad", {**good, column: text}), ("good", good)):
        lines.append(",".join([name, *row.values()]))
    (tmp_path / "rows.csv").write_text("\n".join(lines), encoding="utf-8")
    bad, rest = predict_serving(tmp_path / "rows.csv")
    assert (bad.status, rest.status) == ("unsupported", "ok")
    assert says in bad.reason


def test_ranks_with_no_requests_are_unsupported() -> None:
    cells = {"model": "Llama-3.1-70B", "system": "h100", "concurrency": "8", "tp": "8"}
    cells |= {"input_len": "64", "output_len": "64", "gemm_format": "bf16", "moe_format": "bf16"}
    found = ServedPredictor().predict(row_of(**cells, backend="vllm", batch_per_rank="-1"))
    assert found.status == "unsupported"
    assert found.reason == "batch_per_rank must be above 0, not -1"

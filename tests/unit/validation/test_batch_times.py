"""Whole batches: what rows ask for, how many sequences fit, and how their times add up."""

import csv
from pathlib import Path

import pytest
from click.testing import CliRunner

from simcore.cli.validate import batches
from simcore.errors import ConfigError
from simcore.files.resources import shipped_names
from simcore.validation.rows import MeasuredRow
from simcore.validation.served.accelerators import (
    FULL_LOAD_ENGINE,
    NAMED_ENGINES,
    ServedMachines,
)
from simcore.validation.served.batch_rows import Batch
from simcore.validation.served.batches import BatchPredictor
from simcore.validation.served.engine import ServingEngine
from simcore.validation.served.systems import SERVED, served_as

ROW = {
    "model": "meta-llama/Llama-2-7b-hf",
    "system": "A100",
    "num_gpus": "1",
    "tp": "1",
    "precision": "fp16/bf16",
    "batch": "16",
    "input_len": "1024",
    "output_len": "1024",
    "counts": "input and output",
}


def row_of(**cells: str) -> MeasuredRow:
    return MeasuredRow(cells={"id": "x", **ROW, **cells}, at="rows.csv:2")


@pytest.fixture(scope="module")
def predictor() -> BatchPredictor:
    return BatchPredictor()


@pytest.fixture(scope="module")
def engine() -> ServingEngine:
    """An engine that waits for nothing."""
    return ServingEngine.build(
        name="plain",
        host_step_s=0.0,
        memory_part=0.9,
        largest_batch=4096,
        read_tokens=8192,
        source="test",
    )


def test_prompts_count_where_the_table_says_so() -> None:
    assert Batch.of(row_of()).counted == 2048
    assert Batch.of(row_of(counts="output")).counted == 1024


def test_an_answer_ends_at_the_last_place_of_the_checkpoint() -> None:
    """GPT-J has 2,048 places: a prompt as long leaves the one token that reading it gives."""
    cut = Batch.of(row_of(model="EleutherAI/gpt-j-6b", input_len="2048", output_len="2048"))
    assert (cut.written, cut.answer, cut.counted) == (1, 2048, 4096)
    assert Batch.of(row_of(input_len="2048", output_len="2048")).written == 2048


def test_copies_of_a_dense_model_share_the_batch_and_experts_are_spread() -> None:
    dense = Batch.of(row_of(num_gpus="4", batch="64"))
    assert (dense.instances, dense.sequences, dense.shape.npus) == (4, 16, 1)
    spread = Batch.of(row_of(model="DeepSeek R1 0528", num_gpus="8", ep="8", batch="max load"))
    assert (spread.instances, spread.sequences) == (1, None)
    assert (spread.shape.replicas, spread.shape.ep) == (8, 8)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"num_gpus": "3", "tp": "2"}, "3 accelerators do not divide by tp = 2"),
        ({"precision": "fp7"}, "precision fp7 is not modelled"),
        ({"batch": ""}, "batch is not told"),
        ({"counts": "words"}, "counts must be 'input and output' or 'output', not 'words'"),
        ({"model": "Foo-9B"}, "no model of configs/models has the shape of Foo-9B"),
        ({"system": "abacus"}, "system abacus is not modelled: a100, "),
        ({"system": "MI300X", "backend": "sglang"}, "engine sglang on MI300X is not modelled"),
        ({"model": "Qwen/Qwen2-72B"}, "weights need 135 GiB of 40 GiB on each accelerator"),
    ],
)
def test_a_row_that_cannot_be_predicted_says_why(
    predictor: BatchPredictor, cells: dict[str, str], message: str
) -> None:
    found = predictor.predict(row_of(**cells))
    assert found.status == "unsupported"
    assert message in found.reason


def test_every_engine_is_shipped_and_tells_its_source() -> None:
    named = {name for served in SERVED.values() for name in served.engines}
    assert named | {FULL_LOAD_ENGINE, *NAMED_ENGINES.values()} == set(shipped_names("engines"))
    assert all(len(ServingEngine.load(name).source) > 60 for name in shipped_names("engines"))


def test_a_named_engine_runs_alone_and_no_name_leaves_all() -> None:
    machines = ServedMachines()
    assert [engine.name for engine in machines.engines(row_of(backend="vLLM"))] == ["vllm"]
    assert len(machines.engines(row_of())) == 2
    assert [one.name for one in machines.engines(row_of(system="GH200", backend="trtllm"))] == [
        "tensorrt_llm"
    ]
    for named in ("", "trtllm", "TensorRT-LLM"):
        full = machines.engines(row_of(batch="max load", backend=named))
        assert [engine.name for engine in full] == [FULL_LOAD_ENGINE]
    assert machines.engines(row_of(batch="max load", backend="vllm"))[0].name == "vllm"
    assert machines.engines(row_of(system="MI300X", backend="vllm"))[0].name == "vllm_rocm"


def test_sequences_fit_as_memory_less_weights_over_keys_and_values(
    predictor: BatchPredictor, engine: ServingEngine
) -> None:
    """40 GiB x 0.9 - 13.5 GB of weights, less what 8,192 tokens need while they are read, over
    2 x 2 bytes x 32 layers x 4,096 for each of 2,048 tokens: about 22 sequences."""
    room = predictor.room(Batch.of(row_of()), engine)
    most = (0.9 * 40 * 2**30 - 2 * 6.74e9) / (2 * 2 * 32 * 4096 * 2048)
    assert 0.85 * most < room <= most


def test_what_does_not_fit_waits_for_its_turn(
    predictor: BatchPredictor, engine: ServingEngine
) -> None:
    room = predictor.room(Batch.of(row_of()), engine)
    rates = [
        predictor.times(Batch.of(row_of(batch=str(number))), engine).tokens_per_s
        for number in (room, 2 * room, 2 * room + 1)
    ]
    assert rates[1] == pytest.approx(rates[0])
    assert rates[2] < rates[1]  # one sequence has the accelerator for itself


def test_host_time_comes_with_each_step_and_each_sequence(
    predictor: BatchPredictor, engine: ServingEngine
) -> None:
    batch = Batch.of(row_of(batch="8"))
    slow = engine.model_copy(update={"host_step_s": 2e-3, "host_sequence_s": 1e-4})
    plain, waits = predictor.times(batch, engine), predictor.times(batch, slow)
    assert waits.token_s - plain.token_s == pytest.approx(2e-3 + 8e-4)


def test_keys_read_once_per_query_head_take_longer_where_heads_share_them(
    predictor: BatchPredictor,
) -> None:
    """Qwen2 7B has 7 query heads for each key head, Llama 2 7B one."""
    rocm = ServingEngine.load("vllm_rocm")
    assert rocm.rates is not None
    once = rocm.rates.model_copy(update={"once_per_query_head": False})
    shared = rocm.model_copy(update={"rates": once, "name": "shared"})
    for model, slower in (("Qwen/Qwen2-7B", True), ("meta-llama/Llama-2-7b-hf", False)):
        batch = Batch.of(row_of(system="MI300X", model=model, batch="32"))
        each, group = (predictor.times(batch, one).token_s for one in (rocm, shared))
        assert (each > 1.05 * group) is slower


def test_at_full_load_an_answer_costs_its_tokens_and_one_prompt(
    predictor: BatchPredictor, engine: ServingEngine
) -> None:
    """With longer prompts fewer answers fit and each costs more: tokens of answers come slower."""
    rates = [
        predictor.times(
            Batch.of(row_of(batch="max load", counts="output", input_len=prompt)), engine
        ).tokens_per_s
        for prompt in ("128", "512", "2048")
    ]
    assert rates[0] > rates[1] > rates[2]


@pytest.mark.parametrize(
    "cells",
    [
        {"batch": "many"},
        {"batch": "0"},
        {"batch": "1e30"},
        {"input_len": "1e15"},
        {"output_len": "1e15"},
        {"tp": "64"},
        {"tp": "7", "num_gpus": "7"},
        {"num_gpus": "1e12", "tp": "1e12"},
        {"ep": "3", "model": "Mixtral-8x7B", "num_gpus": "8"},
        {"counts": "words"},
    ],
)
def test_no_cell_ends_the_table(predictor: BatchPredictor, cells: dict[str, str]) -> None:
    found = predictor.predict(row_of(**cells))
    assert found.status == "ok" or len(found.reason) > 10


def test_the_command_writes_a_line_per_row(tmp_path: Path) -> None:
    rows, out = tmp_path / "rows.csv", tmp_path / "out.csv"
    rows.write_text(
        "id,model,system,batch,input_len,output_len\na,Mistral-7B,H100,1,64,8\nb,,,,,\n"
    )
    done = CliRunner().invoke(batches, ["--rows", str(rows), "--out", str(out)])
    assert done.exit_code == 0
    assert "1 ok, 1 unsupported" in done.output
    with out.open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    low, mine, high = (float(found[0][f"tok_s_{end}"]) for end in ("low", "per_gpu", "high"))
    assert low < mine < high
    assert found[1]["reason"].startswith("no model of configs/models")


def test_a_broken_engine_file_is_told_what_to_mend() -> None:
    with pytest.raises(ConfigError, match=r"memory_part: must be less than or equal to 1"):
        ServingEngine.build(
            "engine",
            name="x",
            host_step_s=0,
            memory_part=1.5,
            largest_batch=1,
            read_tokens=1,
            source="x",
        )


@pytest.mark.parametrize(
    ("told", "accelerator"),
    [
        ("h100_sxm", "H100-80GB-SXM"),
        ("rtx_pro_6000_server", "RTX-PRO-6000"),
        ("RTX Pro 6000", "RTX-PRO-6000"),
        ("A100-80GB", "A100-80GB-SXM"),
        ("GB300", "GB300"),
    ],
)
def test_tables_may_spell_an_accelerator_in_several_ways(told: str, accelerator: str) -> None:
    row = MeasuredRow(cells={"id": "x", "system": told}, at="rows.csv:2")
    assert served_as(row).accelerator == accelerator

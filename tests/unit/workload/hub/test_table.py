"""Transformers that run files take from a config.json: the same parameters, or a named part."""

import json
from pathlib import Path
from typing import Any

import pytest
from hub_configs import DENSE, EXPERTS

from simcore.config.names import model_table
from simcore.errors import ConfigError
from simcore.workload import Model, ParallelPlan, load_model, load_workload
from simcore.workload.hub.keys import UnmodelledError
from simcore.workload.hub.read import read_hub_model
from simcore.workload.hub.table import hub_table
from simcore.workload.program.npu_layers import NpuLayers
from simcore.workload.program.stage_parameters import StageParameters

QWEN = DENSE | {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"]}
GPT = {
    "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 8, "n_layer": 2,
    "n_head": 2, "n_positions": 6, "vocab_size": 10, "tie_word_embeddings": True,
    "activation_function": "gelu_new", "resid_pdrop": 0.1,
}  # fmt: skip
SINKS = EXPERTS | {
    "model_type": "gpt_oss", "architectures": ["GptOssForCausalLM"], "attention_bias": True,
    "head_dim": 4, "sliding_window": 3, "layer_types": ["sliding_attention", "full_attention"],
}  # fmt: skip


def _file(folder: Path, config: dict[str, Any]) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps(config))
    return path


@pytest.mark.parametrize(
    "config", [DENSE, EXPERTS, QWEN, GPT, SINKS], ids=lambda c: c["model_type"]
)
def test_a_model_has_the_parameters_that_are_counted_and_stages_hold_them_all(
    tmp_path: Path, config: dict[str, Any]
) -> None:
    path = _file(tmp_path, config)
    counts, model = read_hub_model(path), load_model(str(path))
    assert model.parameters == counts.total_parameters
    assert model.active_parameters == counts.active_parameters
    assert model.name == tmp_path.name
    plan = ParallelPlan(pp=2)
    held = sum(_held(model, plan, stage) for stage in range(2))
    twice = model.embedding_parameters if model.tied_embeddings else 0
    assert held == counts.total_parameters + twice


def _held(model: Model, plan: ParallelPlan, stage: int) -> int:
    """Parameters of one stage of two, with one layer each."""
    workload = load_workload({"model": model, "sequence": 4, "global_batch": 2})
    share = workload.share(plan)
    layers = NpuLayers.of(model, plan, share).of_counts([(model.layer_kinds[stage], 1)])
    return StageParameters.of(model, plan, share, stage=stage, layers=layers).total


def test_a_model_without_dropout_keeps_no_masks(tmp_path: Path) -> None:
    with_masks = load_model(str(_file(tmp_path, GPT)))
    without = load_model(str(_file(tmp_path, GPT | {"resid_pdrop": 0.0})))
    assert (with_masks.mask_bytes, without.mask_bytes) == (1, 0)
    assert load_model("gpt3_13b").mask_bytes == 1


def test_a_run_file_names_a_config_by_path_or_as_a_table(tmp_path: Path) -> None:
    _file(tmp_path, DENSE)
    table = model_table("config.json", tmp_path)
    assert table == model_table({"config": "config.json"}, tmp_path)
    assert table == hub_table(tmp_path / "config.json")
    with pytest.raises(ConfigError, match=r"workload.model.config: .*only key"):
        model_table({"config": "config.json", "layers": 3}, tmp_path)
    with pytest.raises(ConfigError, match="does not exist"):
        model_table("other.json", tmp_path)


@pytest.mark.parametrize(
    ("config", "part"),
    [
        (DENSE | {"model_type": "gemma2", "architectures": ["Gemma2ForCausalLM"], "head_dim": 2,
                  "layer_types": ["full_attention"] * 2}, "norms after attention"),
        (DENSE | {"model_type": "olmo"}, "norms without parameters"),
        (SINKS | {"layer_types": ["full_attention", "sliding_attention"]}, "one period"),
        (GPT | {"activation_function": "relu"}, "GELU"),
    ],
)  # fmt: skip
def test_a_part_that_workloads_do_not_model_is_named(
    tmp_path: Path, config: dict[str, Any], part: str
) -> None:
    path = _file(tmp_path, config)
    assert read_hub_model(path).total_parameters
    with pytest.raises(UnmodelledError, match=part):
        hub_table(path)

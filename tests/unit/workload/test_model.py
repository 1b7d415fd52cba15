"""Published parameter counts, and what a bad model file is told."""

from pathlib import Path

import pytest
from every_case import with_every

from simcore.errors import ConfigError
from simcore.files.resources import shipped_names
from simcore.workload import Model, load_model, load_net

# Sum of the tensors of the released checkpoints (total_size of model.safetensors.index.json / 2).
LLAMA_3 = {"llama3_8b": 8_030_261_248, "llama3_70b": 70_553_706_496, "llama3_405b": 405_853_388_800}


@pytest.mark.parametrize("name", LLAMA_3)
def test_llama_3_has_the_parameters_of_its_checkpoint(name: str) -> None:
    assert load_model(name).parameters == LLAMA_3[name]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("gpt3_175b", 175e9),  # Brown 2020, table 2.1
        ("gpt3_13b", 13e9),  # likewise
        ("vit_22b", 21.74e9),  # Dehghani 2023, table 1
        ("gpt3_175b_4layers", 4 * 12 * 12288**2),  # 12 h^2 per layer
        # tensors of the released checkpoints, added up
        ("llama_7b", 6_738_415_616),
        ("llama2_7b", 6_738_415_616),
        ("llama2_70b", 68_976_648_192),
        ("mistral_7b", 7_241_732_096),
        ("gemma_7b", 8_537_680_896),
        ("bloom_7b1", 7_069_016_064),
        ("qwen2_7b", 7_615_616_512),
        ("qwen2_72b", 72_706_203_648),
        ("gpt_j_6b", 6_050_882_784),
        ("opt_6_7b", 6.66e9),
        ("qwen1_5_7b", 7.72e9),
        ("decilm_7b", 7.04e9),
    ],
)
def test_shipped_model_has_its_published_size(name: str, parameters: float) -> None:
    assert load_model(name).parameters == pytest.approx(parameters, rel=0.012)


@with_every("name", shipped_names("models"))
def test_shipped_model_is_named_after_its_file_and_cites_a_source(name: str) -> None:
    net = load_net(name).model_dump()
    assert net["name"] == name
    assert len(net["source"]) > 20


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"heads": 7}, "model.heads: must divide hidden = 64, but got 7."),
        ({"kv_heads": 3}, "model.kv_heads: must divide heads = 8, but got 3."),
        ({"layers": 0}, "model.layers: must be greater than or equal to 1, but got 0."),
        ({"tied_embeddings": True}, "model.vocabulary: must be above 0 with tied_embeddings"),
        ({"ff": 4}, "model.ff: unknown key; the keys here are name, kind"),
        ({"kind": "lama"}, "did you mean 'llama'?"),
    ],
)
def test_broken_model_is_told_what_to_mend(change: dict[str, object], message: str) -> None:
    table = {"name": "small", "layers": 2, "hidden": 64, "heads": 8, "ffn": 256} | change
    with pytest.raises(ConfigError) as caught:
        load_model(table)
    assert message in str(caught.value)


def test_unknown_model_name_lists_the_shipped_ones() -> None:
    rule = r"model: must be a .yaml file, a config.json or one of .*gpt3_175b"
    with pytest.raises(ConfigError, match=rule):
        load_model("gpt3_175")


def test_copy_with_other_layers_counts_its_own() -> None:
    model = load_model("llama3_8b")
    assert (len(model.layer_kinds), model.parameters) == (32, LLAMA_3["llama3_8b"])
    half = model.model_copy(update={"layers": 16})
    assert len(half.layer_kinds) == 16
    assert half.parameters == model.parameters - 16 * model.parameters_per_layer


def test_grouped_query_attention_and_swiglu_count_their_matrices() -> None:
    model = Model(name="m", kind="llama", layers=1, hidden=64, heads=8, kv_heads=2, ffn=100)
    attention = 64 * 64 + 2 * 64 * 16 + 64 * 64
    assert model.matrix_parameters(model.layer_kinds[:1]) == attention + 3 * 64 * 100


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("layers: 2\n", "m.yaml: version: must be 1, but got None."),
        ("version: 1\nlayers: 0\n", "m.yaml: layers: must be greater than or equal to 1"),
        ("- 1\n", "m.yaml: must be a table of keys and values"),
    ],
)
def test_broken_model_file_is_named_with_the_place(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "m.yaml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_model("m.yaml", beside=tmp_path)
    assert message in str(caught.value)

"""Models from a config.json: what follows from theory, and what is refused."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hub_configs import DENSE, EXPERTS

from simcore.__main__ import main
from simcore.cli.app import cli
from simcore.errors import ConfigError
from simcore.workload.hub.families import FAMILIES
from simcore.workload.hub.keys import UnmodelledError
from simcore.workload.hub.read import count_hub_model


def test_a_small_llama_has_the_parameters_counted_by_hand() -> None:
    attention = 8 * 8 + 2 * 8 * 4 + 8 * 8
    layer = attention + 3 * 8 * 12 + 2 * 8
    counts = count_hub_model(DENSE, "here")
    assert counts.total_parameters == counts.active_parameters == 10 * 8 + 2 * layer + 8 + 8 * 10
    assert counts.kv_bytes_per_token_full == 2 * 2 * (4 + 4)


def test_tying_saves_one_table_and_layers_add_up() -> None:
    one, two, four = (
        count_hub_model(DENSE | {"num_hidden_layers": layers}, "here").total_parameters
        for layers in (1, 2, 4)
    )
    assert four - two == 2 * (two - one)
    tied = count_hub_model(DENSE | {"tie_word_embeddings": True}, "here").total_parameters
    assert two - tied == 10 * 8


def test_a_token_passes_its_experts_only() -> None:
    counts = count_hub_model(EXPERTS, "here")
    assert counts.total_parameters - counts.active_parameters == 2 * 3 * (3 * 8 * 12)
    all_of_them = count_hub_model(EXPERTS | {"num_experts_per_tok": 4}, "here")
    assert all_of_them.active_parameters == all_of_them.total_parameters


def test_a_window_moves_the_cache_and_no_parameter() -> None:
    full, windowed = (
        count_hub_model(EXPERTS | {"sliding_window": window}, "here") for window in (None, 128)
    )
    assert full.total_parameters == windowed.total_parameters
    assert full.kv_bytes_per_token_full == windowed.kv_bytes_per_token_sliding > 0
    assert windowed.kv_bytes_per_token_full == 0


def test_older_spellings_mean_the_same() -> None:
    old = {
        "num_local_experts": "num_experts",
        "hidden_size": "n_embd",
        "num_hidden_layers": "n_layer",
    }
    respelled = {old.get(key, key): value for key, value in EXPERTS.items()}
    assert count_hub_model(respelled, "here") == count_hub_model(EXPERTS, "here")
    with pytest.raises(ConfigError, match="two values of hidden_size"):
        count_hub_model(EXPERTS | {"n_embd": 16}, "here")


@pytest.mark.parametrize(
    "change",
    [
        {"model_type": "qwen9"},
        {"model_type": None},
        {"architectures": ["LlamaForSequenceClassification"]},
        {"ffn_dim_multiplier": 1.3},
        {"num_local_experts": 8},
        {"layer_types": ["full_attention", "sliding_attention"]},
        {"text_config": EXPERTS},
    ],
)
def test_a_part_that_is_not_modelled_is_refused_by_name(change: dict[str, Any]) -> None:
    with pytest.raises(UnmodelledError, match=next(iter(change)).replace("text_config", "model")):
        count_hub_model(DENSE | change, "config.json")


@pytest.mark.parametrize(
    "change",
    [
        {"hidden_size": 0},
        {"hidden_size": 9},
        {"hidden_size": "8"},
        {"vocab_size": None},
        {"num_key_value_heads": 3},
        {"tie_word_embeddings": 1},
        {"mlp_bias": "no"},
        {"text_config": 5},
    ],
)
def test_an_unusable_value_is_refused_with_its_place(change: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"^config.json: {next(iter(change))}: must "):
        count_hub_model(DENSE | change, "config.json")


def _run(*words: object) -> tuple[int, str]:
    done = CliRunner().invoke(cli, ["models", *map(str, words)])
    told = str(done.exception) if isinstance(done.exception, ConfigError) else done.output
    return done.exit_code, told


def test_a_manifest_gives_counts_by_id_and_one_bad_file_stops_no_other(tmp_path: Path) -> None:
    (tmp_path / "good.json").write_text(json.dumps(DENSE))
    (tmp_path / "new.json").write_text(json.dumps(DENSE | {"model_type": "qwen9"}))
    (tmp_path / "broken.json").write_text('{"model_type": ')
    names = ("good", "new", "broken", "missing")
    manifest, out = tmp_path / "manifest.json", tmp_path / "out.json"
    manifest.write_text(json.dumps([{"id": n, "file": f"{n}.json"} for n in names]))
    assert _run(manifest, "--out", out) == (0, f"1 of 4 models counted. Results in {out}.\n")
    found = json.loads(out.read_text())
    assert [found[n]["status"] for n in names] == ["ok", "unsupported", "error", "error"]
    assert all(found[n]["reason"].count(". ") == 0 for n in names)
    assert found["good"]["total_parameters"] == count_hub_model(DENSE, "").total_parameters


def test_one_config_is_counted_and_told(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(DENSE))
    code, told = _run(path)
    assert code == 0
    assert "1,160" in told


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (None, "config.json: "),
        ('{"model_type": ', "config.json line 1: must be valid JSON"),
        ("7", "config.json: must be a config.json or a list"),
        ('{"model_type": "qwen9"}', "config.json: model_type: must be one of the "),
        ('[{"id": "a"}]', "config.json: [0]: must be a table of id and file"),
    ],
)
def test_a_file_that_cannot_be_used_ends_in_one_sentence(
    text: str | None, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    path = tmp_path / "config.json"
    if text is not None:
        path.write_text(text)
    monkeypatch.setattr("sys.argv", ["simcore", "models", str(path)])
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr().err
    assert ended.value.code == 2
    assert place in told
    assert told.count("\n") == 1


def test_the_page_lists_the_architectures_that_are_modelled() -> None:
    page = (Path(__file__).parents[4] / "docs" / "hub-models.md").read_text(encoding="utf-8")
    listed = page.partition("by its `model_type`:")[2].partition(".\n")[0]
    assert re.findall(r"`([\w-]+)`", listed) == sorted(FAMILIES)

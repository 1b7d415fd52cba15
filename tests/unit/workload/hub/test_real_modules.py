"""Counts against those of the real modules of architectures that golden data do not hold.

``real_modules.json`` holds class defaults of transformers 5.23.0 (Apache-2.0), some with fewer
layers or other switches, and what its modules had on the meta device: all parameters of the part
that text passes, those of routed experts, and the bytes by which the cache grew for a token.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from every_case import with_every

from simcore.errors import ConfigError
from simcore.workload.hub.families import FAMILIES
from simcore.workload.hub.nets import NETS
from simcore.workload.hub.read import count_hub_model

ROWS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "real_modules.json").read_text(encoding="utf-8")
)
CONFIGS: list[dict[str, Any]] = [row["config"] for row in ROWS]
NAMES = [f"{at}-{row['config']['model_type']}" for at, row in enumerate(ROWS)]
SPEAKING_DEFAULTS = {
    "attention_bias", "conv_kernel_size", "head_dim", "mlp_bias", "norm_rel_ebd",
    "position_buckets", "share_att_key", "sliding_window", "text_config",
}  # fmt: skip
"""Keys whose absence has a meaning of its own in releases: no such part, or width over heads."""
CACHES = [f"kv_bytes_per_token_{kind}" for kind in ("full", "sliding", "latent")]


def _text_table(config: dict[str, Any]) -> dict[str, Any]:
    """The table of the part that text passes."""
    return config.get("text_config", config)  # type: ignore[no-any-return]


def _with_table(config: dict[str, Any], table: dict[str, Any]) -> dict[str, Any]:
    """The file with another such table."""
    return config | {"text_config": table} if "text_config" in config else table


def _routed_share(config: dict[str, Any]) -> float:
    """Share of the routed parameters that a token passes, by the names of the program's keys."""
    table = config | config.get("ffn_config", {}) | config.get("text_config", {})
    if table["model_type"] == "switch_transformers":
        table = table | {"num_experts_per_tok": 1}  # by its paper
    chosen = (
        "num_experts_per_tok", "num_experts_per_token", "moe_topk", "top_k_experts", "moe_top_k",
    )  # fmt: skip
    experts = ("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts")
    of = next(table[key] for key in experts if key in table)
    return next(table[key] for key in chosen if key in table) / of  # type: ignore[no-any-return]


@with_every("row", ROWS)
def test_counts_are_those_of_the_real_modules(row: dict[str, Any]) -> None:
    counts = count_hub_model(row["config"], "config.json")
    assert counts.total_parameters == row["total"]
    idle = row["routed"] * (1 - _routed_share(row["config"])) if row["routed"] else 0
    assert counts.total_parameters - counts.active_parameters == round(idle)
    if "cache" in row:
        assert sum(getattr(counts, name) for name in CACHES) == row["cache"]


@with_every("row", ROWS)
def test_a_file_without_a_key_is_refused_or_gives_the_same_counts(row: dict[str, Any]) -> None:
    right, wrong = count_hub_model(row["config"], "config.json"), []
    for key in set(_text_table(row["config"])) - SPEAKING_DEFAULTS:
        fewer = {name: value for name, value in _text_table(row["config"]).items() if name != key}
        try:
            if count_hub_model(_with_table(row["config"], fewer), "config.json") != right:
                wrong.append(key)
        except ConfigError:
            continue
    assert not wrong


@with_every("row", ROWS)
def test_an_unknown_key_is_refused(row: dict[str, Any]) -> None:
    more = _text_table(row["config"]) | {"adapter_width": 7}
    with pytest.raises(ConfigError, match="adapter_width"):
        count_hub_model(_with_table(row["config"], more), "config.json")


def test_a_class_of_one_side_alone_is_refused() -> None:
    whole = next(c for c in CONFIGS if FAMILIES[c["model_type"]].net == "bart")
    alone = whole | {"architectures": ["OneSideForCausalLM"]}
    with pytest.raises(ConfigError, match="architectures: must name classes that end in ForCond"):
        count_hub_model(alone, "config.json")


def test_every_architecture_has_a_counting_function() -> None:
    assert {family.net for family in FAMILIES.values()} == set(NETS)

"""Counts of models from their config.json against those of the real modules: golden/models."""

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from simcore.errors import ConfigError
from simcore.workload.hub.read import count_hub_model, read_hub_model

FOLDER = Path(__file__).resolve().parents[2].parent / "shared" / "golden" / "models"
CACHES = [f"kv_bytes_per_token_{kind}" for kind in ("full", "sliding", "latent")]
SPEAKING_DEFAULTS = {"head_dim", "moe_latent_size"}
"""Keys whose absence has a meaning of its own in releases: width over heads."""


def _rows() -> list[dict[str, str]]:
    if not FOLDER.exists():
        return []
    with (FOLDER / "truth.csv").open(newline="") as file:
        return list(csv.DictReader(file))


ROWS = _rows()
pytestmark = pytest.mark.skipif(not ROWS, reason="needs shared/golden/models")


def _is_right(row: Mapping[str, str], path: Path) -> bool:
    got = read_hub_model(path)
    totals = {int(row["total_parameters"]), int(row["text_parameters"])}
    caches = [int(row[key] or 0) for key in CACHES]
    measured = "cache not measured" not in row["note"]
    return (
        got.total_parameters in totals
        and got.active_parameters == int(row["active_parameters"])
        and got.embedding_parameters == int(row["embedding_parameters"])
        and (not measured or [getattr(got, key) for key in CACHES] == caches)
    )


def test_counts_are_those_of_the_real_modules() -> None:
    wrong = [r["model"] for r in ROWS if not _is_right(r, FOLDER / r["model"] / "config.json")]
    assert not wrong


def _released(row: Mapping[str, str], path: Path) -> bool | ConfigError:
    try:
        return _is_right(row, path)
    except ConfigError as error:
        return error


def test_files_of_releases_give_the_same_counts_or_are_refused() -> None:
    paths = [(row, FOLDER / row["model"] / "config.hub.json") for row in ROWS]
    results = [_released(row, path) for row, path in paths if path.exists()]
    assert all(result is True or "must be given" in str(result) for result in results)
    assert results.count(True) >= 0.9 * len(results)


def _inner(config: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = config.get("text_config", config)
    return found


def _differs(config: dict[str, Any], right: object) -> bool:
    try:
        return count_hub_model(config, "config.json") != right
    except ConfigError:
        return False


def test_a_file_without_a_key_is_refused_or_gives_the_same_counts() -> None:
    wrong = []
    for row in ROWS:
        text = (FOLDER / row["model"] / "config.json").read_text()
        right = count_hub_model(json.loads(text), "config.json")
        for key in set(_inner(json.loads(text))) - SPEAKING_DEFAULTS:
            config = json.loads(text)
            del _inner(config)[key]
            if _differs(config, right):
                wrong.append((row["model"], key))
    assert not wrong


def test_an_unknown_key_or_architecture_is_refused() -> None:
    for row in ROWS:
        text = (FOLDER / row["model"] / "config.json").read_text()
        for key, value in (("adapter_width", 7), ("use_adapter", False), ("model_type", "new")):
            config = json.loads(text)
            _inner(config)[key] = value
            with pytest.raises(ConfigError, match=key):
                count_hub_model(config, "config.json")

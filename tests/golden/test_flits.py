"""Networks flit by flit against BookSim 2.

Source: golden/noc, made with BookSim 2. Batches in which nothing is drawn are single numbers; under
a load the mean of a few seeds stays within the spread that the data set gives.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from simcore.flits.manifest import run_cases

FOLDER = Path(__file__).resolve().parents[2].parent / "shared" / "golden" / "noc"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="golden networks are not here")

LOADED = (
    "mesh4x4_uniform_p4", "mesh4x4_transpose", "ring8_uniform", "torus4x4_uniform_p4",
    "mesh4x4_hotspot2", "anynet_fc8", "fattree_k4n2_nca", "mesh4x4_rc2st2",
    "mesh4x4_fastpipe_spec", "mesh4x4_minadapt_transpose", "torus4x4_minadapt",
)  # fmt: skip
ROOM = {"low": 0.015, "mid": 0.02, "high": 0.03, "saturation": 0.03}


@cache
def _cases() -> dict[str, Any]:
    if not FOLDER.is_dir():
        return {}
    return {case["id"]: case for case in json.loads((FOLDER / "cases.json").read_text())}


def _is_exact(case: dict[str, Any]) -> bool:
    return bool(case["points"][0].get("deterministic"))


def _points(case: dict[str, Any], seeds: int) -> list[dict[str, Any]]:
    asked = [
        {"kind": p["kind"], "offered": p.get("offered"), "seeds": seeds} for p in case["points"]
    ]
    entry = {key: case[key] for key in ("id", "nodes", "config")} | {"points": asked}
    found: Any = run_cases({}, [entry], lambda *_: None, FOLDER)[case["id"]]
    assert found["status"] == "ok", found["message"]
    points: list[dict[str, Any]] = found["points"]
    return points


@pytest.mark.parametrize("name", [name for name, case in _cases().items() if _is_exact(case)])
def test_a_batch_without_draws_drains_in_the_very_cycle(name: str) -> None:
    case = _cases()[name]
    (found,) = _points(case, 1)
    expected = case["points"][0]
    assert found["batch_duration"]["mean"] == expected["batch_duration"]["mean"]
    for metric in ("network_latency", "hops"):
        assert found[metric]["mean"] == pytest.approx(expected[metric]["mean"], rel=1e-5)


@pytest.mark.parametrize("name", LOADED)
def test_latency_under_load_and_throughput_are_booksims(name: str) -> None:
    case = _cases()[name]
    for found, expected in zip(_points(case, 3), case["points"], strict=True):
        kind = expected["kind"]
        if expected["unstable"] == expected["seeds"]:
            assert found["unstable"] > 0, kind
            continue
        metric = "accepted" if kind == "saturation" else "network_latency"
        mean, spread = expected[metric]["mean"], expected[metric]["std"]
        room = max(ROOM[kind] * mean, 3 * spread)
        assert found[metric]["mean"] == pytest.approx(mean, abs=room), kind

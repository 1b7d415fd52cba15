"""ASTRA-sim's results, from ASTRA-sim's files: cycles, statistics, memory.

Source: golden/astra, made with ASTRA-sim 518bd51 and its analytical backends.
"""

import csv
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from every_case import with_every

from simcore.formats.astra import run_batch

FOLDER = Path(__file__).resolve().parents[2].parent / "shared" / "golden" / "astra"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="golden ASTRA-sim cases are not here")

SAFELY: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
"""Python 3.11.3 and before have no filters."""
COMPARED = [
    "status",
    "finish_cycles",
    "exposed_comm_cycles",
    "wall_time",
    "gpu_time",
    "comm_time",
    "overlap",
    "peak_memory",
    "compute_bound_pct",
    "avg_compute_util_pct",
    "avg_memory_util_pct",
    "avg_operation_intensity",
    "memory_timeline_mb",
    "unfinished_npus",
]


def cases() -> list[dict[str, str]]:
    path = FOLDER / "index.csv"
    return list(csv.DictReader(path.read_text().splitlines())) if path.is_file() else []


def write_inputs(case: dict[str, Any], folder: Path) -> dict[str, Any]:
    folder.mkdir()
    (folder / "network.yml").write_text(case["network_yml"])
    (folder / "system.json").write_text(json.dumps(case["system"]))
    (folder / "memory.json").write_text(json.dumps(case["memory"]))
    group = None
    if case["comm_group"] is not None:
        group = f"{folder.name}/groups.json"
        (folder / "groups.json").write_text(json.dumps(case["comm_group"]))
    with tarfile.open(FOLDER / case["workload"]["archive"]) as archive:
        archive.extractall(folder, **SAFELY)
    return {
        "id": case["id"],
        "cwd": folder.name,
        "workload": f"{folder.name}/{case['workload']['prefix']}",
        "system": f"{folder.name}/system.json",
        "network": f"{folder.name}/network.yml",
        "remote_memory": f"{folder.name}/memory.json",
        "comm_group": group,
        "options": case["cli"],
    }


def run(row: dict[str, str], folder: Path, suffix: str = "") -> list[tuple[str, Any, Any]]:
    """Backend, our result and the reference's, of each backend that the case has."""
    case = json.loads((FOLDER / row["file"]).read_text())
    entry = write_inputs(case, folder / case["id"])
    compared = []
    for backend, expected in case["expected"].items():
        plain = backend.removesuffix("_lenient_stats")
        if (plain == backend) == bool(suffix) or expected["status"] == "unsupported":
            continue
        got = run_batch([entry | {"backend": plain}], folder, lambda name, status: None)
        compared.append((backend, got[case["id"]][plain], expected))
    return compared


def same(mine: Any, expected: Any) -> bool:
    if isinstance(expected, list) and isinstance(mine, list):
        return len(mine) == len(expected) and all(map(same, mine, expected))
    if isinstance(expected, dict) and isinstance(mine, dict):
        return all(same(mine.get(key), value) for key, value in expected.items())
    if isinstance(expected, float):
        return isinstance(mine, (int, float)) and abs(mine - expected) <= 0.0011
    return bool(mine == expected)


@with_every("row", cases())
def test_results_are_the_references(row: dict[str, str], tmp_path: Path) -> None:
    quirk = "quirk" in json.loads((FOLDER / row["file"]).read_text())["tags"]
    for _, mine, expected in run(row, tmp_path):
        if quirk or expected["status"] in ("crash", "hang"):
            assert mine["status"] in ("ok", "incomplete") or mine["message"].endswith(".")
            assert "fault in the simulator" not in mine["message"]
            continue
        for key in COMPARED:
            if key in expected:
                assert same(mine[key], expected[key]), f"{key}: {mine[key]} != {expected[key]}"


@pytest.mark.parametrize(
    "row",
    [row for row in cases() if row["category"] in ("compute", "remote-memory")],
    ids=lambda row: str(row["id"]),
)
def test_statistics_that_the_reference_loses_are_those_of_its_mended_build(
    row: dict[str, str], tmp_path: Path
) -> None:
    keys = ("wall_time", "cpu_time", "gpu_time", "comm_time", "remote_mem_time", "overlap")
    for _, mine, expected in run(row, tmp_path, suffix="_lenient_stats"):
        assert mine["wall_time"] == [None] * len(mine["finish_cycles"])
        for key in keys:
            if key in expected:
                assert mine["all_statistics"][key] == expected[key]


@pytest.mark.parametrize(
    "row",
    [row for row in cases() if row["category"] in ("compute", "p2p", "roofline")],
    ids=lambda row: str(row["id"]),
)
def test_node_times_are_the_references(row: dict[str, str], tmp_path: Path) -> None:
    for _, mine, expected in run(row, tmp_path):
        if expected["status"] != "ok" or "node_times" not in expected or mine["status"] != "ok":
            continue
        for npu, times in expected["node_times"].items():
            assert sorted(mine["node_times"][npu]) == sorted(times)

"""ASTRA-sim on its packet simulator: finish times, every flow, pauses and drops of short runs.

Source: golden/packet_astra, made with ASTRA-sim 518bd51 and its ns-3 front-end. All of its runs are
held by the acceptance script of that folder; here those that the reference ends soon.
"""

import csv
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from simcore.formats.astra import run_batch

FOLDER = Path(__file__).resolve().parents[2].parent / "shared" / "golden" / "packet_astra"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="needs shared/golden/packet_astra")

SAFELY: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
LONGEST_S = 0.13
"""Of the reference's CPU, of a run that is compared here."""


def cases() -> list[dict[str, str]]:
    path = FOLDER / "index.csv"
    rows = csv.DictReader(path.read_text().splitlines()) if path.is_file() else []
    return [
        row
        for row in rows
        if row["deterministic"] == "1"
        and "quirk" not in row["tags"]
        and float(row["reference_cpu_s"] or "inf") <= LONGEST_S
    ]


def write_inputs(case: dict[str, Any], folder: Path) -> dict[str, Any]:
    name = case["id"]
    (folder / name).mkdir()
    contents = {
        "network": json.dumps(case["network"]),
        "system": json.dumps(case["system"]),
        "remote_memory": json.dumps(case["memory"]),
        "physical_topology": case["physical_topology_txt"],
        "packet_config": case["packet_config_txt"],
        "comm_group": json.dumps(case["comm_group"]),
    }
    for key, content in contents.items():
        (folder / name / key).write_text(content)
    with tarfile.open(FOLDER / case["workload"]["archive"]) as archive:
        archive.extractall(folder / name, **SAFELY)
    paths = {key: f"{name}/{key}" for key in contents}
    if case["comm_group"] is None:
        del paths["comm_group"]
    prefix = case["workload"].get("prefix", "w")
    entry = {"id": name, "backend": "packet", "cwd": name, "workload": f"{name}/{prefix}"}
    return entry | paths | {"options": case["cli"]}


@pytest.mark.parametrize("row", cases(), ids=lambda row: str(row["id"]))
def test_a_run_and_all_of_its_flows_are_those_of_the_reference(
    row: dict[str, str], tmp_path: Path
) -> None:
    case = json.loads((FOLDER / row["file"]).read_text())
    entry = write_inputs(case, tmp_path)
    found: Any = run_batch([entry], tmp_path, lambda name, status: None)[case["id"]]["packet"]
    expected = case["expected"]["packet"]
    assert found["status"] == expected["status"], found["message"]
    for key in ("finish_cycles", "exposed_comm_cycles", "wall_time", "pfc_pauses", "drops"):
        assert found[key] == expected[key], key
    assert sorted(found["flows"]) == sorted(expected["flows"])

"""``dse diff``: what differs between two studies."""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

import dse
from dse.cli import main
from dse.report.difference import difference
from simcore import shipped_folder

STUDY = "p4_dlrm_2p6t_h100.yaml"
KNOB = "system.chunks"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A study, and one with fewer choices of a knob and one objective less."""
    root = tmp_path_factory.mktemp("studies")
    data = yaml.safe_load((shipped_folder("studies") / STUDY).read_text())
    data["search"].pop("fidelity", None)  # what is told of two studies is the same at one level
    (root / "one.yaml").write_text(yaml.safe_dump(data))
    whole = data["space"]["axes"][KNOB]["choices"]
    data["space"]["axes"][KNOB]["choices"] = whole[:-1]
    del data["objectives"]["power"]
    (root / "other.yaml").write_text(yaml.safe_dump(data))
    dse.run_study(root / "one.yaml", trials=10, settle=0, executor="serial", out=root / "one")
    dse.run_study(root / "other.yaml", trials=10, settle=0, executor="serial", out=root / "two")
    return root / "one", root / "two"


def sections(one: Path, two: Path) -> dict[str, dict[str, tuple[str, str]]]:
    found = difference(dse.load_study(one), dse.load_study(two))
    return {
        section.title: {name: (first, second) for name, first, second in section.lines}
        for section in found
    }


def test_knobs_goals_and_best_designs_are_told(folders: tuple[Path, Path]) -> None:
    found = sections(*folders)
    assert set(found["space"]) == {"valid designs", KNOB}
    first, second = found["space"][KNOB]
    assert first.startswith(second)
    assert found["goals"]["power"] == ("minimise", "no objective")
    assert set(found["best of each objective"]) == {"iteration time", "capital cost"}


def test_a_study_does_not_differ_from_itself(folders: tuple[Path, Path]) -> None:
    found = sections(folders[0], folders[0])
    assert set(found) == {"front", "best of each objective"}
    counts = found["front"]
    assert counts["on both fronts"] == counts["designs"]
    assert all(told.endswith(", +0.00%") for _, told in found["best of each objective"].values())


def test_the_command_prints_it_and_gives_json(folders: tuple[Path, Path]) -> None:
    words = ["diff", *map(str, folders)]
    ran = CliRunner().invoke(main, words)
    assert ran.exit_code == 0, ran.output
    assert KNOB in ran.output
    data = json.loads(CliRunner().invoke(main, [*words, "--json"]).output)
    assert KNOB in [line[0] for line in data["sections"]["space"]]
    one = dse.load_study(folders[0])
    times = [one.rows[at].evaluation.objectives["iteration_time"] for at in one.front]
    assert data["best"]["iteration_time"][0] == min(times)
    missing = CliRunner().invoke(main, ["diff", str(folders[0]), str(folders[0] / "none")])
    assert missing.exit_code != 0

"""``dse dashboard``: what optuna-dashboard tells of a study as it grows, asked over HTTP."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from small_study import STUDY

from dse.evaluate import Evaluation
from dse.provenance import Provenance
from dse.store.folder import StudyFolder
from dse.study.compile import Study, compile_study
from dse.study.trials import Trial

ANSWER_S = 60.0
GOOD = {"iteration_time": 2.0, "capital_cost": 1000.0}
ROWS = [
    Evaluation(state="complete", objectives=GOOD),
    Evaluation(state="infeasible", objectives=GOOD, constraints={"fits_in_memory": 0.5}),
    Evaluation(state="failed"),
]


@pytest.fixture
def study() -> Study:
    return compile_study(STUDY)


@pytest.fixture
def folder(study: Study, tmp_path: Path) -> Iterator[StudyFolder]:
    """The open folder of a study that runs, with three rows."""
    with StudyFolder(tmp_path / "one") as folder:
        folder.open(study, Provenance.of(study, []))
        for number, evaluation in enumerate(ROWS):
            add(folder, study, number, evaluation)
        yield folder


def add(folder: StudyFolder, study: Study, number: int, evaluation: Evaluation) -> None:
    designs = list(study.space.designs())
    folder.writer.add(Trial(number=number, design=designs[number], evaluation=evaluation))
    folder.writer.flush()


@pytest.fixture
def address(folder: StudyFolder) -> Iterator[str]:
    """Address of the command, on a port that is free."""
    words = [sys.executable, "-m", "dse", "dashboard", str(folder.path), "--port", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as ran:
        assert ran.stdout is not None
        assert ran.stderr is not None
        line = ran.stdout.readline()
        try:
            assert line.startswith("http://127.0.0.1:"), ran.stderr.read()
            yield line.split("/ (")[0]
        finally:
            ran.terminate()


def told(address: str, path: str) -> Any:
    with urlopen(f"{address}{path}", timeout=ANSWER_S) as answer:
        return json.load(answer)


def until(holds: Callable[[], bool]) -> bool:
    end_s = time.monotonic() + ANSWER_S
    while not holds() and time.monotonic() < end_s:
        time.sleep(0.1)
    return holds()


def test_the_dashboard_shows_trials_states_and_objectives_with_units_as_they_come(
    folder: StudyFolder, study: Study, address: str
) -> None:
    (listed,) = told(address, "/api/studies")["study_summaries"]
    assert listed["study_name"] == "one"
    path = f"/api/studies/{listed['study_id']}"
    seen = told(address, path)
    assert seen["directions"] == ["minimize", "minimize"]
    assert seen["objective_names"] == ["iteration time [s]", "capital cost [USD]"]
    assert [trial["state"] for trial in seen["trials"]] == ["Complete", "Pruned", "Fail"]
    assert seen["trials"][0]["values"] == list(GOOD.values())
    names = {one["name"] for one in seen["trials"][0]["params"]}
    assert "platform.dimensions[0].bandwidth [GB/s]" in names
    assert {name.split(" [")[0] for name in names} == set(next(study.space.designs()))
    attributes = {one["key"]: one["value"] for one in seen["trials"][1]["user_attrs"]}
    assert "infeasible" in attributes["status"]

    add(folder, study, 3, Evaluation(state="complete", objectives={**GOOD, "iteration_time": 1.0}))
    assert until(lambda: len(told(address, path)["trials"]) == 4), "a row of a later time"
    assert told(address, path)["trials"][3]["values"] == [1.0, 1000.0]


def test_the_dashboard_changes_nothing(address: str) -> None:
    asked = Request(f"{address}/api/studies/0", method="DELETE")
    with pytest.raises(HTTPError, match="405"):
        urlopen(asked, timeout=ANSWER_S)
    assert len(told(address, "/api/studies")["study_summaries"]) == 1

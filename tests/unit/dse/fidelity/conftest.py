"""The same study for all tests of fidelities."""

from pathlib import Path

import pytest
from several_levels import run, study_of

import dse
from dse.results.result import StudyResult


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fidelities") / "study"
    run(study_of(), path)
    return path


@pytest.fixture(scope="session")
def result(folder: Path) -> StudyResult:
    return dse.load_study(folder)

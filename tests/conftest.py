"""Holds what every test runs to plain sums, and keeps what several files of tests share."""

import builtins
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from several_levels import run, study_of

import dse
from dse.results.result import StudyResult

PACKAGES = ("simcore", "dse")


@pytest.fixture(autouse=True, scope="session")
def sums_of_floats_are_plain() -> Iterator[None]:
    """Python's own ``sum`` of floats refuses to work for the packages, while tests run."""
    summed = builtins.sum

    def checked(values: Iterable[Any], /, start: Any = 0) -> Any:
        found = summed(values, start)
        if isinstance(found, float):
            caller = str(sys._getframe(1).f_globals.get("__name__", ""))
            assert caller.partition(".")[0] not in PACKAGES, (
                f"{caller} adds floats with sum, which rounds otherwise from Python 3.12 on: "
                "use simcore.units.plain_sum"
            )
        return found

    builtins.sum = checked
    yield
    builtins.sum = summed


@pytest.fixture(scope="session")
def folder_of_levels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a study whose best designs are judged again at a finer fidelity."""
    path = tmp_path_factory.mktemp("fidelities") / "study"
    run(study_of(), path)
    return path


@pytest.fixture(scope="session")
def result_of_llm_gpt(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    """What a short run of a shipped study gives, to those that only read it."""
    out = tmp_path_factory.mktemp("llm_gpt") / "out"
    few: dict[str, Any] = {"settle": 0, "promote": 1, "controls": 0, "executor": "serial"}
    return dse.run_study("llm_gpt.yaml", trials=44, out=out, **few)


@pytest.fixture(scope="session")
def result_of_levels(folder_of_levels: Path) -> StudyResult:
    """Results of that study."""
    return dse.load_study(folder_of_levels)

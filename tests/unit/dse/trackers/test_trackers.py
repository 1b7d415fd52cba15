"""Studies are logged to experiment trackers: what, when, and what is said where one is missing."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner, Result
from small_study import STUDY

from dse.cli.commands import main
from dse.trackers import TRACKERS
from dse.trackers.base import Tracker

RUN: dict[str, Any] = {**STUDY, "question": "Which?", "search": {"sampler": "random", "trials": 12}}


def _study(folder: Path, *options: str) -> Result:
    file = folder / "mine.yaml"
    file.write_text(json.dumps(RUN))
    arguments = ["study", str(file), "--out", str(folder / "out"), "--quiet", *options]
    return CliRunner().invoke(main, arguments)


class Kept(Tracker):
    """A tracker that keeps what it is told."""

    package: ClassVar[str] = "json"
    told: ClassVar[list[tuple[Any, ...]]] = []

    def begin(self, name: str, settings: Mapping[str, str | int | float]) -> None:
        self.told.append(("begin", name, dict(settings)))

    def log(self, values: Mapping[str, float], proposals: int) -> None:
        self.told.append(("log", proposals, dict(values)))

    def keep(self, files: Sequence[Path]) -> None:
        self.told.append(("keep", [file.name for file in files]))

    def end(self, *, failed: bool) -> None:
        self.told.append(("end", failed))


def test_a_study_logs_its_settings_its_bests_and_its_results(tmp_path: Path) -> None:
    done = _study(tmp_path, "--log", f"{__name__}:Kept")
    assert done.exit_code == 0, done.output
    first, *steps, kept, end = Kept.told
    assert first[:2] == ("begin", "out")
    assert first[2]["question"] == "Which?"
    assert first[2]["seed"] == 0
    at = [step[1] for step in steps]
    assert at == sorted(at)
    assert at[-1] == 12
    bests = [step[2]["best/iteration_time"] for step in steps if "best/iteration_time" in step[2]]
    assert bests == sorted(bests, reverse=True)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert steps[-1][2]["summary/hypervolume"] == summary["hypervolume"]
    assert steps[-2][2]["infeasible"] == summary["infeasible"]
    assert bests[-1] == min(
        step[2]["best/iteration_time"] for step in steps if "best/iteration_time" in step[2]
    )
    assert {"pareto.csv", "summary.json", "report.html"} <= set(kept[1])
    assert end == ("end", False)


@pytest.mark.parametrize("name", TRACKERS)
def test_a_missing_package_is_one_sentence_and_leaves_no_folder(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    done = _study(tmp_path, "--log", name)
    assert done.exit_code == 2
    assert f"pip install 'simcore-dse[{name}]'" in done.output
    assert not (tmp_path / "out").exists()


def test_an_unknown_tracker_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    done = _study(tmp_path, "--log", "wandbb")
    assert done.exit_code == 2
    assert "did you mean 'wandb'" in done.output


class _Calls(ModuleType):
    """A package that keeps the names of the functions that are called."""

    def __init__(self, name: str, called: list[str]) -> None:
        super().__init__(name)
        self._called = called

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*given: object, **named: object) -> "_Calls":
            self._called.append(name)
            return self

        return call


@pytest.mark.parametrize(
    ("name", "functions"),
    [
        ("mlflow", ["start_run", "log_params", "log_metrics", "log_artifact", "end_run"]),
        ("wandb", ["init", "log", "Artifact", "add_file", "log_artifact", "finish"]),
    ],
)
def test_trackers_call_their_packages_in_order(
    name: str, functions: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[str] = []
    monkeypatch.setitem(sys.modules, name, _Calls(name, called))
    tracker = TRACKERS[name]()
    tracker.begin("one", {"seed": 1})
    tracker.log({"best/iteration_time": 1.0}, 3)
    tracker.keep([tmp_path / "a"])
    tracker.end(failed=False)
    assert called == functions


def test_mlflow_itself_keeps_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/runs.db")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    monkeypatch.chdir(tmp_path)
    assert _study(tmp_path, "--log", "mlflow").exit_code == 0
    (run,) = mlflow.search_runs(output_format="list")
    assert run.info.status == "FINISHED"
    assert run.data.params["seed"] == "0"
    assert run.data.metrics["summary/hypervolume"] > 0


def test_wandb_itself_keeps_the_run_offline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    assert _study(tmp_path, "--log", "wandb").exit_code == 0
    assert list((tmp_path / "wandb").glob("offline-run-*/*.wandb"))

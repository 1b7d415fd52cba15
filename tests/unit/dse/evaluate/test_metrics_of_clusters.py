"""Metrics that a study on a cluster records through Ray, and those that it does not."""

import subprocess
import sys
from collections import Counter, defaultdict
from typing import Any, ClassVar

import pytest

import dse
from dse.evaluate.workers.ray_meter import Meter, RayMeter, Reading
from dse.run.watcher import MeteredWatcher, Unwatched, metered
from dse.study.compile import load_study_file

STUDY = "p5_vit22b_64.yaml"


class Recorded:
    """Stand-in for a metric of Ray's, which keeps what it is told."""

    made: ClassVar[dict[str, "Recorded"]] = {}

    def __init__(self, name: str, description: str = "", tag_keys: tuple[str, ...] = ()) -> None:
        assert description
        self.keys, self.calls = set(tag_keys), 0
        self.values: dict[tuple[str, ...], float] = defaultdict(float)
        Recorded.made[name] = self

    def inc(self, value: float, tags: dict[str, str]) -> None:
        assert value > 0
        assert set(tags) == self.keys
        self.calls += 1
        self.values[tuple(tags.values())] += value

    def set(self, value: float, tags: dict[str, str]) -> None:
        self.calls += 1
        self.values[tuple(tags.values())] = value


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> dict[str, Recorded]:
    """Metrics that were made, by name."""
    monkeypatch.setattr("ray.util.metrics.Counter", Recorded)
    monkeypatch.setattr("ray.util.metrics.Gauge", Recorded)
    monkeypatch.setattr(Recorded, "made", {})
    return Recorded.made


def test_counts_are_those_of_the_trials_and_only_changes_are_recorded(
    made: dict[str, Recorded],
) -> None:
    meter = RayMeter("mine")
    watcher = MeteredWatcher(Unwatched(), meter)

    class Recording(Unwatched):
        """Records in between, as a crew does."""

        def started(self, study: Any, known: int, total: int) -> None:
            watcher.started(study, known, total)

        def folded(self, trial: Any, duplicates: int) -> None:
            watcher.folded(trial, duplicates)
            if trial.number % 7 == 0:
                meter.record(ready=2)

    study: dict[str, Any] = {"trials": 60, "seed": 3, "executor": "serial", "evaluator": "model0"}
    result = dse.run_study(STUDY, watcher=Recording(), **study)
    meter.event("crash")
    for _ in range(3):
        meter.record(ready=2, waiting=1)
    states = Counter(row.state for row in result.rows if row.repeats is None)
    found = {key[-1]: count for key, count in made["dse_trials"].values.items()}
    assert found == dict(states)
    assert made["dse_proposals"].values == {("mine", ""): len(result.rows)}
    assert made["dse_events"].values == {("mine", "crash"): 1}
    assert made["dse_events"].calls == 1
    assert made["dse_workers"].values == {("mine", "ready"): 2, ("mine", "waiting"): 1}
    spent_s = sum(row.evaluation.duration_s for row in result.rows if row.repeats is None)
    (told_s,) = made["dse_evaluation_seconds"].values.values()
    assert told_s == pytest.approx(spent_s)
    feasible = [row.evaluation.objectives for row in result.rows if row.state == "complete"]
    for name, sign in result.study.goals.signs_by_name.items():
        best = min(sign * values[name] for values in feasible) * sign
        assert made["dse_best"].values["mine", "", name] == best


def test_a_study_goes_on_where_ray_cannot_record(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **options: Any) -> None:
        raise RuntimeError("no metrics here")

    monkeypatch.setattr("ray.util.metrics.Counter", refuse)
    monkeypatch.setattr("ray.util.metrics.Gauge", refuse)
    meter = RayMeter("mine")
    meter.read(lambda: [Reading("dse_proposals", 3.0, {"level": ""})])
    meter.record(ready=1)


@pytest.mark.parametrize("executor", ["serial", "local", "ray"])
def test_only_studies_on_a_cluster_are_measured(executor: str) -> None:
    watcher = Unwatched()
    study = load_study_file(STUDY, {"execution.executor": executor})
    same, meter = metered(study, None, watcher)
    assert same is watcher
    assert type(meter) is Meter


def test_a_study_without_ray_imports_none_of_it() -> None:
    code = (
        "import sys, dse; "
        f"dse.run_study({STUDY!r}, trials=3, executor='serial', evaluator='model0'); "
        "assert not any(name.split('.')[0] == 'ray' for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

"""Running, repeating, resuming and surviving."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest
from store_changes import change_store

import dse
from dse.evaluate import EVALUATORS, Answer, Dispatcher, Evaluator, Task
from dse.evaluate.base import Account
from dse.evaluate.workers.local_pool import LocalCrew
from dse.space import Design
from dse.store.folder import StudyFolder
from dse.study.compile import load_study_file
from simcore import ConfigError, SimulationError

STUDY = "p5_vit22b_64.yaml"


def same_part(frame: pd.DataFrame) -> pd.DataFrame:
    kept = ("number", "state", "params.", "objectives.", "constraints.", "reason")
    return frame[[name for name in frame if str(name).startswith(kept)]]


def test_one_or_two_workers_or_none_give_the_same_trials() -> None:
    serial = dse.run_study(STUDY, trials=70, seed=5, executor="serial")
    for workers in (1, 2):
        local = dse.run_study(STUDY, trials=70, seed=5, executor="local", workers=workers)
        pd.testing.assert_frame_equal(same_part(local.trials), same_part(serial.trials))


def test_a_resumed_study_goes_on_as_if_never_stopped(tmp_path: Path) -> None:
    whole = dse.run_study(STUDY, trials=150, executor="serial")
    dse.run_study(STUDY, trials=60, executor="serial", out=tmp_path / "part")
    rest = dse.run_study(STUDY, trials=150, executor="serial", out=tmp_path / "part", resume=True)
    pd.testing.assert_frame_equal(same_part(rest.trials), same_part(whole.trials))
    assert rest.summary["hypervolume"] == whole.summary["hypervolume"]


def test_a_study_that_was_cut_off_evaluates_just_what_is_missing(tmp_path: Path) -> None:
    folder = tmp_path / "cut"
    dse.run_study(STUDY, trials=50, executor="serial", out=folder)
    change_store(folder, "DELETE FROM trial WHERE number BETWEEN 20 AND 24 OR number > 40")
    with closing(sqlite3.connect(folder / "study.db")) as store:
        kept = store.execute("SELECT number, finished_unix_s FROM trial").fetchall()
    resumed = dse.run_study(STUDY, trials=50, executor="serial", out=folder, resume=True)
    whole = dse.run_study(STUDY, trials=50, executor="serial")
    pd.testing.assert_frame_equal(same_part(resumed.trials), same_part(whole.trials))
    pd.testing.assert_frame_equal(dse.load_study(folder).trials, resumed.trials)
    with closing(sqlite3.connect(folder / "study.db")) as store:
        now = dict(store.execute("SELECT number, finished_unix_s FROM trial").fetchall())
    assert all(now[number] == when for number, when in kept)


def test_a_cluster_that_does_not_answer_is_told_and_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"execution.address: must be host:port"):
        dse.run_study(STUDY, executor="ray", address="127.0.0.1:1", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_with_a_study_is_never_overwritten(tmp_path: Path) -> None:
    dse.run_study(STUDY, trials=10, executor="serial", out=tmp_path / "a")
    before = {path.name: path.read_bytes() for path in (tmp_path / "a").iterdir()}
    with pytest.raises(ConfigError, match="must not hold a study yet"):
        dse.run_study(STUDY, trials=10, executor="serial", out=tmp_path / "a")
    with pytest.raises(ConfigError, match=r"^seed: must be as in .* to be resumed, but got"):
        dse.run_study(STUDY, seed=9, trials=20, executor="serial", out=tmp_path / "a", resume=True)
    text = Path(load_study_file(STUDY).folder, STUDY).read_text()
    (changed := tmp_path / STUDY).write_text(text.replace("sequence: 256", "sequence: 512"))
    with pytest.raises(
        ConfigError, match=r"^run\.workload\.sequence: must be as in .* but got 512"
    ):
        dse.run_study(changed, trials=20, executor="serial", out=tmp_path / "a", resume=True)
    assert {path.name: path.read_bytes() for path in (tmp_path / "a").iterdir()} == before


def test_a_small_space_ends_the_search_when_every_design_is_known(tmp_path: Path) -> None:
    text = Path(load_study_file(STUDY).folder, STUDY).read_text()
    text = text.replace("[45 GB/s, 90 GB/s, 180 GB/s, 360 GB/s]", "[45 GB/s]")
    text = text.replace("[6.25 GB/s, 12.5 GB/s, 25 GB/s]", "[25 GB/s]")
    text = text.replace("[1, 2, 3, 4, 6, 8, 12, 16]", "[8]").replace("[1, 2, 4, 8, 16]", "[4]")
    small = tmp_path / "small.yaml"
    small.write_text(text)
    designs = load_study_file(small).space.counts.searched
    result = dse.run_study(small, trials=500, executor="serial")
    assert sum(row.repeats is None for row in result.rows) == designs
    assert len(result.rows) < 1.2 * designs


def test_where_repeats_count_one_is_a_row_answered_from_the_cache() -> None:
    result = dse.run_study(STUDY, trials=200, sampler="tpe", repeats=True, executor="serial")
    repeats = [row for row in result.rows if row.repeats is not None]
    assert repeats
    assert result.summary["duplicates"] == len(repeats)
    by_number = {row.number: row for row in result.rows}
    for row in repeats:
        assert row.repeats is not None
        assert row.evaluation.objectives == by_number[row.repeats].evaluation.objectives
    assert not set(result.front) & {row.number for row in repeats}


def tasks(count: int) -> list[Task]:
    designs = load_study_file(STUDY).space.designs()
    return [Task(number=n, design=design) for n, design in zip(range(count), designs, strict=False)]


def answers_of(dispatcher: Dispatcher, count: int) -> dict[int, Answer]:
    found: dict[int, Answer] = {}
    end_s = time.monotonic() + 30
    while len(found) < count and time.monotonic() < end_s:
        found |= {answer.number: answer for answer in dispatcher.finished(0.2)}
    return found


def test_a_killed_worker_costs_no_result() -> None:
    crew = LocalCrew(load_study_file(STUDY).evaluator_input, workers=2)
    with Dispatcher(crew) as dispatcher:
        dispatcher.submit(tasks(50))
        found = answers_of(dispatcher, 1)
        victim = crew._seats[0].process.pid
        assert victim is not None
        os.kill(victim, signal.SIGKILL)
        found |= answers_of(dispatcher, 50 - len(found))
    assert sorted(found) == list(range(50))
    assert {a.evaluation.state for a in found.values()} <= {"complete", "infeasible"}


class Powerless(Evaluator):
    """An evaluator that promises nothing, and does not give what is asked."""

    prices_itself = True

    def account(self, design: Design) -> Account:
        return Account({"iteration_time_s": 1.0})


def test_a_study_of_nothing_but_failures_gives_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = {**dict(EVALUATORS.items()), "powerless": Powerless}
    monkeypatch.setattr(EVALUATORS, "_entries", added)
    data = Path(load_study_file(STUDY).folder, STUDY).read_text()
    data = data.replace("capital_cost: minimise", "power: minimise")
    data = data.replace("evaluator: model0", "evaluator: powerless")
    data = data[: data.index("reference_point")]
    file = tmp_path / "no_power.yaml"
    file.write_text(data)
    with pytest.raises(SimulationError, match="must give a finite power_w"):
        dse.run_study(file, trials=50, executor="serial", out=tmp_path / "out")
    trials = list(StudyFolder(tmp_path / "out").read_trials())
    assert {trial.state for trial in trials} <= {"failed", "infeasible"}


def test_ctrl_c_lets_the_study_end_and_write(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "dse",
        "study",
        STUDY,
        "--trials",
        "20000",
        "--executor",
        "local",
        "--sampler",
        "random",
        "--out",
        str(tmp_path / "out"),
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    log = tmp_path / "out" / "study.db-wal"
    end_s = time.monotonic() + 40
    while time.monotonic() < end_s and not (log.exists() and log.stat().st_size > 200_000):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 0, err
    assert "stopping" in err
    result = dse.load_study(tmp_path / "out")
    assert len(result.trials) == result.summary["proposals"] > 10
    assert (tmp_path / "out" / "report.html").exists()
    assert "Pareto front" in out

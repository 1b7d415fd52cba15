"""What islands prove, each a part, holds for all designs that none of them has seen."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_study import STUDY, exact_front, searched
from stopping import Stopping

from dse.evaluate.base import Account
from dse.evaluate.simulator import SimulatorEvaluator
from dse.proof.parts.part import Part
from dse.rank.quality import study_quality
from dse.run.runner import Runner
from dse.space import Design
from dse.study.compile import compile_study

REFERENCE = {"iteration_time": "1000 s", "capital_cost": "9 MUSD"}


@given(
    of=st.integers(1, 50),
    machines=st.integers(1, 600),
    plans=st.integers(1, 300),
)
def test_parts_are_all_plans_of_all_machines_each_once(of: int, machines: int, plans: int) -> None:
    count = np.zeros((machines, plans), np.int64)
    for number in range(of):
        part = Part(number=number, of=of)
        count[np.ix_(part.machines(machines), part.plans(plans, machines))] += 1
    assert (count == 1).all()


@pytest.fixture(scope="module")
def front() -> set[tuple[float, ...]]:
    return exact_front(compile_study(STUDY))


@pytest.mark.parametrize("sampler", ["design", "random"])
@pytest.mark.parametrize("islands", [2, 5])
def test_islands_end_when_all_of_them_have_proven_their_part(
    front: set[tuple[float, ...]], islands: int, sampler: str
) -> None:
    result = searched(STUDY, sampler=sampler, gap=0, trials=5000, islands=islands)
    found = {tuple(result.rows[at].evaluation.objectives.values()) for at in result.front}
    assert found == front
    assert result.summary["gap_closed"]
    assert set(result.summary["optimality_gap"].values()) == {0.0}
    assert len(result.rows) < result.study.space.counts.searched


@pytest.mark.parametrize("trials", [3, 16, 40, 70])
@pytest.mark.parametrize("islands", [2, 3])
def test_what_cut_off_islands_prove_is_true(
    front: set[tuple[float, ...]], islands: int, trials: int
) -> None:
    data = {**STUDY, "reference_point": REFERENCE}
    summary = searched(data, gap="0%", trials=trials, islands=islands, window=8).summary
    exact = np.array(sorted(front))
    for column, name in enumerate(STUDY["objectives"]):
        least = exact[:, column].min()
        assert summary["lower_bounds"][name] <= least
        if summary["best"]:
            assert 1 - least / summary["best"][name] <= summary["optimality_gap"][name] + 1e-12
    most = study_quality(exact, (1, 1), compile_study(data).reference).hypervolume
    assert most is not None
    if summary["optimality_gap"]["hypervolume"] is not None:
        missing = 1 - summary["hypervolume"] / most
        assert missing <= summary["optimality_gap"]["hypervolume"] + 1e-12


@pytest.mark.parametrize("asked", [0.02, 0.1])
def test_islands_end_when_little_of_the_front_can_be_missing(
    front: set[tuple[float, ...]], asked: float
) -> None:
    data = {**STUDY, "reference_point": REFERENCE}
    result = searched(data, hypervolume_gap=asked, trials=5000, islands=3)
    most = study_quality(np.array(sorted(front)), (1, 1), result.study.reference).hypervolume
    assert most is not None
    assert result.summary["gap_closed"]
    gap = result.summary["optimality_gap"]["hypervolume"]
    assert 1 - result.summary["hypervolume"] / most <= gap <= asked


def told(data: dict[str, Any], out: Path | None, **search: Any) -> tuple[Any, ...]:
    asked = {**data["search"], "gap": 0, "islands": 3, "trials": 5000, **search}
    study = compile_study({**data, "search": asked})
    result = Runner(study, out=out, resume=out is not None, watcher=None).search(None)
    rows = [(row.number, row.design, row.state, row.repeats) for row in result.rows]
    gaps = ("lower_bounds", "optimality_gap", "gap_closed")
    return rows, {name: result.summary[name] for name in gaps}


def test_islands_prove_the_same_on_any_workers_and_after_a_stop(tmp_path: Path) -> None:
    alone = told(STUDY, None)
    study = compile_study(
        {**STUDY, "search": {**STUDY["search"], "gap": 0, "islands": 3, "trials": 5000}}
    )
    stopped = Runner(study, out=tmp_path, resume=False, watcher=Stopping(30)).search(None)
    assert not stopped.summary["gap_closed"]
    assert told(STUDY, tmp_path) == alone
    assert told(STUDY, tmp_path) == alone, "an ended study tells it again"
    local = {**STUDY, "execution": {"executor": "local", "workers": 2}}
    assert told(local, None) == alone


def test_a_design_that_fails_on_one_island_leaves_the_gap_of_all_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    account = SimulatorEvaluator.account

    def broken_for_some(self: SimulatorEvaluator, design: Design) -> Account:
        if design["plan.micro_batch"] == 1:
            raise RuntimeError("broken")
        return account(self, design)

    monkeypatch.setattr(SimulatorEvaluator, "account", broken_for_some)
    monkeypatch.setattr("dse.study.trials.ALIKE", 1000)
    summary = searched(STUDY, gap=0, trials=300, islands=3).summary
    assert summary["failed"] > 0
    assert not summary["gap_closed"]

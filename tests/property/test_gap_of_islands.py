"""What islands prove, each a part, holds for all designs that none of them has seen."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_study import STUDY, break_some_designs, exact_front, searched
from stopping import Stopping
from test_gap_in_studies import DESIGNS, FEW
from test_gap_of_ranges import DATA as RANGES
from test_gap_of_ranges import anywhere

from dse.evaluate import build_evaluator
from dse.evaluate.base import evaluate
from dse.proof.parts.joint import JointProof
from dse.proof.parts.part import Part
from dse.proof.provers import prover_of
from dse.rank.quality import study_quality
from dse.results.result import load_study
from dse.run.runner import Runner
from dse.space import design_key
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
    break_some_designs(monkeypatch)
    summary = searched(STUDY, gap=0, trials=300, islands=3).summary
    assert summary["failed"] > 0
    assert not summary["gap_closed"]


NOTHING = ["fits_in_memory", {"objective": "iteration_time", "at_most": "1e-9 s"}]


@pytest.mark.parametrize("constraints", [None, NOTHING])
def test_one_search_proves_the_rest_once_an_island_finds_nothing_new(
    constraints: list[Any] | None, tmp_path: Path
) -> None:
    data = FEW if constraints is None else {**FEW, "constraints": constraints}
    asked = {"sampler": "design", "gap": 0, "islands": 2, "window": DESIGNS, "trials": 2000}
    study = compile_study({**data, "search": {**data["search"], **asked}})
    counts = []
    for _ in range(2):
        result = Runner(study, out=tmp_path, resume=True, watcher=None).search(None)
        assert result.summary["gap_closed"]
        counts.append((len(result.rows), len(load_study(tmp_path).rows)))
    assert len(set(counts)) == 1
    assert counts[0][0] == counts[0][1]
    whole = searched(data, sampler="exhaustive", trials=5000)
    assert result.summary["best"] == whole.summary["best"]


def test_a_slow_corner_that_others_have_tried_says_nothing_of_the_rest_of_its_cell() -> None:
    names = ("iteration_time",)
    data = {**RANGES, "objectives": dict.fromkeys(names, "minimise")}
    study = compile_study(data)
    evaluator = build_evaluator(study.evaluator_input)

    def proven(tried: set[str]) -> tuple[float, set[str]]:
        prover = prover_of(
            study,
            evaluator,
            0.02,
            is_elsewhere=lambda design: design_key(design) in tried,
        )
        asked, joint = set[str](), JointProof(study.goals.signs_by_name, 1)
        while (design := prover.ask()) is not None or prover.advance():
            if design is not None:
                outcome = evaluate(evaluator, study.goals, design)
                prover.learn(design, outcome)
                joint.learn(design, outcome)
                asked.add(design_key(design))
        joint.take(0, prover.reached())
        return joint.proof().lower_bounds[0], asked

    alone, asked = proven(set())
    assert proven(asked)[0] <= alone


@pytest.mark.parametrize("gap", [0.02, 0.1])
def test_what_islands_prove_of_ranges_holds_anywhere_in_them(gap: float) -> None:
    summary = searched(RANGES, gap=gap, trials=150, islands=3, window=8).summary
    least = anywhere().min(axis=0)
    for column, name in enumerate(RANGES["objectives"]):
        assert summary["lower_bounds"][name] <= least[column]

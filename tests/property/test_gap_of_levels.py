"""What is proven at the finest level of a study holds for all designs at that level."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from several_levels import COARSE, FINE, comparable, run, study_of
from stopping import Stopping

from dse.evaluate import build_evaluator
from dse.evaluate.base import evaluate
from dse.fidelity.compare import refined_rows
from dse.fidelity.told import fidelity_lines
from dse.proof.told import gap_lines
from dse.rank.pareto import non_dominated
from dse.rank.quality import study_quality

Points = np.ndarray[Any, np.dtype[np.float64]]
REFERENCE = {"iteration_time": 1000.0, "capital_cost": 9e6}


@lru_cache
def exact() -> Points:
    """(N, objectives) values at the finest level of all feasible designs of the small study."""
    study = study_of().judged_at(FINE)
    evaluator = build_evaluator(study.evaluator_input)
    found = [evaluate(evaluator, study.goals, design) for design in study.space.designs()]
    assert not any(one.state == "failed" for one in found)
    values = [[*one.objectives.values()] for one in found if one.state == "complete"]
    return np.array(values)


def _holds(summary: Mapping[str, Any]) -> None:
    """See whether the bounds of *summary* are bounds."""
    for place, name in enumerate(REFERENCE):
        least = exact()[:, place].min()
        assert summary["lower_bounds"][name] <= least
        gap = summary["optimality_gap"][name]
        assert 1 - least / summary["best"][name] <= gap + 1e-12


@pytest.mark.parametrize("gap", [0.0, 0.05])
def test_a_gap_is_closed_at_the_level_that_decides(gap: float) -> None:
    found = run(study_of(gap=gap, trials=400, settle=3000))
    summary = found.summary
    assert summary["gap_fidelity"] == FINE
    assert summary["gap_closed"]
    _holds(summary)
    front = [found.rows[at] for at in found.front]
    assert {row.evaluation.fidelity for row in front} == {FINE}
    values = np.array([[*row.evaluation.objectives.values()] for row in front])
    for point in exact():
        assert (values * (1 - gap) <= point).all(axis=1).any()
    if not gap:
        best = exact()[non_dominated(exact())]
        judged = refined_rows(found.rows, FINE)
        known = {tuple(r.evaluation.objectives.values()) for r in judged if r.is_feasible}
        assert {tuple(point) for point in best.tolist()} <= known
    designs = found.study.space.counts.searched
    assert len(refined_rows(found.rows, FINE)) < designs
    assert summary["searched_gap"]["gap_fidelity"] == COARSE
    assert summary["searched_gap"]["gap_closed"]


@pytest.mark.parametrize("settle", [1, 5, 20])
def test_what_is_proven_with_few_designs_judged_holds(settle: int) -> None:
    study = study_of(hypervolume_gap=0.001, trials=60, settle=settle)
    found = run(study)
    summary = found.summary
    assert summary["gap_judged"] == settle
    assert not summary["gap_closed"]
    _holds(summary)
    missing = summary["optimality_gap"]["hypervolume"]
    if missing is not None:
        reference = tuple(summary["reference_point"][name] for name in REFERENCE)
        most = study_quality(exact(), (1, 1), reference).hypervolume
        assert most is not None
        assert 1 - summary["hypervolume"] / most <= missing + 1e-12
    lines = gap_lines(summary)
    assert lines[0] == f"proven at {FINE}:"
    assert any(f"asked for {settle} designs there, as search.settle allows" in x for x in lines)
    assert f"proven at {COARSE}, where designs were proposed: " in lines[-1]
    told = "\n".join(fidelity_lines(summary))
    assert "asked for by the proof, judged there" in told


def test_a_front_that_is_large_enough_at_the_finest_level_ends_the_proof() -> None:
    found = run(study_of(hypervolume_gap=0.3, trials=200, settle=3000))
    assert found.summary["gap_fidelity"] == FINE
    assert found.summary["gap_closed"]
    assert found.summary["optimality_gap"]["hypervolume"] <= 0.3
    closed = run(study_of(gap=0.0, trials=200, settle=3000))
    assert found.summary["gap_judged"] < closed.summary["gap_judged"]


def test_a_stopped_proof_of_the_finest_level_goes_on_to_the_same_rows(tmp_path: Path) -> None:
    study = study_of(gap=0.0, trials=80, settle=200)
    whole = run(study)
    judged = whole.summary["gap_judged"]
    for after in (len(whole.rows) - judged // 2, len(whole.rows) - 1):
        folder = tmp_path / str(after)
        cut = run(study, folder, watcher=Stopping(after))
        assert len(cut.rows) < len(whole.rows)
        again = run(study, folder, resume=True)
        pd.testing.assert_frame_equal(comparable(again), comparable(whole))
        assert again.summary["lower_bounds"] == whole.summary["lower_bounds"]
        assert again.summary["optimality_gap"] == whole.summary["optimality_gap"]


def test_without_designs_to_judge_the_gap_is_that_of_the_first_level() -> None:
    summary = run(study_of(gap=0.05, trials=400, settle=0)).summary
    assert summary["gap_fidelity"] == COARSE
    assert "searched_gap" not in summary
    assert gap_lines(summary)[0] == f"proven at {COARSE} alone:"

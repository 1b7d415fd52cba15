"""Studies that judge the best designs again at finer fidelities."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from several_levels import COARSE, FINE, SEARCH, SEVERAL, TRIALS, comparable, run, study_of
from small_study import STUDY

import dse
from dse.evaluate import build_evaluator
from dse.evaluate.base import evaluate
from dse.fidelity.compare import refined_rows, searched_rows
from dse.fidelity.promote import promotion
from dse.fidelity.told import fidelity_lines
from dse.rank.pareto import non_dominated
from dse.report.measured import front_bands
from dse.results.result import StudyResult
from dse.run.runner import Runner
from dse.run.watcher import Unwatched
from dse.study.compile import compile_study
from dse.study.trials import Trial
from simcore import ConfigError


def test_the_front_is_that_of_the_designs_judged_at_the_finest_level(
    result_of_levels: StudyResult,
) -> None:
    study = result_of_levels.study
    evaluator = build_evaluator(study.judged_at(FINE).evaluator_input)
    fine = refined_rows(result_of_levels.rows, FINE)
    chosen = promotion(study, searched_rows(study, result_of_levels.rows))
    assert {row.number for row in fine} == {row.number for row in chosen.rows}
    assert len(chosen.best) + len(chosen.controls) == 20
    values = []
    for row in fine:
        exact = evaluate(evaluator, study.goals, row.design)
        assert exact.objectives == row.evaluation.objectives
        assert exact.fidelity == row.evaluation.fidelity == FINE
        values.append(tuple(exact.objectives.values()))
    best = {values[i] for i in np.flatnonzero(non_dominated(np.array(values)))}
    front = [result_of_levels.rows[place] for place in result_of_levels.front]
    assert {tuple(row.evaluation.objectives.values()) for row in front} == best
    assert {row.evaluation.fidelity for row in front} == {FINE}
    assert result_of_levels.summary["fidelity"]["front"] == FINE


def test_both_values_of_a_design_stand_in_the_table(
    folder_of_levels: Path, result_of_levels: StudyResult
) -> None:
    table = pd.read_parquet(folder_of_levels / "trials.parquet")
    proposals = table[table.fidelity != FINE]
    assert list(proposals.number) == list(range(TRIALS))
    assert result_of_levels.summary["proposals"] == TRIALS
    fine = table[table.fidelity == FINE].set_index("number")
    coarse = proposals.set_index("number").loc[fine.index]
    assert set(coarse.fidelity) == {COARSE}
    assert (fine["objectives.capital_cost"] == coarse["objectives.capital_cost"]).all()
    longer = fine["objectives.iteration_time"] > coarse["objectives.iteration_time"]
    assert longer.any()
    front = pd.read_csv(folder_of_levels / "pareto.csv")
    assert set(front.fidelity) == {FINE}
    assert set(front.number) <= set(fine.index)


def test_the_whole_front_and_the_best_ranks_after_it_are_judged_again(
    result_of_levels: StudyResult,
) -> None:
    coarse = [
        row
        for row in result_of_levels.rows
        if row.evaluation.fidelity == COARSE and row.is_feasible
    ]
    coarse = [row for row in coarse if row.repeats is None]
    points = np.array([tuple(row.evaluation.objectives.values()) for row in coarse])
    rank, left = np.zeros(len(coarse), int), np.arange(len(coarse))
    while left.size:
        best = non_dominated(points[left])
        left = left[~best]
        rank[left] += 1
    ranks = {row.number: int(found) for row, found in zip(coarse, rank, strict=True)}
    chosen = {row.number for row in promotion(result_of_levels.study, coarse).best}
    worst = max(ranks[number] for number in chosen)
    assert {number for number, found in ranks.items() if found < worst} <= chosen
    few = study_of(promote=1)
    front = {number for number, found in ranks.items() if found == 0}
    assert {row.number for row in promotion(few, coarse).best} == front
    assert len(front) > 1


def test_some_of_the_others_are_judged_again_drawn_evenly(result_of_levels: StudyResult) -> None:
    coarse = searched_rows(result_of_levels.study, result_of_levels.rows)
    chosen = promotion(result_of_levels.study, coarse)
    assert len(chosen.best) == 16
    best = {row.number for row in (*chosen.best, *chosen.challengers)}
    others = [
        row.number
        for row in coarse
        if row.is_feasible and row.repeats is None and row.number not in best
    ]
    drawn = [row.number for row in chosen.controls]
    parts = [part.tolist() for part in np.array_split(others, 4)]
    assert [number in part for number, part in zip(drawn, parts, strict=True)] == [True] * 4
    assert sorted(best | set(drawn)) == [
        row.number for row in refined_rows(result_of_levels.rows, FINE)
    ]
    every = study_of(controls=10_000)
    assert len(promotion(every, coarse).rows) == len(others) + len(best)
    assert promotion(study_of(controls=0), coarse).controls == ()


@pytest.mark.parametrize(
    "workers", [2, *(pytest.param(count, marks=pytest.mark.slow) for count in (1, 4))]
)
def test_the_number_of_workers_changes_nothing(
    workers: int, result_of_levels: StudyResult, tmp_path: Path
) -> None:
    execution = {"executor": "local", "workers": workers}
    found = run(compile_study({**SEVERAL, "execution": execution}), tmp_path)
    pd.testing.assert_frame_equal(comparable(found), comparable(result_of_levels))
    assert found.front == result_of_levels.front
    assert found.summary["fidelity"] == result_of_levels.summary["fidelity"]
    stored = dse.load_study(tmp_path)
    pd.testing.assert_frame_equal(stored.trials, found.trials)


class Stopping(Unwatched):
    """Ctrl-C after so many rows of one fidelity."""

    def __init__(self, fidelity: str, rows: int) -> None:
        self._fidelity, self._left = fidelity, rows

    def folded(self, trial: Trial, duplicates: int) -> None:
        self._left -= trial.evaluation.fidelity == self._fidelity

    def stopping(self) -> bool:
        return self._left <= 0


@pytest.mark.parametrize(("level", "rows"), [(COARSE, 5), (FINE, 1), (FINE, 3)])
def test_an_interrupted_study_says_what_it_lacks_and_is_resumed(
    level: str, rows: int, result_of_levels: StudyResult, tmp_path: Path
) -> None:
    stopped = run(study_of(), tmp_path, watcher=Stopping(level, rows))
    (step,) = stopped.summary["fidelity"]["steps"]
    judged = refined_rows(stopped.rows, FINE)
    assert step["judged"] == len(judged) < step["promoted"]
    assert (len(judged) >= rows) == (level == FINE)
    assert any("--resume" in line for line in fidelity_lines(stopped.summary))
    decides = {stopped.rows[place].evaluation.fidelity for place in stopped.front}
    assert decides == {level}
    pd.testing.assert_frame_equal(dse.load_study(tmp_path).trials, stopped.trials)
    whole = run(study_of(), tmp_path, resume=True)
    pd.testing.assert_frame_equal(comparable(whole), comparable(result_of_levels))


def test_a_study_that_goes_on_with_more_trials_is_the_longer_study(
    result_of_levels: StudyResult, tmp_path: Path
) -> None:
    run(study_of(trials=TRIALS // 3), tmp_path)
    longer = run(study_of(), tmp_path, resume=True)
    pd.testing.assert_frame_equal(comparable(longer), comparable(result_of_levels))
    pd.testing.assert_frame_equal(dse.load_study(tmp_path).trials, longer.trials)
    again = run(study_of(promote=20), tmp_path, resume=True)
    judged = again.summary["fidelity"]["steps"][0]["judged"]
    chosen = promotion(again.study, searched_rows(again.study, again.rows))
    assert judged == len(chosen.rows) == 24 + len(chosen.challengers)


def test_levels_follow_each_other(tmp_path: Path) -> None:
    run_of_ring = {
        **STUDY["run"],
        "system": {"all_reduce": "ring"},
        "platform": {
            "npu": "a100_80",
            "dimensions": [
                {"topology": "ring", "npus": 16, "bandwidth": "50 GB/s", "latency": "700 ns"}
            ],
        },
    }
    space = {
        "products": STUDY["space"]["products"][:1],
        "axes": {
            "plan.micro_batch": {"choices": [1, 2]},
            "platform.dimensions[0].bandwidth": {"ladder": ["20 GB/s", "40 GB/s", "200 GB/s"]},
        },
        "require": STUDY["space"]["require"],
    }
    levels = ["congestion_unaware", "congestion_aware", "congestion_aware_multidim"]
    search = {**SEARCH, "fidelity": levels, "promote": 8, "controls": 0}
    study = compile_study({**SEVERAL, "run": run_of_ring, "space": space, "search": search})
    found = run(study, tmp_path)
    first, second = found.summary["fidelity"]["steps"]
    assert (first["judged"], second["judged"]) == (8, 8)
    assert second["objectives"] == {}  # on one dimension both are the same network
    assert found.summary["fidelity"]["front"] == levels[-1]
    assert [row.evaluation.fidelity for row in found.rows[-16:]] == [levels[1]] * 8 + [
        levels[2]
    ] * 8
    pd.testing.assert_frame_equal(dse.load_study(tmp_path).trials, found.trials)


def test_a_single_level_is_the_backend_of_the_study() -> None:
    listed = run(study_of(fidelity=[FINE], trials=20))
    named = {**STUDY, "run": {**STUDY["run"], "backend": FINE}}
    plain = run(compile_study({**named, "search": {**STUDY["search"], "trials": 20}}))
    pd.testing.assert_frame_equal(comparable(listed), comparable(plain))
    assert listed.front == plain.front
    assert "fidelity" not in listed.summary
    assert front_bands(listed) == front_bands(plain)
    assert "congestion_unaware" in front_bands(listed)[0]


def test_enumerated_studies_and_scenarios_have_levels_too() -> None:
    data = {
        **SEVERAL,
        "scenarios": [{"name": "all"}, {"name": "busy", "bandwidth": "50%"}],
        "aggregate": "worst",
        "search": {**SEARCH, "fidelity": [COARSE, FINE], "promote": 4, "trials": 30},
    }
    found = run(compile_study(data))
    (step,) = found.summary["fidelity"]["steps"]
    assert step["judged"] >= 4
    few = {**SEVERAL["space"], "require": [*SEVERAL["space"]["require"], "plan.tp == 4"]}
    every = Runner(
        compile_study({**SEVERAL, "space": few}), out=None, resume=False, watcher=None
    ).enumerate()
    (step,) = every.summary["fidelity"]["steps"]
    assert step["judged"] == step["promoted"] >= 20  # challengers of the front come on top
    assert every.summary["gap_fidelity"] == COARSE


def test_a_cache_keeps_the_levels_apart(tmp_path: Path, result_of_levels: StudyResult) -> None:
    data = {**SEVERAL, "execution": {"executor": "serial", "cache": str(tmp_path)}}
    run(compile_study(data))
    warm = run(compile_study(data))
    assert {row.worker for row in warm.rows} <= {"", "cache"}
    pd.testing.assert_frame_equal(comparable(warm), comparable(result_of_levels))


def test_every_design_that_may_belong_to_the_front_is_judged_exactly() -> None:
    """Against judging all designs exactly: what screening by bounds leaves out is on no front."""
    trees = {**STUDY["run"]["system"], "phase_end": "together"}
    space = STUDY["space"]
    choices = {"choices": ["ring", "double_binary_tree"]}
    axes = {**space["axes"], "system.all_reduce[*]": choices}
    data = {**STUDY, "run": {**STUDY["run"], "system": trees}, "space": {**space, "axes": axes}}
    search = {**STUDY["search"], "trials": 60, "promote": 1, "controls": 0, "screening": False}
    search["settle"] = 0
    exact = ["phases_together", "congestion_unaware"]
    found = run(compile_study({**data, "search": {**search, "fidelity": exact}}))
    evaluator = build_evaluator(found.study.judged_at(exact[-1]).evaluator_input)
    proposals = [row for row in searched_rows(found.study, found.rows) if row.is_feasible]
    held = [row for row in proposals if row.evaluation.metrics["held_s"] > 0]
    assert held
    assert all(row.evaluation.metrics["held_s"] == 0 for row in refined_rows(found.rows, exact[-1]))
    judged = {row.number: evaluate(evaluator, found.study.goals, row.design) for row in proposals}
    rows = [
        row for row in proposals if judged[row.number].state == "complete" and row.repeats is None
    ]
    values = [tuple(judged[row.number].objectives.values()) for row in rows]
    best = {values[at] for at in np.flatnonzero(non_dominated(np.array(values))).tolist()}
    front = {tuple(found.rows[at].evaluation.objectives.values()) for at in found.front}
    assert front == best


def test_the_first_level_and_the_run_must_agree_on_the_ends_of_phases() -> None:
    levels = ["congestion_unaware", "congestion_aware_multidim"]
    with pytest.raises(ConfigError, match=r"phase_end.*phases_together is the level before"):
        study_of(fidelity=levels)

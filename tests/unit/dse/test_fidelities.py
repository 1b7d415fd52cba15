"""Studies that judge the best designs again at finer fidelities."""

import html
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from small_study import STUDY

import dse
from dse.cli.exporting import export_command, streamed_front
from dse.cli.showing import show_result
from dse.evaluate import build_evaluator
from dse.evaluate.base import evaluate
from dse.fidelity import (
    fidelity_lines,
    fidelity_summary,
    promotion,
    refined_rows,
    searched_rows,
)
from dse.proof.told import gap_lines
from dse.rank import non_dominated
from dse.report import explain_trial, front_bands
from dse.results.failures import failure_lines
from dse.results.result import StudyResult
from dse.run.runner import Runner, Unwatched
from dse.store import StudyFolder
from dse.study.compile import Study, compile_study
from dse.study.trials import Trial
from simcore import ConfigError
from simcore.engines import each_npu

ORDER = "system.inter_dimension"
COARSE, FINE = "phases_together", "congestion_aware_multidim"
SEARCH = {
    **STUDY["search"],
    "trials": 120,
    "fidelity": ["bound", COARSE, FINE],
    "promote": 16,
    "controls": 4,
}
SEVERAL = {**STUDY, "search": SEARCH}


def study_of(**search: Any) -> Study:
    return compile_study({**SEVERAL, "search": {**SEARCH, **search}})


def run(study: Study, out: Path | None = None, **options: Any) -> StudyResult:
    given = {"resume": False, "watcher": None, **options}
    return Runner(study, out=out, **given).search(None)


def comparable(result: StudyResult) -> pd.DataFrame:
    """All but who evaluated a design, and how long it took."""
    return result.trials.drop(columns=["duration_s", "worker"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fidelities") / "study"
    run(study_of(), path)
    return path


@pytest.fixture(scope="module")
def result(folder: Path) -> StudyResult:
    return dse.load_study(folder)


def test_the_front_is_that_of_the_designs_judged_at_the_finest_level(result: StudyResult) -> None:
    study = result.study
    evaluator = build_evaluator(study.judged_at(FINE).evaluator_input)
    fine = refined_rows(result.rows, FINE)
    chosen = promotion(study, searched_rows(study, result.rows))
    assert {row.number for row in fine} == {row.number for row in chosen.rows}
    assert len(chosen.best) + len(chosen.controls) == 20
    values = []
    for row in fine:
        exact = evaluate(evaluator, study.goals, row.design)
        assert exact.objectives == row.evaluation.objectives
        assert exact.fidelity == row.evaluation.fidelity == FINE
        values.append(tuple(exact.objectives.values()))
    best = {values[i] for i in np.flatnonzero(non_dominated(np.array(values)))}
    front = [result.rows[place] for place in result.front]
    assert {tuple(row.evaluation.objectives.values()) for row in front} == best
    assert {row.evaluation.fidelity for row in front} == {FINE}
    assert result.summary["fidelity"]["front"] == FINE


def test_both_values_of_a_design_stand_in_the_table(folder: Path, result: StudyResult) -> None:
    table = pd.read_parquet(folder / "trials.parquet")
    proposals = table[table.fidelity != FINE]
    assert list(proposals.number) == list(range(120))
    assert result.summary["proposals"] == 120
    fine = table[table.fidelity == FINE].set_index("number")
    coarse = proposals.set_index("number").loc[fine.index]
    assert set(coarse.fidelity) == {COARSE}
    assert (fine["objectives.capital_cost"] == coarse["objectives.capital_cost"]).all()
    longer = fine["objectives.iteration_time"] > coarse["objectives.iteration_time"]
    assert longer.any()
    front = pd.read_csv(folder / "pareto.csv")
    assert set(front.fidelity) == {FINE}
    assert set(front.number) <= set(fine.index)


def test_the_whole_front_and_the_best_ranks_after_it_are_judged_again(result: StudyResult) -> None:
    coarse = [row for row in result.rows if row.evaluation.fidelity == COARSE and row.is_feasible]
    coarse = [row for row in coarse if row.repeats is None]
    points = np.array([tuple(row.evaluation.objectives.values()) for row in coarse])
    rank, left = np.zeros(len(coarse), int), np.arange(len(coarse))
    while left.size:
        best = non_dominated(points[left])
        left = left[~best]
        rank[left] += 1
    ranks = {row.number: int(found) for row, found in zip(coarse, rank, strict=True)}
    chosen = {row.number for row in promotion(result.study, coarse).best}
    worst = max(ranks[number] for number in chosen)
    assert {number for number, found in ranks.items() if found < worst} <= chosen
    few = study_of(promote=1)
    front = {number for number, found in ranks.items() if found == 0}
    assert {row.number for row in promotion(few, coarse).best} == front
    assert len(front) > 1


def test_some_of_the_others_are_judged_again_drawn_evenly(result: StudyResult) -> None:
    coarse = searched_rows(result.study, result.rows)
    chosen = promotion(result.study, coarse)
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
    assert sorted(best | set(drawn)) == [row.number for row in refined_rows(result.rows, FINE)]
    every = study_of(controls=10_000)
    assert len(promotion(every, coarse).rows) == len(others) + len(best)
    assert promotion(study_of(controls=0), coarse).controls == ()


def test_a_control_on_the_front_is_told(result: StudyResult) -> None:
    study = result.study
    (control, *_) = promotion(study, searched_rows(study, result.rows)).controls
    fast = replace(
        control.evaluation, fidelity=FINE, objectives={"iteration_time": 0.0, "capital_cost": 1.0}
    )
    rows = [
        replace(row, evaluation=fast)
        if (row.number, row.evaluation.fidelity) == (control.number, FINE)
        else row
        for row in result.rows
    ]
    (step,) = fidelity_summary(study, rows)["fidelity"]["steps"]
    assert (step["controls"], step["controls_on_front"], step["front_kept"]) == (4, 1, 0)
    told = "\n".join(fidelity_lines(fidelity_summary(study, rows)))
    assert f"1 of the designs drawn from those that {COARSE} holds for worse" in told


def test_the_summary_tells_how_far_the_levels_agree(result: StudyResult) -> None:
    (step,) = result.summary["fidelity"]["steps"]
    assert (step["from"], step["to"]) == (COARSE, FINE)
    coarse_rows = searched_rows(result.study, result.rows)
    chosen = promotion(result.study, coarse_rows)
    assert len(chosen.best) + len(chosen.controls) == 20
    assert step["promoted"] == step["judged"] == 20 + len(chosen.challengers)
    assert step["failed"] == 0
    assert list(step["objectives"]) == ["iteration_time"]  # prices know no congestion
    coarse = {row.number: row for row in result.rows if row.evaluation.fidelity == COARSE}
    pairs = [
        (coarse[row.number].evaluation.objectives["iteration_time"],
         row.evaluation.objectives["iteration_time"])
        for row in refined_rows(result.rows, FINE)
    ]  # fmt: skip
    here, there = np.array(pairs).T
    found = step["objectives"]["iteration_time"]
    assert found["kendall_tau"] == pytest.approx(stats.kendalltau(here, there).statistic)
    assert found["spearman"] == pytest.approx(stats.spearmanr(here, there).statistic)
    assert found["least_ratio"] >= 1
    assert step["trusted"] == (found["kendall_tau"] >= 0.5)
    told = "\n".join(fidelity_lines(result.summary))
    assert f"judged at {FINE}" in told
    assert "Kendall's tau" in told
    assert ("do not trust" in told) != step["trusted"]


@pytest.mark.parametrize(
    "workers", [2, *(pytest.param(count, marks=pytest.mark.slow) for count in (1, 4))]
)
def test_the_number_of_workers_changes_nothing(
    workers: int, result: StudyResult, tmp_path: Path
) -> None:
    execution = {"executor": "local", "workers": workers}
    found = run(compile_study({**SEVERAL, "execution": execution}), tmp_path)
    pd.testing.assert_frame_equal(comparable(found), comparable(result))
    assert found.front == result.front
    assert found.summary["fidelity"] == result.summary["fidelity"]
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
    level: str, rows: int, result: StudyResult, tmp_path: Path
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
    pd.testing.assert_frame_equal(comparable(whole), comparable(result))


def test_a_study_that_goes_on_with_more_trials_is_the_longer_study(tmp_path: Path) -> None:
    run(study_of(trials=40), tmp_path)
    longer = run(study_of(), tmp_path, resume=True)
    pd.testing.assert_frame_equal(comparable(longer), comparable(run(study_of())))
    pd.testing.assert_frame_equal(dse.load_study(tmp_path).trials, longer.trials)
    again = run(study_of(promote=20), tmp_path, resume=True)
    judged = again.summary["fidelity"]["steps"][0]["judged"]
    chosen = promotion(again.study, searched_rows(again.study, again.rows))
    assert judged == len(chosen.rows) == 24 + len(chosen.challengers)


def test_a_design_that_the_finer_level_cannot_run_is_told_and_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []
    check = each_npu.check_nodes

    def small_alone(graph: Any, lowered: Any, *where: Any) -> None:
        sizes.append(lowered.node.shape[0] * graph.plan.npus_per_stage)
        check(graph, lowered, *where)

    monkeypatch.setattr(each_npu, "check_nodes", small_alone)
    run(study_of())
    monkeypatch.setattr(each_npu, "MAX_NODES", int(np.median(sizes)))
    found = run(study_of(), tmp_path)
    failed = [row for row in refined_rows(found.rows, FINE) if row.state == "failed"]
    assert 0 < len(failed) < 20
    assert found.summary["failed"] == len(failed)
    (kind,) = found.summary["failures"]
    assert kind["trials"] == [row.number for row in failed]
    (told,) = failure_lines(found.summary)
    assert told.startswith(f"failed at {FINE}: trial")
    assert "choose congestion_unaware, fewer NPUs or fewer micro-batches" in told
    assert {found.rows[place].state for place in found.front} == {"complete"}
    monkeypatch.setattr(each_npu, "MAX_NODES", 10**9)
    retried = run(study_of(), tmp_path, resume=True, retry_failed=True)
    assert retried.summary["failures"] == []
    pd.testing.assert_frame_equal(comparable(retried), comparable(run(study_of())))


def test_where_the_finer_level_can_run_nothing_the_coarser_front_is_told_as_such(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(each_npu, "MAX_NODES", 1)
    found = run(study_of())
    assert found.summary["fidelity"]["front"] == COARSE
    assert {found.rows[place].evaluation.fidelity for place in found.front} == {COARSE}
    promoted = len(promotion(found.study, searched_rows(found.study, found.rows)).rows)
    assert found.summary["failed"] == promoted >= 20
    lines = fidelity_lines(found.summary)
    assert lines[0].startswith(f"judged at {COARSE}")
    assert (
        lines[1] == f"{COARSE} -> {FINE}: 0 of {promoted} designs judged again, {promoted} failed"
    )


def test_no_ranking_is_claimed_where_designs_failed_at_the_finer_level(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    orders = {"choices": ["ascending", "round_robin", "offline_greedy"]}
    space = {**STUDY["space"], "axes": {**STUDY["space"]["axes"], ORDER: orders}}
    search = {**SEARCH, "promote": 12}
    found = run(compile_study({**SEVERAL, "space": space, "search": search}), tmp_path)
    fine = refined_rows(found.rows, FINE)
    failed = [row for row in fine if row.state == "failed"]
    assert 0 < len(failed) < len(fine) - 5
    assert "ascending" not in {row.design[ORDER] for row in failed}  # members wait for ever
    assert found.summary["failed"] == len(failed)
    assert sorted(n for one in found.summary["failures"] for n in one["trials"]) == [
        row.number for row in failed
    ]
    (step,) = found.summary["fidelity"]["steps"]
    assert (step["failed"], step["judged"]) == (len(failed), len(fine) - len(failed))
    assert step["trusted"] is None
    assert {key for one in step["objectives"].values() for key in one} == {
        "compared",
        "least_ratio",
        "median_ratio",
        "largest_ratio",
    }
    show_result(found)
    terminal, report = capsys.readouterr().out, (tmp_path / "report.html").read_text()
    for told in (terminal, html.unescape(report)):
        assert f"{len(failed)} failed; " in told
        assert f"failed at {FINE}: trial" in told
        assert " waits for " in told
        assert f"no ranking is compared, as {len(failed)} of {len(fine)} designs failed" in told
        assert f"over {len(fine) - len(failed)} of {len(fine)} designs" in told
        assert "Kendall" not in told
    assert f"pruned, {len(failed)} failed" in terminal
    sections = {s.title: s for s in explain_trial(found, failed[0].number)}
    assert sections["fidelities"].lines[-1][0] == f"failed at {FINE}"


def test_a_handful_of_designs_has_no_ranking() -> None:
    found = run(study_of(trials=8, promote=1, controls=0))
    (step,) = found.summary["fidelity"]["steps"]
    assert step["judged"] < 5
    told = "\n".join(fidelity_lines(found.summary))
    assert "too few designs" in told
    assert "Kendall" not in told


def test_of_the_front_those_count_that_the_finer_level_never_judged() -> None:
    study = study_of(trials=60)
    found = run(study)
    coarse = searched_rows(study, found.rows)
    front = list(promotion(study_of(promote=1), coarse).best)
    lost = {row.number for row in front[1:]}
    rows = [row for row in found.rows if row in coarse or row.number not in lost]
    (step,) = fidelity_summary(study, rows)["fidelity"]["steps"]
    assert step["front_size"] == len(front) > 1
    assert step["front_kept"] <= 1


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


def test_a_gap_is_told_of_the_level_at_which_it_is_proven() -> None:
    found = run(study_of(gap=0.05, trials=400))
    summary = found.summary
    assert summary["gap_closed"]
    assert summary["gap_fidelity"] == COARSE
    assert gap_lines(summary)[0] == f"proven at {COARSE} alone:"
    rows = searched_rows(found.study, found.rows)
    coarse = min(r.evaluation.objectives["iteration_time"] for r in rows if r.is_feasible)
    bound = summary["lower_bounds"]["iteration_time"]
    assert coarse * 0.95 <= bound <= coarse < summary["best"]["iteration_time"]


def test_a_cache_keeps_the_levels_apart(tmp_path: Path, result: StudyResult) -> None:
    data = {**SEVERAL, "execution": {"executor": "serial", "cache": str(tmp_path)}}
    run(compile_study(data))
    warm = run(compile_study(data))
    assert {row.worker for row in warm.rows} <= {"", "cache"}
    pd.testing.assert_frame_equal(comparable(warm), comparable(result))


def test_exports_and_explanations_know_the_levels(
    folder: Path, result: StudyResult, tmp_path: Path
) -> None:
    out = tmp_path / "all"
    export_command(folder, kind="csv", front=False, out=out)
    assert out.read_text() == result.trials.to_csv(index=False)
    streamed = streamed_front(StudyFolder(folder), result.study)
    front = [result.rows[place] for place in result.front]
    assert [(row.number, row.evaluation.fidelity) for row in streamed] == [
        (row.number, FINE) for row in front
    ]
    sections = {s.title: s for s in explain_trial(result, front[0].number)}
    levels = [line[0] for line in sections["fidelities"].lines]
    assert levels[0].endswith(COARSE)
    assert levels[-1].endswith(FINE)
    assert "fidelity" in (folder / "report.html").read_text()


def test_every_design_that_may_belong_to_the_front_is_judged_exactly() -> None:
    """Against judging all designs exactly: what screening by bounds leaves out is on no front."""
    trees = {**STUDY["run"]["system"], "phase_end": "together"}
    space = STUDY["space"]
    choices = {"choices": ["ring", "double_binary_tree"]}
    axes = {**space["axes"], "system.all_reduce[*]": choices}
    data = {**STUDY, "run": {**STUDY["run"], "system": trees}, "space": {**space, "axes": axes}}
    search = {**STUDY["search"], "trials": 60, "promote": 1, "controls": 0, "screening": False}
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

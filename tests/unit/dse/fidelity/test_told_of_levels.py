"""What a study tells of its levels: how far they agree, what failed, which one decides."""

import html
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from several_levels import COARSE, FINE, ORDER, SEARCH, SEVERAL, comparable, run, study_of
from small_study import STUDY

from dse.cli.exporting import export_command, streamed_front
from dse.cli.showing import show_result
from dse.evaluate import build_evaluator
from dse.evaluate.base import evaluate
from dse.fidelity.compare import fidelity_summary, refined_rows, searched_rows
from dse.fidelity.promote import promotion
from dse.fidelity.told import fidelity_lines
from dse.proof.told import gap_lines
from dse.report.explain import explain_trial
from dse.results.failures import failure_lines
from dse.results.result import StudyResult
from dse.store.folder import StudyFolder
from dse.study.compile import compile_study
from simcore.engines import iteration
from simcore.engines.choose import Choice, choose
from simcore.engines.machine_times import MachineTimes, ProgramTimes
from simcore.errors import ConfigError


def test_a_control_on_the_front_is_told(result_of_levels: StudyResult) -> None:
    study = result_of_levels.study
    (control, *_) = promotion(study, searched_rows(study, result_of_levels.rows)).controls
    fast = replace(
        control.evaluation, fidelity=FINE, objectives={"iteration_time": 0.0, "capital_cost": 1.0}
    )
    rows = [
        replace(row, evaluation=fast)
        if (row.number, row.evaluation.fidelity) == (control.number, FINE)
        else row
        for row in result_of_levels.rows
    ]
    (step,) = fidelity_summary(study, rows)["fidelity"]["steps"]
    assert (step["controls"], step["controls_on_front"], step["front_kept"]) == (4, 1, 0)
    told = "\n".join(fidelity_lines(fidelity_summary(study, rows)))
    assert f"1 of the designs drawn from those that {COARSE} holds for worse" in told


def test_the_summary_tells_how_far_the_levels_agree(result_of_levels: StudyResult) -> None:
    (step,) = result_of_levels.summary["fidelity"]["steps"]
    assert (step["from"], step["to"]) == (COARSE, FINE)
    coarse_rows = searched_rows(result_of_levels.study, result_of_levels.rows)
    chosen = promotion(result_of_levels.study, coarse_rows)
    assert len(chosen.best) + len(chosen.controls) == 20
    assert step["promoted"] == step["judged"] == 20 + len(chosen.challengers)
    assert step["failed"] == 0
    assert list(step["objectives"]) == ["iteration_time"]  # prices know no congestion
    coarse = {row.number: row for row in result_of_levels.rows if row.evaluation.fidelity == COARSE}
    pairs = [
        (coarse[row.number].evaluation.objectives["iteration_time"],
         row.evaluation.objectives["iteration_time"])
        for row in refined_rows(result_of_levels.rows, FINE)
    ]  # fmt: skip
    here, there = np.array(pairs).T
    found = step["objectives"]["iteration_time"]
    from scipy import stats  # which takes as long to import as all the rest

    assert found["kendall_tau"] == pytest.approx(stats.kendalltau(here, there).statistic)
    assert found["spearman"] == pytest.approx(stats.spearmanr(here, there).statistic)
    assert found["least_ratio"] >= 1
    assert step["trusted"] == (found["kendall_tau"] >= 0.5)
    told = "\n".join(fidelity_lines(result_of_levels.summary))
    assert f"judged at {FINE}" in told
    assert "Kendall's tau" in told
    assert ("do not trust" in told) != step["trusted"]


CHOOSE = choose


def refuse_beyond(most: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let the finer level refuse designs whose operators take longer, ns; gets what they take."""
    seen: list[int] = []

    def small_alone(times: ProgramTimes, machine: MachineTimes) -> Choice:
        if machine.messages_meet:
            seen.append(int(times.operator_ns.sum()))
            if seen[-1] > most:
                raise ConfigError("backend", "must be smaller", got=seen[-1])
        return CHOOSE(times, machine)

    monkeypatch.setattr(iteration, "choose", small_alone)
    return seen


def test_a_design_that_the_finer_level_cannot_run_is_told_and_not_lost(
    result_of_levels: StudyResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes, study = refuse_beyond(10**9, monkeypatch), result_of_levels.study
    evaluator = build_evaluator(study.judged_at(FINE).evaluator_input)
    for row in refined_rows(result_of_levels.rows, FINE):
        evaluate(evaluator, study.goals, row.design)
    refuse_beyond(int(np.median(sizes)), monkeypatch)
    found = run(study_of(), tmp_path)
    failed = [row for row in refined_rows(found.rows, FINE) if row.state == "failed"]
    assert 0 < len(failed) < 20
    assert found.summary["failed"] == len(failed)
    (kind,) = found.summary["failures"]
    assert kind["trials"] == [row.number for row in failed]
    (told,) = failure_lines(found.summary)
    assert told.startswith(f"failed at {FINE}: trial")
    assert "must be smaller" in told
    assert {found.rows[place].state for place in found.front} == {"complete"}
    refuse_beyond(10**9, monkeypatch)
    retried = run(study_of(), tmp_path, resume=True, retry_failed=True)
    assert retried.summary["failures"] == []
    pd.testing.assert_frame_equal(comparable(retried), comparable(result_of_levels))


def test_where_the_finer_level_can_run_nothing_the_coarser_front_is_told_as_such(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refuse_beyond(1, monkeypatch)
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


def test_exports_and_explanations_know_the_levels(
    folder_of_levels: Path, result_of_levels: StudyResult, tmp_path: Path
) -> None:
    out = tmp_path / "all"
    export_command(folder_of_levels, kind="csv", front=False, out=out)
    assert out.read_text() == result_of_levels.trials.to_csv(index=False)
    streamed = streamed_front(StudyFolder(folder_of_levels), result_of_levels.study)
    front = [result_of_levels.rows[place] for place in result_of_levels.front]
    assert [(row.number, row.evaluation.fidelity) for row in streamed] == [
        (row.number, FINE) for row in front
    ]
    sections = {s.title: s for s in explain_trial(result_of_levels, front[0].number)}
    levels = [line[0] for line in sections["fidelities"].lines]
    assert levels[0].endswith(COARSE)
    assert levels[-1].endswith(FINE)
    assert "fidelity" in (folder_of_levels / "report.html").read_text()

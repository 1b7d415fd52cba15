"""The run of a study as its file has it: evaluated, and shown beside the front."""

from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import pytest
import yaml
from small_study import STUDY as SMALL

import dse
from dse.evaluate import EVALUATORS, Evaluator
from dse.evaluate.base import Account
from dse.report.baseline import against, baseline_lines
from dse.report.explain import explain_trial
from dse.report.front_table import RUN, front_table
from dse.report.page.axes import axes_of
from dse.report.page.chosen import BASELINE, chosen_rows
from dse.space import Design
from simcore import RunTemplate, simulate_run

STUDY = "p4_dlrm_2p6t_h100.yaml"
FEW: dict[str, Any] = {"settle": 0, "promote": 4, "controls": 1}
"""Designs that are judged again: the baseline is at every level."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("study") / "out"
    dse.run_study(STUDY, trials=16, **FEW, executor="serial", out=out)
    return out


@pytest.fixture(scope="module")
def result(folder: Path) -> dse.StudyResult:
    return dse.load_study(folder)


def test_it_is_the_simulated_run_of_the_file(result: dse.StudyResult) -> None:
    run = RunTemplate.from_table(dict(result.study.evaluator_input.run)).with_values({})
    assert result.baseline is not None
    found = result.baseline.evaluation.objectives["iteration_time"]
    assert found == simulate_run(run).iteration_time_s


def test_it_is_the_same_with_workers_and_after_a_stop(
    result: dse.StudyResult, tmp_path: Path
) -> None:
    local = dse.run_study(STUDY, trials=16, **FEW, executor="local", workers=2)
    dse.run_study(STUDY, trials=6, **FEW, executor="serial", out=tmp_path / "part")
    rest = dse.run_study(
        STUDY, trials=16, **FEW, executor="serial", out=tmp_path / "part", resume=True
    )
    expected = dict(result.summary["baseline"])
    assert dict(local.summary["baseline"]) == expected
    assert dict(rest.summary["baseline"]) == expected


def test_it_is_no_trial(result: dse.StudyResult) -> None:
    assert {row.number for row in result.rows} == set(range(16))
    assert result.summary["proposals"] == 16


def test_it_stands_in_the_table_with_the_values_of_its_file(result: dse.StudyResult) -> None:
    table = front_table(result)
    *front, last = table.rows
    assert len(front) == len(result.front)
    assert last[0] == RUN
    assert len({len(row) for row in table.rows}) == 1


def test_the_picture_the_page_and_explain_hold_designs_against_it(
    result: dse.StudyResult, folder: Path
) -> None:
    assert result.baseline is not None
    values = result.baseline.evaluation.objectives
    shown = chosen_rows(result)
    assert shown.kinds[-1] == BASELINE
    time = axes_of(result, shown.rows)[0].values[-1]
    assert time == pytest.approx(values["iteration_time"])
    chosen = [result.rows[one.trial] for one in result.recommended]
    row = min(chosen, key=lambda row: prod(row.evaluation.objectives.values()))  # all are minimised
    ratio = row.evaluation.objectives["iteration_time"] / values["iteration_time"]
    told = against(result, row)
    assert f"iteration time {ratio - 1:+.1%}" in told
    line = baseline_lines(result)[0]
    assert line.endswith(f"trial {row.number} {told}")
    sentence = line.split(";")[0]
    assert sentence[0].upper() + sentence[1:] in (folder / "report.html").read_text()
    sections = {section.title: section.lines for section in explain_trial(result, row.number)}
    assert sections["the run of the study"] == ((told, "", ""),)


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_where_no_trial_is_as_good_as_it_that_is_said(
    result: dse.StudyResult, share: float
) -> None:
    told = result.summary["baseline"]
    rows = [result.rows[at].evaluation.objectives for at in result.front]
    least = {name: min(row[name] for row in rows) for name in told["objectives"]}
    objectives = {**least, "iteration_time": share * least["iteration_time"]}
    summary = {**result.summary, "baseline": {**told, "objectives": objectives}}
    _, *lines = baseline_lines(replace(result, summary=summary))
    expected = "no trial is as good as the run of the study in iteration time yet"
    assert lines == ([expected] if share < 1 else [])


def test_a_run_that_cannot_be_is_told_with_its_reason(tmp_path: Path) -> None:
    result = dse.run_study("llama3_405b_16384.yaml", trials=4, executor="serial", fidelity=[])
    (line,) = baseline_lines(result)
    assert line.startswith("the run of the study by itself is infeasible")
    assert "fits_in_memory" in line


def test_a_closed_form_judges_the_run_of_its_study_too() -> None:
    result = dse.run_study("p5_vit22b_64.yaml", trials=4, executor="serial", sampler="random")
    (line,) = baseline_lines(result)
    assert "fits_in_memory: needs 16.31 GiB of 14.16 GiB" in line


def test_an_evaluator_that_reads_no_run_has_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(EVALUATORS, "_entries", {**dict(EVALUATORS.items()), "silent": Silent})
    file = tmp_path / "study.yaml"
    file.write_text(yaml.safe_dump({**SMALL, "evaluator": "silent"}))
    result = dse.run_study(file, trials=4, executor="serial", sampler="random")
    assert len(result.rows) == 4
    assert result.baseline is None
    assert baseline_lines(result) == []


class Silent(Evaluator):
    def account(self, design: Design) -> Account:
        known = ("iteration_time_s", "capital_cost_usd", "memory_fill", "device_memory_gib")
        return Account(dict.fromkeys(known, 1.0))

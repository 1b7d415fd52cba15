"""Reasons of designs: every nanosecond told, and what would change them."""

import html
import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

import dse
from dse.cli import main
from dse.evaluate import build_evaluator
from dse.evaluate.base import evaluate
from dse.reasons import Explanation, explain_design
from dse.reasons.steps import one_step
from dse.reasons.what_if import WhatIf
from dse.report.explain import explain_trial
from dse.results.result import StudyResult
from dse.samplers.design import GenomeSpace
from dse.study.compile import load_study_file
from simcore import Cause, shipped_folder

MEETING = "gpt3_13b_64_congestion.yaml"
"""Messages meet on links, so that no single node is recorded."""

SERVED = "serve_llama3_70b.yaml"


@pytest.fixture(scope="module")
def folder(result_of_llm_gpt: StudyResult) -> Path:
    assert result_of_llm_gpt.folder is not None
    return result_of_llm_gpt.folder


@pytest.fixture(scope="module")
def result(folder: Path) -> StudyResult:
    return dse.load_study(folder)


@pytest.fixture(scope="module")
def found(result: StudyResult) -> Explanation:
    row = result.rows[result.front[0]]
    return explain_design(result.study.judged_at(row.evaluation.fidelity), row.design)


def test_the_parts_of_the_time_sum_to_it_to_the_nanosecond(found: Explanation) -> None:
    (path,) = found.attributions
    assert path.way == "along the critical path"
    assert all(isinstance(spent, int) and spent > 0 for spent in path.parts_ns.values())
    assert path.time_ns == round(found.evaluation.metrics["iteration_time_s"] * 1e9)


def test_they_do_where_no_node_is_recorded() -> None:
    result = dse.run_study(MEETING, trials=8, settle=0, executor="serial")
    row = result.rows[result.front[0]]
    study = result.study.judged_at(row.evaluation.fidelity)
    (account,) = build_evaluator(study.evaluator_input).attributions(row.design)
    assert account.time_ns == round(row.evaluation.metrics["iteration_time_s"] * 1e9)


def test_a_request_is_read_sent_queued_and_answered() -> None:
    result = dse.run_study(SERVED, trials=12, executor="serial")
    row = result.rows[result.front[0]]
    evaluator = build_evaluator(result.study.evaluator_input)
    request, read, answered = evaluator.attributions(row.design)
    assert [reason.name for reason in request.parts_ns] == [
        "prefill",
        "transfer",
        "queue",
        "answer",
    ]
    metrics = row.evaluation.metrics
    assert request.time_ns == round(metrics["request_s"] * 1e9)
    assert next(iter(request.parts_ns.values())) == round(metrics["time_to_first_token_s"] * 1e9)
    assert 0 < answered.time_ns < read.time_ns


def test_a_part_that_is_a_tenth_worse_is_a_machine_whose_file_says_so(
    found: Explanation, result: StudyResult
) -> None:
    row = result.rows[result.front[0]]
    what = result.study.judged_at(row.evaluation.fidelity).evaluator_input
    npu = yaml.safe_load((shipped_folder("configs") / "npus" / "a100_80.yaml").read_text())
    assert npu["memory_bandwidth"] == "2000 GB/s"
    del npu["version"]
    npu |= {"name": "a100_80", "memory_bandwidth": "1800 GB/s"}
    platform = {**what.run["platform"], "npu": npu}
    slower = replace(what, run={**what.run, "platform": platform})
    there_s = build_evaluator(slower).metrics(row.design)["iteration_time_s"]
    moved = next(
        one.changes["iteration_time"]
        for one in found.what_ifs
        if str(one.lever) == "memory bandwidth" and one.factor < 1
    )
    here_s = found.evaluation.metrics["iteration_time_s"]
    assert moved == pytest.approx(there_s / here_s - 1, rel=1e-9)
    assert moved > 0


def test_better_parts_never_cost_time_and_worse_ones_never_save_it(found: Explanation) -> None:
    levers = [one for one in found.what_ifs if one.lever is not None]
    assert {one.lever.kind for one in levers if one.lever} == {
        *("compute", "memory", "bandwidth", "latency")
    }
    for one in levers:
        assert one.lever is not None
        is_better = (one.factor > 1) == (one.lever.kind != "latency")
        change = one.changes["iteration_time"]
        assert change <= 0 if is_better else change >= 0, one


def test_each_step_is_a_valid_design_that_differs_in_what_it_says(
    found: Explanation, result: StudyResult
) -> None:
    row, study = result.rows[result.front[0]], result.study
    space = GenomeSpace(study.space)
    others = {name: other for name, other in one_step(study.space, row.design) if other is not None}
    assert len(others) > 8
    for name, other in others.items():
        assert space.genome(other) is not None
        assert other.get(name) != row.design.get(name)
    steps = [one for one in found.what_ifs if one.lever is None]
    assert {next(iter(one.knobs)) for one in steps} >= set(others)


def test_a_step_has_the_values_that_its_design_has(found: Explanation, result: StudyResult) -> None:
    row = result.rows[result.front[0]]
    study = result.study.judged_at(row.evaluation.fidelity)
    evaluator = build_evaluator(study.evaluator_input)
    for one in [one for one in found.what_ifs if one.lever is None and one.changes][:6]:
        changed = {**row.design, **{name: after for name, (_, after) in one.knobs.items()}}
        design = {name: value for name, value in changed.items() if value is not None}
        there = evaluate(evaluator, study.goals, design)
        for name, part in one.changes.items():
            here = found.evaluation.objectives[name]
            assert there.objectives[name] == pytest.approx(here * (1 + part), rel=1e-12)


def test_infeasible_steps_say_why(found: Explanation) -> None:
    refused = [one for one in found.what_ifs if one.state == "infeasible"]
    assert refused
    assert all(one.reason for one in refused)


def test_time_that_is_bought_has_a_price(found: Explanation) -> None:
    def buys(one: WhatIf) -> bool:
        return one.changes.get("iteration_time", 0) < 0 < one.changes.get("capital_cost", 0)

    for one in found.what_ifs:
        assert (one.usd_per_percent is not None) == buys(one)
        if one.usd_per_percent is not None:
            usd = one.changes["capital_cost"] * found.evaluation.objectives["capital_cost"]
            percent = -100 * one.changes["iteration_time"]
            assert one.usd_per_percent == pytest.approx(usd / percent)


def test_a_price_of_what_nobody_sells_says_what_it_stands_on(found: Explanation) -> None:
    levers = [(one.lever, one) for one in found.what_ifs if one.lever is not None]
    for lever, one in levers:
        if lever.kind != "bandwidth":
            assert one.assumed == "at the price of the part that is sold"
            assert one.changes["capital_cost"] == 0
        else:  # of the NVLinks of an A100 there are no more
            assert (one.assumed == "of custom parts") == (lever.dimension == 0 and one.factor > 1)
    assert not any(one.assumed for one in found.what_ifs if one.lever is None)


def test_the_sentence_names_the_largest_part_and_what_more_of_it_buys(found: Explanation) -> None:
    (path,) = found.attributions
    compute = sum(ns for reason, ns in path.parts_ns.items() if reason.cause is Cause.COMPUTE)
    assert compute > path.time_ns / 2
    assert found.sentence.startswith("bound by compute, ")
    assert "+10% compute rate buys " in found.sentence
    assert "over dimension" in found.sentence


def test_the_command_tells_the_sentence_first_and_all_of_it_as_json(
    folder: Path, result: StudyResult, found: Explanation
) -> None:
    number = str(result.rows[result.front[0]].number)
    ran = CliRunner().invoke(main, ["explain", str(folder), number])
    assert ran.exit_code == 0, ran.output
    assert ran.output.splitlines()[:2] == [f"trial {number}", found.sentence]
    assert "every nanosecond counted once" in ran.output
    ran = CliRunner().invoke(main, ["explain", str(folder), number, "--json"])
    data = json.loads(ran.output)
    assert data["sentence"] == found.sentence
    (path,) = data["attributions"]
    assert sum(part["time_ns"] for part in path["parts"]) == path["time_ns"]
    assert len(data["what_ifs"]) == len(found.what_ifs)
    ran = CliRunner().invoke(main, ["explain", str(folder), number, "--page"])
    assert ran.exit_code == 0, ran.output
    assert html.escape(found.sentence) in (folder / f"trial-{number}.html").read_text()


def test_a_closed_form_has_values_but_no_reasons() -> None:
    study = load_study_file("p5_vit22b_64.yaml")
    result = dse.run_study("p5_vit22b_64.yaml", trials=8, executor="serial", sampler="random")
    row = next(row for row in result.rows if row.is_feasible)
    found = explain_design(study, row.design)
    assert found.evaluation.objectives == row.evaluation.objectives
    assert (found.sentence, tuple(found.attributions)) == ("", ())
    titles = [section.title for section in explain_trial(result, row.number)]
    assert not any(title.startswith("where the time of") for title in titles)
    assert "what if one knob were a step away" in titles

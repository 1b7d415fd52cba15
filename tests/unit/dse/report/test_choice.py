"""The short list, marks of memory, the view of the picture and the units that people say."""

import html
import json
from math import log
from pathlib import Path

import pytest
import yaml

import dse
from dse.cli.showing import show_result
from dse.evaluate import build_evaluator
from dse.objectives import OBJECTIVES
from dse.report.amounts import show_objective
from dse.report.choice import choice_lines, short_list
from dse.report.front_table import front_table
from dse.report.page.data import page_data
from dse.report.page.page import report_page
from dse.results.equals import costs_alike
from dse.results.recommended import MOST, with_room
from dse.results.trims import LOSS
from dse.study.compile import load_study_file
from dse.study.memory_marks import memory_mark
from simcore import Cause, format_quantity

BIG = "p2_llama3_405b_16k_h100.yaml"


@pytest.fixture
def result(result_of_llm_gpt: dse.StudyResult) -> dse.StudyResult:
    return result_of_llm_gpt


def test_each_recommended_design_says_what_it_waits_for(
    result: dse.StudyResult, capsys: pytest.CaptureFixture[str]
) -> None:
    told = result.summary["reasons"]
    assert {int(number) for number in told} == {one.trial for one in result.recommended}
    evaluator = build_evaluator(result.study.judged_at("congestion_unaware").evaluator_input)
    show_result(result)
    shown, page = capsys.readouterr().out, report_page(result)
    for number, text in told.items():
        row = next(row for row in result.discernment.rows if row.number == int(number))
        (whole,) = evaluator.attributions(row.design)
        computing = [ns for one, ns in whole.parts_ns.items() if one.cause is Cause.COMPUTE]
        assert sum(computing) > whole.time_ns / 2
        assert text.startswith(f"bound by compute, {format_quantity(sum(computing) * 1e-9, 's')}")
        assert format_quantity(whole.time_ns * 1e-9, "s") in text
        assert f"trial {number} is {text}" in shown
        assert html.escape(f"trial {number} is {text}") in page


def test_the_short_list_holds_few_designs_of_the_front_each_with_reasons(
    result: dse.StudyResult,
) -> None:
    front = {result.rows[at].number for at in result.front}
    numbers = [one.trial for one in result.recommended]
    assert 0 < len(numbers) <= MOST
    assert len(set(numbers)) == len(numbers)
    assert set(numbers) <= front
    assert all(one.reasons for one in result.recommended)


def test_the_best_value_of_each_objective_is_on_the_short_list(result: dse.StudyResult) -> None:
    values = {result.rows[at].number: result.rows[at].evaluation.objectives for at in result.front}
    listed = {one.trial for one in result.recommended}
    for name in result.study.goals.objectives:
        best = min(own[name] for own in values.values())
        assert any(values[number][name] == best for number in listed)


def test_as_good_as_can_be_told_is_cheaper_and_within_the_error_of_pairs(
    result: dse.StudyResult,
) -> None:
    values = {result.rows[at].number: result.rows[at].evaluation.objectives for at in result.front}
    first = result.recommended[0]
    fastest = min(values, key=lambda number: values[number]["iteration_time"])
    if "as far as can be told" not in first.reasons[0]:
        pytest.skip("the fastest is the cheapest of its equals")
    here, there = values[first.trial], values[fastest]
    error = result.discernment.tolerance(0, 1)
    assert log(here["iteration_time"] / there["iteration_time"]) <= error
    assert here["capital_cost"] < there["capital_cost"]


def test_files_and_screens_tell_the_same_choice(
    result: dse.StudyResult, capsys: pytest.CaptureFixture[str]
) -> None:
    assert result.folder is not None
    stored = json.loads((result.folder / "summary.json").read_text())
    assert [one["trial"] for one in stored["recommended"]] == [
        one.trial for one in result.recommended
    ]
    assert stored["equals"] == [list(group.trials) for group in result.equals]
    again = dse.load_study(result.folder)
    assert again.recommended == result.recommended
    assert again.trims == result.trims
    show_result(again)
    shown, page = capsys.readouterr().out, report_page(again)
    for line in choice_lines(again):
        assert line in shown
    assert "Recommended" in page
    assert [row[0] for row in short_list(again).rows] == [
        str(one.trial) for one in again.recommended
    ]


def test_a_trim_is_one_knob_away_for_next_to_no_time(result: dse.StudyResult) -> None:
    rows = {row.number: row for row in result.rows}
    for trim in result.trims:
        one, two = rows[trim.trial].design, rows[trim.trimmed].design
        assert [name for name in one if one[name] != two[name]] == [trim.knob]
        assert trim.loss < LOSS
        assert trim.gain > 0


def without_memory_rule(folder: Path) -> Path:
    """``BIG`` without its own rule of memory, so that designs which need too much are found."""
    study = load_study_file(BIG)
    data = yaml.safe_load(Path(study.folder, BIG).read_text())
    rules = data["space"]["require"]
    data["space"]["require"] = [rule for rule in rules if "activation_bytes" not in rule]
    file = folder / BIG
    file.write_text(yaml.safe_dump(data, sort_keys=False))
    return file


def test_designs_over_memory_are_marked_and_never_recommended_beside_others(
    tmp_path: Path,
) -> None:
    study = without_memory_rule(tmp_path)
    result = dse.run_study(study, trials=40, executor="serial", fidelity=["phases_together"])
    front = [result.rows[at] for at in result.front]
    marks = [memory_mark(row.evaluation.metrics) for row in front]
    fills = [row.evaluation.metrics["memory_fill"] for row in front]
    assert min(fills) <= 1.0 < max(fills)
    assert all(("too small" in mark) for mark, fill in zip(marks, fills, strict=True) if fill > 1)
    table = front_table(result)
    column = table.columns.index("memory")
    on_front = table.rows[: len(front)]
    assert [row[column] for row in on_front] == [mark or "suffices" for mark in marks]
    judged = result.study.judged_at(front[0].evaluation.fidelity)
    told = page_data(result, build_evaluator(judged.evaluator_input))["marks"]
    assert all(
        told.get(str(row.number), "") == mark for row, mark in zip(front, marks, strict=True)
    )
    roomy = {front[at].number for at in with_room(front)}
    assert {one.trial for one in result.recommended} <= roomy


def test_a_study_shows_itself_in_one_line_and_as_a_table(result: dse.StudyResult) -> None:
    assert repr(result).count("\n") == 0
    assert f"{len(result.front)} on the front" in repr(result)
    shown = result._repr_html_()
    assert shown.count("<tr") == len(result.front) + 1
    assert "objectives.iteration_time" in shown


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("usd_per_token", 7.468e-6, "7.468 USD per million tokens"),
        ("carbon_per_token", 2e-6, "2 kg per million tokens"),
        ("energy_per_token", 0.5, "0.5 MJ per million tokens"),
        ("iteration_time", 1.5, "1.5 s"),
    ],
)
def test_amounts_are_told_in_the_units_that_people_say(name: str, value: float, shown: str) -> None:
    assert show_objective(name, value) == shown


def test_a_band_of_prices_leaves_open_what_its_shared_parts_do_not() -> None:
    """Servers of the same price in both; 10 % of doubt in all prices."""
    cost = OBJECTIVES["capital_cost"]

    def machine(servers: float, cables: float, switches: float) -> dict[str, float]:
        total = servers + cables + switches
        return {
            "capital_cost_usd": total,
            "capital_cost_low_usd": 0.9 * total,
            "capital_cost_high_usd": 1.1 * total,
            "capital_servers_usd": servers,
            "capital_cables_usd": cables,
            "capital_switches_usd": switches,
        }

    base = machine(1000, 10, 10)
    assert not costs_alike(cost, base, machine(1000, 11, 10))
    assert costs_alike(cost, base, machine(1000, 20, 0.5))
    assert not costs_alike(cost, {"capital_cost_usd": 1.0}, {"capital_cost_usd": 1.0001})

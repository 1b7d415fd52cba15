"""The page's data: what is held, what is left out, breakdowns that add up, texts that are safe."""

import json
import random
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

import dse
from dse.evaluate import build_evaluator
from dse.objectives import OBJECTIVES
from dse.report.amounts import said_unit, short_names
from dse.report.front_table import front_table
from dse.report.page import chosen as chosen_module
from dse.report.page.axes import axes_of
from dse.report.page.chosen import FRONT, chosen_rows
from dse.report.page.data import as_script, page_data
from dse.report.page.importance import importance
from dse.report.page.page import page_parts, report_page
from dse.report.page.texts import text_sections
from simcore import shipped_folder


@pytest.fixture
def result(result_of_llm_gpt: dse.StudyResult) -> dse.StudyResult:
    return result_of_llm_gpt


@pytest.fixture(scope="module")
def service() -> dse.StudyResult:
    return dse.run_study("serve_llama3_70b.yaml", trials=16, settle=0, executor="serial")


def test_of_many_designs_the_front_the_best_and_a_sample_stay_and_that_is_said(
    result: dse.StudyResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = chosen_rows(result)
    monkeypatch.setattr(chosen_module, "MOST", 20)
    found = chosen_rows(result)
    assert len(found.rows) == 20 + 1  # and the baseline
    assert found.kinds.count(FRONT) == len(result.front)
    (told, *_) = found.told
    assert f"{20 - len(result.front)} of {len(whole.rows) - 1 - len(result.front)}" in told


def test_of_many_designs_half_are_the_best_and_the_rest_a_sample_of_all(
    result: dse.StudyResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    front = [result.rows[at] for at in result.front]
    base = next(row for row in result.rows if row.is_feasible)
    made = []
    for place in range(100):
        goals = dict.fromkeys(base.evaluation.objectives, 1e6 + (place * 37) % 100)
        own = replace(base.evaluation, objectives=goals)
        made.append(replace(base, number=1000 + place, evaluation=own))
    room = len(front) + 20
    monkeypatch.setattr(chosen_module, "MOST", room)
    monkeypatch.setattr(chosen_module, "_coarser", lambda result, known: [])
    monkeypatch.setattr(dse.StudyResult, "compared", [*front, *made])
    found = chosen_rows(result)
    kept = [row.number - 1000 for row in found.rows if row.number >= 1000]
    assert [row.number for row in found.rows[: len(front)]] == [row.number for row in front]
    assert kept == sorted(kept)
    assert len(kept) == 20
    best = {place for place in range(100) if (place * 37) % 100 < 10}
    assert best <= set(kept)
    rest = [place for place in kept if place not in best]
    assert rest[0] < 5
    assert rest[-1] > 94
    assert max(b - a for a, b in pairwise(rest)) < 15


def test_courses_kinds_and_bands_are_those_of_the_rows(result: dse.StudyResult) -> None:
    judged = result.study.judged_at(result.rows[result.front[0]].evaluation.fidelity)
    found = page_data(result, build_evaluator(judged.evaluator_input))
    front = [result.rows[at] for at in result.front]
    assert found["trials"][: len(front)] == [row.number for row in front]
    assert found["kinds"][: len(front)] == [FRONT] * len(front)
    assert FRONT not in found["kinds"][len(front) :]
    assert found["recommended"] == [one.trial for one in result.recommended]
    rows = sorted((r for r in result.compared if r.is_feasible), key=lambda row: row.number)
    goals = result.study.goals.objectives.items()
    for (name, sense), axis, course in zip(
        goals, found["axes"], found["course"]["best"], strict=False
    ):
        sign, points, best = 1 if sense == "minimise" else -1, [], float("inf")
        for row in rows:
            value = row.evaluation.objectives[name]
            if sign * value < best:
                best = sign * value
                points.append((row.number + 1, value))
        factor = said_unit(OBJECTIVES[name].unit)[0]
        told = [number for number, _ in points]
        assert [number for number, _ in course["points"]] == told
        values = [value for _, value in course["points"]]
        assert values == pytest.approx([factor * value for _, value in points], rel=1e-4)
        own = [factor * row.evaluation.objectives[name] for row in front]
        assert axis["values"][: len(front)] == pytest.approx(own, rel=1e-5)
    for name, ends in found["bands"].items():
        assert len(ends) == len(front) + (result.baseline is not None)
        values = next((axis["values"] for axis in found["axes"] if axis["name"] == name), [])
        own = [*values[: len(front)], *values[-1:]]  # the baseline is the last one
        assert all(low < value < high for (low, high), value in zip(ends, own, strict=False))
    assert found["bands"]


def test_times_of_a_design_add_up_to_its_iteration(result: dse.StudyResult) -> None:
    judged = result.study.judged_at(result.rows[result.front[0]].evaluation.fidelity)
    found = page_data(result, build_evaluator(judged.evaluator_input))
    parts = {one["title"]: one for one in found["breakdowns"]}
    rows = {result.rows[at].number: result.rows[at] for at in result.front}
    totals = {"time of one iteration": "iteration_time_s", "capital cost": "capital_cost_usd"}
    totals["memory of the fullest accelerator"] = "footprint_bytes"
    for title, metric in totals.items():
        for at, number in enumerate(parts[title]["trials"]):
            whole = sum(part["values"][at] for part in parts[title]["parts"])
            assert whole == pytest.approx(rows[number].evaluation.metrics[metric], rel=1e-3)


def test_what_binds_adds_up_to_the_time_of_each_design(result: dse.StudyResult) -> None:
    rows = {row.number: row for row in result.rows}
    assert result.summary["time_parts"]
    for number, found in result.summary["time_parts"].items():
        whole = sum(time_s for _, time_s in found["parts_s"])
        time_s = rows[int(number)].evaluation.metrics["iteration_time_s"]
        assert whole == pytest.approx(time_s, rel=1e-6)
        assert found["parts_s"][0][0] in text_sections(result)["bound"]


def test_pools_are_named_in_columns_and_axes(service: dse.StudyResult) -> None:
    names = ["prefill.plan.pp", "decode.plan.micro_batch", "plan.tp", "decode.batch"]
    assert list(short_names(names).values()) == [*names[:2], "tp", names[3]]
    headings = [column for column in front_table(service).columns if "plan" in column]
    assert all(heading.split(".")[0] in ("prefill", "decode") for heading in headings)
    labels = [axis.label for axis in axes_of(service, chosen_rows(service).rows)]
    assert any(label.startswith("decode.") for label in labels)


def test_a_token_costs_usd_per_million(service: dse.StudyResult) -> None:
    axis = next(a for a in axes_of(service, chosen_rows(service).rows) if a.name == "usd_per_token")
    assert axis.unit == "USD per million tokens"
    first = service.rows[service.front[0]].evaluation.objectives["usd_per_token"]
    assert axis.values[0] == pytest.approx(1e6 * first)


def test_rules_that_rule_designs_out_stand_with_the_nearest_miss(service: dse.StudyResult) -> None:
    told = text_sections(service)["infeasible"]
    assert f"of {len(service.rows)}; nearest: trial" in told


def test_the_knob_that_decides_alone_is_the_most_important(result: dse.StudyResult) -> None:
    knob, rng = "plan.micro_batch", random.Random(0)
    rows = [row for row in result.rows if row.is_feasible and row.evaluation.fidelity]
    base = [row for row in rows if row.evaluation.fidelity == result.study.levels[0]]
    choices = result.study.space.parameters[knob].choices
    made = []
    for number in range(300):
        row = base[number % len(base)]
        value = choices[rng.randrange(len(choices))]
        goals = {name: float(1 + choices.index(value)) for name in row.evaluation.objectives}
        own = replace(row.evaluation, objectives=goals)
        made.append(replace(row, number=number, design={**row.design, knob: value}, evaluation=own))
    for found in importance(replace(result, rows=made, front=[])):
        assert found["names"][0] == knob
        assert sum(found["shares"]) <= 1 + 1e-6


def test_texts_of_a_study_are_no_markup(tmp_path: Path) -> None:
    study = yaml.safe_load((shipped_folder("studies") / "p5_vit22b_64.yaml").read_text())
    study["question"] = "</script><script>alert(1)</script> & <b>?"
    file = tmp_path / "study.yaml"
    file.write_text(yaml.safe_dump(study))
    result = dse.run_study(file, trials=5, executor="serial")
    assert "<script>alert" not in report_page(result)
    assert json.loads(as_script({"a": "</script>"}))["a"] == "</script>"
    assert "<" not in as_script(page_parts(result)["data"])


def test_the_page_shows_every_stage_of_the_winner(result: dse.StudyResult) -> None:
    shown = page_parts(result)["sections"]["pipeline"]
    (winner, *_) = result.recommended
    stages = result.rows[winner.trial].design["plan.pp"]
    assert shown.count('class="timeline"') == 1
    assert f"on {stages} pipeline stage" in shown
    assert "critical path" in shown


def test_the_page_tells_how_to_have_the_study_again(result: dse.StudyResult) -> None:
    told = page_parts(result)["sections"]["origin"]
    assert "dse study study.yaml" in told
    assert f"seed {result.study.file.seed}" in told
    assert "SHA-256" in told
    assert "numpy" in told

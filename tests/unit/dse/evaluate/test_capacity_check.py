"""Designs whose links would carry more than they can, and what is noted of designs."""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_study import STUDY, exact_front, searched

import dse
from dse.evaluate import build_evaluator
from dse.evaluate.base import Evaluation, evaluate
from dse.evaluate.simulator import SimulatorEvaluator
from dse.proof.designs import KnownDesigns
from dse.report.explain import explain_trial
from dse.report.page.page import report_page
from dse.results.notes import note_lines, notes_summary
from dse.results.result import load_study
from dse.run.runner import Runner
from dse.study.compile import Study, compile_study
from dse.study.trials import Trial
from simcore import ConfigError

CHECK = "links_within_capacity"
SERVICE = "serve_llama3_70b.yaml"


def crowded(**keys: Any) -> dict[str, Any]:
    """Experts whose tokens go to all others at once, over one link to a switch."""
    data = copy.deepcopy(STUDY)
    data["run"] = {
        "workload": {"model": "gpt3_175b_4layers", "sequence": 512, "global_batch": 32},
        "platform": {
            "npu": "a100_80",
            "dimensions": [
                {"topology": "switch", "npus": 16, "bandwidth": "1 GB/s", "latency": "700 ns"}
            ],
        },
        "plan": {"dp": 16, "zero_stage": 1},
    }
    data["space"] = {
        "axes": {
            "system.all_reduce": {"choices": ["ring", "direct"]},
            "system.reduce_scatter": {"choices": ["ring", "direct"]},
            "system.all_gather": {"choices": ["ring", "direct"]},
            "platform.dimensions[0].bandwidth": {"ladder": ["1 GB/s", "50 GB/s"]},
        }
    }
    return {**data, "constraints": [], **keys}


def outcomes(study: Study) -> list[Evaluation]:
    evaluator = build_evaluator(study.evaluator_input)
    return [evaluate(evaluator, study.goals, design) for design in study.space.designs()]


def test_links_are_checked_in_a_study_that_names_no_constraint() -> None:
    found = outcomes(compile_study(crowded()))
    over = [one for one in found if one.metrics["link_load"] > 1]
    assert over
    assert len(over) < len(found)
    for one in found:
        assert one.state == ("infeasible" if one in over else "complete")
        assert one.constraints[CHECK] == pytest.approx(one.metrics["link_load"] - 1)


def test_no_feasible_design_is_faster_than_its_bytes_pass_its_links() -> None:
    study = compile_study(crowded())
    evaluator = SimulatorEvaluator(study.evaluator_input)
    for design in study.space.designs():
        found = evaluate(evaluator, study.goals, design)
        run = evaluator.run(design)
        result, rate = evaluator.simulate(run), run.platform.dimensions[0].bandwidth_bytes_per_s
        is_possible = result.iteration_time_s >= result.sent_bytes[0] / rate
        assert is_possible == (found.state == "complete")


def test_a_design_over_capacity_is_told_its_dimension_the_factor_and_the_limit() -> None:
    over = next(one for one in outcomes(compile_study(crowded())) if one.state == "infeasible")
    load = over.metrics["link_load"]
    assert over.reason == (
        f"{CHECK} is exceeded by {load - 1:.1%}: dimension 0 would carry {load:.3g} times what "
        "its links can in the time"
    )
    assert any(note.startswith("dimension 0 carried") for note in over.notes)


def test_screens_and_proofs_bound_a_time_by_the_bytes_where_links_are_checked() -> None:
    checked, free = compile_study(crowded()), compile_study(crowded(unchecked=[CHECK]))
    rows = np.array(list(np.ndindex(*[block.rows(1) for block in checked.space.blocks])), np.int32)
    bound_s, plain_s = (KnownDesigns(study, 1).times_s(rows) for study in (checked, free))
    evaluator = build_evaluator(free.evaluator_input)
    found = [evaluator.metrics(free.space.design(1, row.tolist())) for row in rows]
    time_s = np.array([metrics["iteration_time_s"] for metrics in found])
    load = np.array([metrics["link_load"] for metrics in found])
    assert (plain_s <= time_s).all()
    assert (bound_s <= time_s * np.maximum(load, 1)).all()
    assert (bound_s > time_s)[load > 1.1].all()


def test_a_gap_is_proven_among_the_designs_within_capacity() -> None:
    data = crowded()
    result = searched(data, gap=0, trials=40, window=1)
    front = {tuple(result.rows[i].evaluation.objectives.values()) for i in result.front}
    assert result.summary["gap_closed"]
    assert front == exact_front(compile_study(data))


def test_the_check_can_be_switched_off_by_its_name() -> None:
    found = outcomes(compile_study(crowded(unchecked=[CHECK])))
    assert {one.state for one in found} == {"complete"}
    assert any(one.metrics["link_load"] > 1 for one in found)
    assert all(CHECK not in one.constraints for one in found)


def test_naming_the_check_changes_nothing() -> None:
    plain, named = compile_study(crowded()), compile_study(crowded(constraints=[CHECK]))
    assert plain.goals == named.goals


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        ({"unchecked": ["fits_in_memory"]}, "unchecked"),
        ({"unchecked": [CHECK], "constraints": [CHECK]}, "unchecked"),
        ({"evaluator": "model0", "constraints": [CHECK]}, "constraints"),
    ],
)
def test_what_cannot_be_checked_or_switched_off_is_told(keys: dict[str, Any], place: str) -> None:
    with pytest.raises(ConfigError, match=place):
        compile_study(crowded(**keys))


def test_a_limit_holds_in_every_scenario() -> None:
    scenarios = [{"name": "whole"}, {"name": "worn", "bandwidth": "10%"}]
    found = outcomes(compile_study(crowded(scenarios=scenarios)))
    for one in found:
        loads = [one.metrics[f"link_load@{name}"] for name in ("whole", "worn")]
        assert (one.state == "infeasible") == (max(loads) > 1)
    noted = [note for one in found for note in one.notes]
    assert any(note.startswith("in worn: dimension 0 carried") for note in noted)


def test_services_are_checked_too() -> None:
    study = dse.check_study(SERVICE)
    assert CHECK in [limit.name for limit in study.goals.limits]
    evaluator = build_evaluator(study.evaluator_input)
    design = next(filter(evaluator.admits, study.space.designs()))
    assert 0 < evaluator.metrics(design)["link_load"] < 1


def test_notes_reach_rows_front_summary_report_and_explanation(tmp_path: Path) -> None:
    study = compile_study(crowded(unchecked=[CHECK]))
    result = Runner(study, out=tmp_path / "o", resume=False, watcher=None).enumerate()
    noted = [row for row in result.rows if row.evaluation.notes]
    assert noted
    assert len(noted) < len(result.rows)
    again = load_study(tmp_path / "o")
    for one, other in zip(result.rows, again.rows, strict=True):
        assert one.evaluation.notes == other.evaluation.notes
    frame = again.trials.set_index("number")
    for row in again.rows:
        assert frame.notes[row.number] == "; ".join(row.evaluation.notes)
    assert "notes" in (tmp_path / "o" / "pareto.csv").read_text().splitlines()[0]
    front = [row for row in noted if row.number in {again.rows[i].number for i in again.front}]
    summary = json.loads((tmp_path / "o" / "summary.json").read_text())
    assert summary["notes"][0]["trials"] == [row.number for row in front]
    assert "carried" in report_page(again)
    sections = {section.title: section for section in explain_trial(again, noted[0].number)}
    assert sections["notes"].lines[0][0] == noted[0].evaluation.notes[0]


def test_notes_that_differ_in_numbers_are_told_once() -> None:
    rows = [
        Trial(
            number=number,
            design={},
            evaluation=Evaluation(state="complete", notes=(f"it took {number}.5 s", "beware")[:n]),
        )
        for number, n in ((3, 1), (7, 2))
    ]
    summary = notes_summary(rows)
    assert summary == {
        "notes": [
            {"note": "it took 3.5 s", "trials": [3, 7]},
            {"note": "beware", "trials": [7]},
        ]
    }
    assert note_lines({**summary, "front_size": 2})[1] == (
        "note on 1 of 2 designs (here trial 7): beware"
    )
    assert notes_summary([]) == {}
    assert note_lines({}) == []

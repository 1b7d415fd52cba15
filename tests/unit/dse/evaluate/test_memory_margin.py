"""Studies that leave part of the memory free, and notes on designs that are short of it."""

import copy
from typing import Any

import pytest
from small_study import STUDY

from dse.evaluate import build_evaluator
from dse.evaluate.base import Evaluation, evaluate
from dse.study.compile import compile_study
from simcore import ConfigError

MEMORY, ROOM = "fits_in_memory", "memory_suffices"


def study_with(held_gb: float = 80.0, **keys: Any) -> dict[str, Any]:
    data = copy.deepcopy(STUDY)
    data["run"]["plan"] = {"tp": 4, "dp": 4}
    data["space"] = {
        "axes": {
            "platform.npu.memory": {
                "ladder": [f"{held_gb * step / 20} GB" for step in range(1, 21)]
            }
        }
    }
    return {**data, "constraints": [MEMORY], **keys}


def outcomes(data: dict[str, Any]) -> list[Evaluation]:
    study = compile_study(data)
    evaluator = build_evaluator(study.evaluator_input)
    return [evaluate(evaluator, study.goals, design) for design in study.space.designs()]


def test_designs_with_too_little_memory_left_are_refused() -> None:
    plain, strict = outcomes(study_with()), outcomes(study_with(memory_margin="25%"))
    fitting = [one for one in plain if one.state == "complete"]
    roomy = [one for one in strict if one.state == "complete"]
    assert 0 < len(roomy) < len(fitting) < len(plain)
    assert all(one.metrics["memory_fill"] <= 1.0 for one in fitting)
    assert all(one.metrics["memory_fill"] <= 0.75 for one in roomy)
    found = [one.metrics["iteration_time_s"] for one in roomy]
    assert found == [one.metrics["iteration_time_s"] for one in fitting[-len(roomy) :]]
    refused = next(one for one in reversed(strict) if one.state == "infeasible")
    assert "25.0% of it to be left" in refused.reason


def test_designs_that_are_short_of_memory_carry_a_note() -> None:
    found = [one for one in outcomes(study_with()) if one.state == "complete"]
    short = [one for one in found if any(note.startswith("memory is ") for note in one.notes)]
    fills = [one.metrics["memory_fill"] for one in found]
    assert 0 < len(short) < len(found)
    assert sorted(one.metrics["memory_fill"] for one in short) == sorted(fills)[-len(short) :]


def test_without_the_constraint_designs_are_marked_and_none_is_refused() -> None:
    found = outcomes(study_with(constraints=[]))
    assert {one.state for one in found} == {"complete"}
    over = [one for one in found if one.metrics["memory_fill"] > 1.0]
    assert over
    assert all(any("tensors alone take" in note for note in one.notes) for one in over)
    with pytest.raises(ConfigError, match=r"memory_margin: needs constraints: \[fits_in_memory\]"):
        compile_study(study_with(constraints=[], memory_margin="10%"))


def test_what_comes_on_top_of_tensors_is_refused_where_it_is_asked_for() -> None:
    plain, roomy = outcomes(study_with()), outcomes(study_with(constraints=[MEMORY, ROOM]))
    pairs = [(one, two) for one, two in zip(plain, roomy, strict=True) if one.state == "complete"]
    tight = [two for one, two in pairs if one.metrics["memory_fill_highest"] > 1.0]
    assert tight
    assert {two.state for two in tight} == {"infeasible"}
    assert "fragments" in tight[-1].reason
    rest = [(one, two) for one, two in pairs if one.metrics["memory_fill_highest"] <= 1.0]
    assert rest
    assert all(two.state == "complete" and two.metrics == one.metrics for one, two in rest)


def test_designs_short_of_room_are_not_proposed() -> None:
    study = compile_study(study_with(constraints=[MEMORY, ROOM]))
    evaluator = build_evaluator(study.evaluator_input)
    for design in study.space.designs():
        found = evaluate(evaluator, study.goals, design)
        assert evaluator.admits(design) == (found.state == "complete")


@pytest.mark.parametrize("given", ["-1%", "100%", "much"])
def test_a_margin_is_a_part_below_all(given: str) -> None:
    with pytest.raises(ConfigError, match="memory_margin"):
        compile_study(study_with(memory_margin=given))

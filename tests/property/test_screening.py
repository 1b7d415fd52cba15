"""Designs that a study leaves out are worse than others, or over a limit; none is missed."""

from typing import Any

import numpy as np
import pytest
from small_study import STUDY, exact_front, searched

from dse import StudyResult
from dse.evaluate import build_evaluator
from dse.evaluate.base import evaluate
from dse.proof.designs import why_blind
from dse.proof.screening import StudyScreen
from dse.study.compile import compile_study
from dse.study.trials import Trial


@pytest.fixture(scope="module")
def front() -> set[tuple[float, ...]]:
    return exact_front(compile_study(STUDY))


@pytest.fixture(scope="module")
def drawn() -> StudyResult:
    """The study with designs drawn at random, and the screen in front of them."""
    return searched(STUDY, trials=300)


@pytest.mark.parametrize("seed", range(3))
def test_no_design_of_the_front_is_left_out(front: set[tuple[float, ...]], seed: int) -> None:
    study = compile_study(STUDY)
    result = searched({**STUDY, "seed": seed}, sampler="exhaustive", trials=10_000)
    found = {tuple(result.rows[i].evaluation.objectives.values()) for i in result.front}
    assert found == front
    assert len(result.rows) <= study.space.counts.searched
    assert result.summary["pruned"] > 0.2 * len(result.rows)


def test_what_is_left_out_is_worse_than_the_trial_that_is_named(drawn: StudyResult) -> None:
    result = drawn
    evaluator = build_evaluator(result.study.evaluator_input)
    pruned = [row for row in result.rows if row.state == "pruned" and row.repeats is None]
    assert len(pruned) > 20
    for row in pruned:
        truth = evaluate(evaluator, result.study.goals, row.design)
        better = result.rows[int(row.evaluation.reason.split()[1])]
        assert better.number <= row.number - result.study.file.search.window
        for name, value in better.evaluation.objectives.items():
            assert value <= row.evaluation.objectives[name]
            if truth.state == "complete":
                assert row.evaluation.objectives[name] <= truth.objectives[name]
        assert row.evaluation.fidelity == "bound"


def test_a_pruned_design_is_told_and_counted_but_never_measured(drawn: StudyResult) -> None:
    result = drawn
    rows = [row for row in result.rows if row.repeats is None]
    states = [row.state for row in rows]
    assert result.summary["pruned"] == states.count("pruned")
    over = [row for row in rows if "links_within_capacity is" in row.evaluation.reason]
    assert result.summary["evaluated"] == states.count("complete") + len(over)
    assert all(result.rows[i].state == "complete" for i in result.front)


def test_a_machine_over_budget_is_never_simulated(front: set[tuple[float, ...]]) -> None:
    budget = f"{np.median([cost for _, cost in front]):.0f} USD"
    limits = ["fits_in_memory", {"objective": "capital_cost", "at_most": budget}]
    result = searched({**STUDY, "constraints": limits}, sampler="exhaustive", trials=10_000)
    study = result.study
    over = [row for row in result.rows if "capital_cost_at_most" in row.evaluation.reason]
    assert over
    evaluator = build_evaluator(study.evaluator_input)
    for row in over:
        truth = evaluate(evaluator, study.goals, row.design)
        assert row.evaluation.fidelity == "bound"
        assert not row.evaluation.objectives
        assert truth.state == "infeasible"
    found = {tuple(result.rows[i].evaluation.objectives.values()) for i in result.front}
    assert found == exact_front(study)


def test_a_design_too_slow_at_its_bound_is_not_simulated_and_no_other_is_lost(
    front: set[tuple[float, ...]],
) -> None:
    limits = [{"objective": "iteration_time", "at_most": f"{1.5 * min(front)[0]} s"}]
    result = searched({**STUDY, "constraints": limits}, sampler="exhaustive", trials=10_000)
    slow = [row for row in result.rows if "iteration_time_at_most" in row.evaluation.reason]
    assert any(row.evaluation.fidelity == "bound" for row in slow)
    found = {tuple(result.rows[i].evaluation.objectives.values()) for i in result.front}
    assert found == exact_front(result.study)


def test_two_workers_leave_out_what_none_leaves_out() -> None:
    alone = searched(STUDY, trials=120)
    execution = {"executor": "local", "workers": 2}
    both = searched({**STUDY, "execution": execution}, trials=120)
    kept = [(row.number, row.design, row.state, row.evaluation.reason) for row in alone.rows]
    assert kept == [(r.number, r.design, r.state, r.evaluation.reason) for r in both.rows]
    assert alone.summary["pruned"] > 0


def test_equal_values_are_not_better() -> None:
    study = compile_study(STUDY)
    evaluator = build_evaluator(study.evaluator_input)
    screen = StudyScreen(study, evaluator)
    design = next(study.space.designs())
    outcome = evaluate(evaluator, study.goals, design)
    screen.learn(Trial(number=0, design=design, evaluation=outcome))
    assert screen.verdict(design) is None


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"objectives": {"mfu": "maximise"}}, "time and cost that are minimised"),
        ({"search": {"screening": False}}, "screening is false"),
    ],
)
def test_where_nothing_is_known_nothing_is_left_out(change: dict[str, Any], why: str) -> None:
    data = {**STUDY, **change}
    assert why in why_blind(compile_study(data))
    result = searched(data, trials=60)
    assert result.summary["pruned"] == 0


SCENARIOS: list[dict[str, Any]] = [
    {"name": "plain"},
    {"name": "longer", "run": {"workload": {"sequence": 1024}}, "weight": 0.5},
    {"name": "busy", "bandwidth": "50%"},
]


@pytest.mark.parametrize("aggregate", ["sum", "worst", "60%"])
def test_no_design_of_the_front_of_several_scenarios_is_left_out(aggregate: str) -> None:
    few = {**STUDY["space"], "require": [*STUDY["space"]["require"], "plan.tp == 4"]}
    data = {**STUDY, "space": few, "scenarios": SCENARIOS, "aggregate": aggregate}
    study = compile_study(data)
    assert why_blind(study) == ""
    result = searched(data, sampler="exhaustive", trials=10_000)
    found = {tuple(result.rows[i].evaluation.objectives.values()) for i in result.front}
    assert found == exact_front(study)
    pruned = [row for row in result.rows if row.state == "pruned"]
    assert len(pruned) > 0.15 * len(result.rows)
    evaluator = build_evaluator(study.evaluator_input)
    for row in pruned[::5]:
        truth = evaluate(evaluator, study.goals, row.design)
        for name, value in truth.objectives.items():
            assert row.evaluation.objectives[name] <= value


def test_a_limit_holds_in_every_scenario_before_anything_is_simulated() -> None:
    limits = ["fits_in_memory", {"objective": "iteration_time", "at_most": "1 s"}]
    data = {**STUDY, "scenarios": SCENARIOS, "constraints": limits}
    result = searched(data, trials=150)
    evaluator = build_evaluator(result.study.evaluator_input)
    slow = [row for row in result.rows if row.evaluation.fidelity == "bound" and not row.repeats]
    slow = [row for row in slow if "iteration_time_at_most" in row.evaluation.reason]
    assert slow
    for row in slow[::4]:
        assert evaluate(evaluator, result.study.goals, row.design).state == "infeasible"

"""Fronts that are settled: at the level that decides, no step from them is a bargain."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from several_levels import COARSE, FINE, SEARCH, SEVERAL, comparable, run, study_of

import dse
from dse.evaluate import build_evaluator
from dse.evaluate.base import evaluate
from dse.fidelity.compare import refined_rows, searched_rows
from dse.fidelity.promote import promotion
from dse.fidelity.told import fidelity_lines
from dse.rank.bargain import beaten_at_a_bargain
from dse.results.result import StudyResult
from dse.run.runner import Runner
from dse.run.watcher import Unwatched
from dse.space import Design, design_key
from dse.study.compile import compile_study
from dse.study.trials import Trial

TRIALS = 60
SETTLED = {**SEARCH, "trials": TRIALS, "promote": 8, "controls": 2, "settle": 300}


@pytest.fixture(scope="module")
def settled() -> StudyResult:
    return run(compile_study({**SEVERAL, "search": SETTLED}))


def steps(result: StudyResult, design: Design) -> list[Design]:
    """All valid designs that differ in one knob by one place of its ladder."""
    space, found = result.study.space, []
    valid = {design_key(one) for one in space.designs()}
    for name, parameter in space.parameters.items():
        value = design.get(name)
        if value is None or not parameter.is_ordered:
            continue
        at = parameter.choices.index(value)
        for place in (at - 1, at + 1):
            if 0 <= place < len(parameter.choices):
                step = {**design, name: parameter.choices[place]}
                found += [step] if design_key(step) in valid else []
    return found


def bargains(result: StudyResult) -> list[tuple[int, Design]]:
    """Steps from the front that are worth it, each evaluated by itself."""
    study = result.study
    evaluator, left = build_evaluator(study.judged_at(FINE).evaluator_input), []
    for row in (result.rows[place] for place in result.front):
        here = np.array([list(row.evaluation.objectives.values())])
        for design in steps(result, row.design):
            found = evaluate(evaluator, study.goals, design)
            if found.state == "complete":
                there = np.array([list(found.objectives.values())])
                left += [(row.number, design)] if beaten_at_a_bargain(here, there)[0] else []
    return left


def numbers_settled(result: StudyResult) -> list[int]:
    chosen = promotion(result.study, searched_rows(result.study, result.rows))
    promoted = {row.number for row in chosen.rows}
    return [row.number for row in refined_rows(result.rows, FINE) if row.number not in promoted]


def test_no_step_from_the_front_is_a_bargain(settled: StudyResult) -> None:
    unsettled = run(study_of(**{**SETTLED, "settle": 0}))
    assert bargains(unsettled)
    assert not bargains(settled)
    told = settled.summary["fidelity"]
    assert told["settled"] == len(numbers_settled(settled)) > told["settled_on_front"] > 0
    assert any("one step from the front" in line for line in fidelity_lines(settled.summary))
    assert settled.summary["proposals"] == TRIALS


def test_a_step_keeps_its_number_if_it_was_proposed_and_gets_a_new_one_if_not(
    settled: StudyResult,
) -> None:
    proposed = {row.number: row.design for row in searched_rows(settled.study, settled.rows)}
    judged = {row.number: row.design for row in refined_rows(settled.rows, FINE)}
    new = [number for number in judged if number >= TRIALS]
    assert new == list(range(TRIALS, TRIALS + len(new)))
    assert all(judged[number] == proposed[number] for number in judged if number < TRIALS)
    known = {design_key(design) for design in proposed.values()}
    assert not known & {design_key(judged[number]) for number in new}


class StoppingAt(Unwatched):
    """Ctrl-C once so many designs are judged at the finest level."""

    def __init__(self, rows: int) -> None:
        self._left = rows

    def folded(self, trial: Trial, duplicates: int) -> None:
        self._left -= trial.evaluation.fidelity == FINE

    def stopping(self) -> bool:
        return self._left <= 0


def test_settling_goes_on_where_it_was_interrupted_with_any_number_of_workers(
    settled: StudyResult, tmp_path: Path
) -> None:
    study = compile_study({**SEVERAL, "search": SETTLED})
    judged = len(refined_rows(settled.rows, FINE))
    first = judged - len(numbers_settled(settled))
    stopped = run(study, tmp_path, watcher=StoppingAt(first + 2))
    assert first < len(refined_rows(stopped.rows, FINE)) < judged
    execution = {"executor": "local", "workers": 2}
    several = compile_study({**SEVERAL, "search": SETTLED, "execution": execution})
    whole = run(several, tmp_path, resume=True)
    pd.testing.assert_frame_equal(comparable(whole), comparable(settled))
    assert whole.front == settled.front
    again = run(study, tmp_path, resume=True, watcher=StoppingAt(1))
    pd.testing.assert_frame_equal(dse.load_study(tmp_path).trials, again.trials)
    pd.testing.assert_frame_equal(comparable(again), comparable(settled))


@pytest.mark.parametrize("sampler", ["design", "random"])
def test_numbers_of_steps_give_way_to_further_proposals(sampler: str, tmp_path: Path) -> None:
    few = {**SETTLED, "sampler": sampler, "trials": 30}
    run(study_of(**few), tmp_path)
    longer = run(study_of(**{**few, "trials": 45}), tmp_path, resume=True)
    fresh = run(study_of(**{**few, "trials": 45}))
    pd.testing.assert_frame_equal(comparable(longer), comparable(fresh))


def test_no_more_steps_are_judged_than_the_study_allows_and_that_is_told() -> None:
    found = run(study_of(**{**SETTLED, "settle": 3}))
    assert found.summary["fidelity"]["settled"] == len(numbers_settled(found)) == 3
    assert any("raise search.settle" in line for line in fidelity_lines(found.summary))


def test_enumerated_studies_are_settled_without_new_numbers() -> None:
    few = {**SEVERAL["space"], "require": [*SEVERAL["space"]["require"], "plan.tp == 4"]}
    search = {**SETTLED, "promote": 1, "controls": 0}
    study = compile_study({**SEVERAL, "space": few, "search": search})
    found = Runner(study, out=None, resume=False, watcher=None).enumerate()
    designs = searched_rows(found.study, found.rows)
    assert {row.evaluation.fidelity for row in designs} == {COARSE}
    assert {row.number for row in refined_rows(found.rows, FINE)} <= {r.number for r in designs}
    assert not bargains(found)

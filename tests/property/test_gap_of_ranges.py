"""What is proven of knobs with a range holds for designs anywhere in it."""

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from small_study import STUDY, searched

from dse.evaluate import build_evaluator
from dse.evaluate.base import evaluate
from dse.proof.close import Effort, close_gap
from dse.study.compile import Study, compile_study
from simcore import ConfigError

RANGE = {"low": "5 GB/s", "high": "200 GB/s", "log": True}
SPACE: dict[str, Any] = {
    **STUDY["space"],
    "axes": {
        "plan.micro_batch": {"choices": [1, 2]},
        "platform.dimensions[0].bandwidth": RANGE,
        "platform.dimensions[1].bandwidth": {**RANGE, "low": "2 GB/s", "high": "50 GB/s"},
    },
    "require": [*STUDY["space"]["require"], "plan.tp >= 2", "platform.dimensions[0].npus == 4"],
}
DATA: dict[str, Any] = {**STUDY, "space": SPACE}
BOTH = ("iteration_time", "capital_cost")


@lru_cache
def study() -> Study:
    return compile_study(DATA)


@lru_cache
def anywhere() -> np.ndarray[Any, Any]:
    """(N, objectives) of random designs that can be used."""
    space, random = study().space, np.random.default_rng(0)
    evaluator, found = build_evaluator(study().evaluator_input), list[list[float]]()
    goals = study().goals
    while len(found) < 200:
        rows = [int(random.integers(block.rows(2))) for block in space.blocks]
        reals = {knob.name: knob.value_at(random.random()) for knob in space.continuous}
        done = evaluate(evaluator, goals, space.design(2, rows, reals))
        if done.state == "complete":
            found.append([done.objectives[name] for name in BOTH])
    return np.array(found)


@pytest.mark.parametrize(("gap", "simulations"), [(0.1, 10_000), (0.01, 10)])
def test_no_design_of_a_range_is_better_than_what_is_proven(gap: float, simulations: int) -> None:
    proof = close_gap(study(), BOTH, gap=gap, effort=Effort(simulations=simulations))
    assert proof.is_closed == (simulations == 10_000)
    reachable = np.concatenate([proof.values, proof.possible])
    for design in anywhere():
        assert (reachable <= design * (1 + 1e-12)).all(axis=1).any()
    if proof.is_closed:
        for design in anywhere():
            assert (proof.values * (1 - gap) <= design).all(axis=1).any()


@pytest.mark.parametrize(("gap", "is_closed"), [(0.06, True), (0.02, False)])
def test_a_proof_ends_where_bounds_are_too_loose_for_what_was_asked(
    gap: float, is_closed: bool
) -> None:
    proof = close_gap(study(), ("time_capital_cost",), gap=gap)
    assert proof.is_closed == is_closed
    assert proof.gaps[0] <= 0.06
    assert proof.lower_bounds[0] <= anywhere().prod(axis=1).min()
    assert proof.simulations < 300


def test_a_study_with_ranges_ends_when_its_gap_is_proven() -> None:
    data = {**DATA, "objectives": {"time_capital_cost": "minimise"}}
    summary = searched(data, sampler="design", gap=0.06, trials=400).summary
    assert summary["gap_closed"]
    assert summary["optimality_gap"]["time_capital_cost"] <= 0.06
    assert summary["proposals"] < 400


def test_a_range_along_which_times_may_rise_is_refused() -> None:
    axes = {**SPACE["axes"], "platform.dimensions[1].latency": {"low": "1us", "high": "2us"}}
    with pytest.raises(ConfigError, match=r"latency: bounds need a ladder in place of a range"):
        close_gap(compile_study({**DATA, "space": {**SPACE, "axes": axes}}))

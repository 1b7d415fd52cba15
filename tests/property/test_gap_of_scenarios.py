"""What is proven of designs in several scenarios is what the simulation of all of them says."""

from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from small_study import STUDY, searched

from dse.evaluate import build_evaluator
from dse.evaluate.base import evaluate
from dse.proof.close import Effort, close_gap
from dse.proof.scenarios import ScenarioDesigns
from dse.rank.pareto import non_dominated
from dse.study.compile import Study, compile_study
from simcore import ConfigError

LONGER: dict[str, Any] = {"name": "longer", "weight": 3, "run": {"workload": {"sequence": 1024}}}
BUSY: dict[str, Any] = {"name": "busy", "bandwidth": "50%"}
KINDS = {
    "other runs": [{"name": "plain", "weight": 4}, LONGER, BUSY],
    "one run": [{"name": "plain"}, {**BUSY, "weight": 3}],
}
AGGREGATES = ["sum", "mean", "worst", "50%"]
SPACE: dict[str, Any] = {
    **STUDY["space"],
    "axes": {
        **STUDY["space"]["axes"],
        "plan.micro_batch": {"choices": [1]},
        "platform.dimensions[0].bandwidth": {"ladder": ["20 GB/s", "200 GB/s"]},
    },
    "require": [*STUDY["space"]["require"], "plan.tp >= 2", "platform.dimensions[0].npus <= 4"],
}
Row = tuple[int, ...]


@lru_cache
def study_of(kind: str, aggregate: str) -> Study:
    return compile_study(
        {
            **STUDY,
            "space": SPACE,
            "objectives": {"iteration_time": "minimise", "time_capital_cost": "minimise"},
            "scenarios": KINDS[kind],
            "aggregate": aggregate,
        }
    )


@lru_cache
def metrics_of(kind: str) -> dict[Row, dict[str, float]]:
    """Metrics of every design that can be used, by its rows; no aggregate changes them."""
    study = study_of(kind, "sum")
    evaluator, found = build_evaluator(study.evaluator_input), dict[Row, dict[str, float]]()
    for row in product(*[range(block.rows(2)) for block in study.space.blocks]):
        done = evaluate(evaluator, study.goals, study.space.design(2, list(row)))
        if done.state == "complete":
            found[row] = dict(done.metrics)
    return found


def values_of(kind: str, aggregate: str) -> np.ndarray[Any, Any]:
    """(N, objectives) of all designs that can be used."""
    goals = study_of(kind, aggregate).goals
    return np.array([[*goals.values(one).values()] for one in metrics_of(kind).values()])


@pytest.mark.parametrize(
    ("kind", "aggregate"), [*[("other runs", one) for one in AGGREGATES], ("one run", "worst")]
)
def test_the_front_of_scenarios_is_that_of_all_designs(kind: str, aggregate: str) -> None:
    values = values_of(kind, aggregate)
    proof = close_gap(study_of(kind, aggregate), gap=0.0)
    assert proof.is_closed
    assert sorted(map(tuple, proof.values)) == sorted(map(tuple, values[non_dominated(values)]))
    assert proof.simulations < 0.5 * len(values)


@pytest.mark.parametrize("aggregate", ["mean", "50%"])
def test_what_is_proven_of_scenarios_holds_wherever_the_proof_stops(aggregate: str) -> None:
    values = values_of("other runs", aggregate)
    proof = close_gap(study_of("other runs", aggregate), gap=0.0, effort=Effort(simulations=2))
    reachable = np.concatenate([proof.possible, proof.values])
    for design in values:
        assert (reachable <= design).all(axis=1).any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_no_design_goes_below_the_price_at_its_bound(kind: str, aggregate: str) -> None:
    """Of any power of the time: by hand, of simulated times and random prices."""
    study, metrics = study_of(kind, aggregate), metrics_of(kind)
    known, goals, chosen = ScenarioDesigns(study, 2), study.goals, np.random.default_rng(0)
    weights = [one.weight for one in goals.scenarios]
    bounds_s = known.times_s(np.array(list(metrics), np.int32))
    for bound_s, own in zip(bounds_s.tolist(), metrics.values(), strict=True):
        times_s = [one.metrics_of(own)["iteration_time_s"] for one in goals.scenarios]
        amounts = chosen.uniform(1.0, 1.1, len(times_s)).tolist()
        for power in range(4):
            pairs = zip(amounts, times_s, strict=True)
            told = [amount * time_s**power for amount, time_s in pairs]
            value = goals.aggregate.of(told, weights, "minimise")
            amount, _ = known.price([(amount, power) for amount in amounts])
            assert amount * bound_s**power <= value
            assert power or amount == pytest.approx(value)


def test_a_study_of_scenarios_ends_once_its_gap_is_proven() -> None:
    data = {**STUDY, "space": SPACE, "scenarios": KINDS["other runs"], "aggregate": "mean"}
    summary = searched(data, trials=200, gap=0.05).summary
    assert summary["gap_closed"]
    assert summary["optimality_gap"]["iteration_time"] <= 0.05
    assert summary["proposals"] < 60


def test_a_scenario_without_bounds_is_refused() -> None:
    dimensions = STUDY["run"]["platform"]["dimensions"]
    graph = {"network": {"kind": "torus", "npus": [4, 4]}}
    crowded = {"name": "crowded", "run": {"platform": {"dimensions": [*dimensions, graph]}}}
    study = compile_study({**STUDY, "scenarios": [{"name": "plain"}, crowded]})
    with pytest.raises(ConfigError, match=r"scenarios\.crowded\..*no graph"):
        close_gap(study)


def test_a_scenario_in_which_messages_share_links_is_bounded_too() -> None:
    crowded = {"name": "crowded", "run": {"backend": "flow"}}
    few = {**SPACE, "require": [*SPACE["require"], "plan.tp == 4"]}
    data = {**STUDY, "space": few, "scenarios": [{"name": "plain"}, crowded], "aggregate": "mean"}
    study = compile_study({**data, "objectives": {"iteration_time": "minimise"}})
    proof = close_gap(study, gap=0.0)
    evaluator = build_evaluator(study.evaluator_input)
    outcomes = [evaluate(evaluator, study.goals, design) for design in study.space.designs()]
    done = [o.objectives["iteration_time"] for o in outcomes if o.state == "complete"]
    assert proof.is_closed
    assert proof.values[0, 0] == min(done)

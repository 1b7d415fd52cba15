"""What is proven about a space is what the simulation of all its designs says."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from small_study import STUDY as SMALL
from small_study import exact_front

from dse.evaluate import build_evaluator
from dse.evaluate.base import evaluate
from dse.objectives import Goals
from dse.proof.boxed.boxes import Boxes, Flags, Floats
from dse.proof.close import Effort, close_gap
from dse.proof.designs import KnownDesigns
from dse.proof.provers import prover_of
from dse.rank.pareto import non_dominated
from dse.study.compile import Study, compile_study, load_study_file
from simcore import ConfigError

SPACE = SMALL["space"]

# more ways to move data, fewer plans, and no limits
STUDY: dict[str, Any] = {
    **{name: part for name, part in SMALL.items() if name != "constraints"},
    "space": {
        **SPACE,
        "axes": {**SPACE["axes"], "system.all_reduce[*]": {"choices": ["ring", "direct"]}},
        "require": [*SPACE["require"], "plan.tp >= 2"],
    },
    "search": {"sampler": "random", "trials": 10},
}


@pytest.fixture(scope="module")
def study() -> Study:
    return compile_study(STUDY)


def simulated(study: Study, objectives: Sequence[str]) -> np.ndarray[Any, Any]:
    """(N, objectives) of all designs of *study* that can be built and keep its limits."""
    goals = Goals(objectives=dict.fromkeys(objectives, "minimise"), limits=study.goals.limits)
    evaluator = build_evaluator(study.evaluator_input)
    outcomes = [evaluate(evaluator, goals, design) for design in study.space.designs()]
    done = [o.objectives for o in outcomes if o.state == "complete"]
    return np.array([[own[name] for name in objectives] for own in done])


OBJECTIVES = ["iteration_time", "capital_cost", "time_capital_cost"]


@pytest.fixture(scope="module")
def values(study: Study) -> np.ndarray[Any, Any]:
    return simulated(study, OBJECTIVES)


@pytest.mark.parametrize("index", range(3))
def test_the_best_value_is_that_of_all_designs(
    study: Study, values: np.ndarray[Any, Any], index: int
) -> None:
    proof = close_gap(study, [OBJECTIVES[index]], gap=0)
    assert proof.is_closed
    assert proof.values[0, 0] == values[:, index].min()
    assert proof.gaps == (0.0,)
    assert proof.simulations < 0.2 * len(values)


def test_the_front_is_that_of_all_designs(study: Study, values: np.ndarray[Any, Any]) -> None:
    proof = close_gap(study, gap=0)
    exact = values[non_dominated(values[:, :2])][:, :2]
    assert sorted(map(tuple, proof.values)) == sorted(map(tuple, exact))
    assert proof.gaps == (0.0, 0.0)
    assert proof.simulations < 0.2 * len(values)


@pytest.mark.parametrize("simulations", [1, 3, 10])
def test_what_is_proven_holds_wherever_the_proof_stops(
    study: Study, values: np.ndarray[Any, Any], simulations: int
) -> None:
    proof = close_gap(study, gap=0, effort=Effort(simulations=simulations))
    assert not proof.is_closed
    reachable = np.concatenate([proof.possible, proof.values])
    for design in values[:, :2]:
        assert (reachable <= design).all(axis=1).any()
    assert (np.array(proof.lower_bounds) <= values[:, :2].min(axis=0)).all()


@pytest.mark.parametrize("gap", [0.01, 0.1])
def test_no_design_is_better_by_more_than_the_gap(
    study: Study, values: np.ndarray[Any, Any], gap: float
) -> None:
    proof = close_gap(study, ["time_capital_cost"], gap=gap)
    assert proof.is_closed
    assert proof.gaps[0] <= gap * (1 + 1e-12)
    assert proof.lower_bounds[0] <= values[:, 2].min()


def test_a_gap_is_proven_for_the_simulator_alone(study: Study) -> None:
    other = compile_study({**STUDY, "objectives": {"mfu": "maximise"}})
    with pytest.raises(ConfigError, match="time and cost"):
        close_gap(other)


def test_computing_alone_takes_no_longer_than_the_bound(study: Study) -> None:
    known = KnownDesigns(study, 2)
    sizes = [range(block.rows(2)) for block in study.space.blocks]
    rows = np.array(list(product(*sizes)), np.int32)
    bound_s = known.times_s(rows)
    alone_s, floor_s = known.compute_times_s(rows), known.floor_times_s(rows)
    assert (floor_s > 0).all()
    assert (floor_s <= alone_s).all()
    assert (alone_s <= bound_s).all()
    assert floor_s[np.isfinite(bound_s)].max() > 0.5 * alone_s[np.isfinite(bound_s)].max()


def dearer_than(limit_usd: float) -> Callable[[Floats], Flags]:
    return lambda values: values[:, 1] > limit_usd


def test_rungs_are_cut_off_where_they_are_too_dear_and_nowhere_else(study: Study) -> None:
    boxes = Boxes(study.space, 2, KnownDesigns(study, 2))
    for box in boxes.whole():
        assert boxes.trimmed(box, dearer_than(np.inf)) is box
        limit_usd = 1.0001 * box.values[1]
        cut = boxes.trimmed(box, dearer_than(limit_usd))
        assert cut.low == cut.high == box.low
        for index in boxes.ladders:
            one_up = (*box.low[:index], box.low[index] + 1, *box.low[index + 1 :])
            values = boxes.values(one_up, 1.0)
            assert values is not None
            kept = boxes.trimmed(box, dearer_than(values[1]))
            assert kept.high[index] == one_up[index]


def test_designs_that_no_bound_tells_apart_are_all_asked_for() -> None:
    space = STUDY["space"]
    axes = {**space["axes"], "system.scheduling": {"choices": ["lifo", "fifo"]}}
    study = compile_study({**STUDY, "space": {**space, "axes": axes}})
    evaluator = build_evaluator(study.evaluator_input)
    evaluator.canonical = lambda design: design  # type: ignore[method-assign]
    prover = prover_of(study, evaluator, 0.0)
    asked: list[dict[str, object]] = []
    while len(asked) < 2:
        design = prover.ask()
        if design is not None:
            asked.append(dict(design))
        else:
            assert prover.advance()
    first, second = ({**design, "system.scheduling": ""} for design in asked)
    assert first == second
    assert {design["system.scheduling"] for design in asked} == {"lifo", "fifo"}


def test_a_plan_that_can_be_run_in_too_many_ways_is_refused_before_memory_is_full() -> None:
    study = load_study_file("p1_cosmic_1024_4vec.yaml")
    with pytest.raises(ConfigError, match=r"at most 4,194,304 ways .* but got 134217728"):
        close_gap(study)


def test_machines_of_which_only_faster_ones_are_sold_are_part_of_the_proof() -> None:
    """A dimension that shares the ports of the one before has no more bandwidth than these."""
    switch = {"topology": "switch", "latency": "1 us"}
    dimensions = [
        {**switch, "npus": 8, "bandwidth": "300 GB/s"},
        {**switch, "npus": 2, "bandwidth": "25 GB/s"},
        {**switch, "npus": 2, "bandwidth": "15 GB/s", "shares_ports": True},
    ]
    data = {
        **SMALL,
        "run": {**SMALL["run"], "platform": {"npu": "a100_80", "dimensions": dimensions}},
        "space": {
            "products": [{"of": ["plan.tp", "plan.pp", "plan.dp"], "equals": 32}],
            "axes": {
                "platform.dimensions[1].bandwidth": {"ladder": ["10 GB/s", "25 GB/s"]},
                "platform.dimensions[2].bandwidth": {"ladder": ["8 GB/s", "15 GB/s", "20 GB/s"]},
            },
            "require": ["plan.pp <= 4"],
        },
        "cost": {"model": "bill_of_materials", "network": "libra_py"},
    }
    for slowest in (0, 1):  # without the first rung the slowest machine is not sold
        ladder = data["space"]["axes"]["platform.dimensions[2].bandwidth"]
        ladder["ladder"] = ladder["ladder"][slowest:]
        study = compile_study(data)
        proof = close_gap(study, gap=0)
        assert proof.is_closed
        assert set(map(tuple, proof.values.tolist())) == exact_front(study)
        fastest = close_gap(study, ["iteration_time"], gap=0)
        assert fastest.values[0, 0] == min(point[0] for point in exact_front(study))

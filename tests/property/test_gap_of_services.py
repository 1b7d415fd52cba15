"""Gaps of services: bounds hold for every design, and proofs find the exact front."""

import copy
from collections.abc import Callable, Mapping
from math import isclose
from typing import Any, ClassVar

import numpy as np
import pytest
from small_service import STUDY as SMALL
from small_study import searched

from dse.evaluate import EVALUATORS, build_evaluator
from dse.evaluate.base import Account, Evaluator, evaluate
from dse.objectives import OBJECTIVES, Sense
from dse.proof.close import Effort, close_gap
from dse.proof.listed.best import BestObjectives
from dse.proof.parts.joint import JointProof
from dse.proof.parts.part import Part
from dse.proof.prove import share_between
from dse.proof.provers import prover_of
from dse.proof.told import bound_told, gap_lines, known_bounds
from dse.rank.pareto import non_dominated
from dse.space import Design
from dse.study.compile import Study, compile_study
from simcore import ConfigError, InfeasibleError, SimcoreError, SimulationError

STUDY: dict[str, Any] = {
    **SMALL,
    "space": {
        **SMALL["space"],
        "axes": {
            **SMALL["space"]["axes"],
            "prefill.batch": {"choices": [1, 4]},
            "platform.dimensions[0].bandwidth": {"ladder": ["1 GB/s", "10 GB/s", "450 GB/s"]},
        },
    },
    "constraints": ["fits_in_memory"],
}

OBJECTIVE_SETS = [
    {"time_per_output_token": "minimise", "usd_per_token": "minimise"},
    {"time_per_output_token": "minimise", "tokens_per_s_per_npu": "maximise"},
    {"request_time": "minimise", "requests_per_s": "maximise", "capital_cost": "minimise"},
    {"energy_per_token": "minimise"},
    {"tokens_per_s": "maximise"},
]
LIMIT_SETS: list[list[Any]] = [
    ["fits_in_memory"],
    ["fits_in_memory", {"objective": "requests_per_s", "at_least": 10}],
    [{"objective": "time_to_first_token", "at_most": "30 ms"}],
]


FRONTS: dict[str, set[tuple[float, ...]]] = {}
"""Those that were worked out, by the text of their studies."""


def changed(**parts: Any) -> dict[str, Any]:
    return {**copy.deepcopy(STUDY), **parts}


def _front(study: Study) -> set[tuple[float, ...]]:
    """Values of the designs that no other one beats, all of which are evaluated."""
    data = study.file.model_dump_json(by_alias=True)
    if data not in FRONTS:
        evaluator = build_evaluator(study.evaluator_input)
        found = [evaluate(evaluator, study.goals, design) for design in study.space.designs()]
        assert not any(one.state == "failed" for one in found)
        points = [[*one.objectives.values()] for one in found if one.state == "complete"]
        values = np.array(points)
        kept = non_dominated(values * np.array(study.goals.signs, np.float64))
        FRONTS[data] = {tuple(point) for point in values[kept].tolist()}
    return FRONTS[data]


@pytest.mark.parametrize("name", [name for name, one in EVALUATORS.items() if one.bests])
def test_no_account_is_better_than_metrics_at_best(name: str) -> None:
    study = compile_study(changed(evaluator=name, objectives=OBJECTIVE_SETS[2]))
    evaluator, compared = build_evaluator(study.evaluator_input), 0
    for design in study.space.designs():
        try:
            metrics = evaluator.account(design).metrics
        except InfeasibleError:
            continue
        best = evaluator.best_metrics(design)
        for metric, sense in evaluator.bests.items():
            if metric not in metrics:
                continue
            compared += 1
            if sense is None:
                assert isclose(best[metric], metrics[metric], rel_tol=1e-12), metric
            elif sense == "minimise":
                assert best[metric] <= metrics[metric] * (1 + 1e-12), metric
            else:
                assert best[metric] >= metrics[metric] * (1 - 1e-12), metric
    assert compared > 1000


@pytest.mark.parametrize("limits", LIMIT_SETS)
@pytest.mark.parametrize("objectives", OBJECTIVE_SETS)
def test_a_closed_gap_of_nothing_is_the_front_of_all_designs(
    objectives: dict[str, str], limits: list[Any]
) -> None:
    study = compile_study(changed(objectives=objectives, constraints=limits))
    exact = _front(study)
    proof = close_gap(study, gap=0)
    assert proof.is_closed
    assert {tuple(point) for point in proof.values.tolist()} == exact
    assert proof.gaps == (0.0,) * len(objectives)
    assert proof.simulations < study.space.counts.searched
    for column, (bound, sense) in enumerate(
        zip(proof.lower_bounds, objectives.values(), strict=True)
    ):
        best = min if sense == "minimise" else max
        assert bound == best(point[column] for point in exact)


@pytest.mark.parametrize("objectives", OBJECTIVE_SETS)
@pytest.mark.parametrize("gap", [0.02, 0.2])
def test_a_wider_gap_leaves_no_design_that_is_better_by_more(
    objectives: dict[str, str], gap: float
) -> None:
    study = compile_study(changed(objectives=objectives))
    exact, proof = _front(study), close_gap(study, gap=gap)
    assert proof.is_closed
    assert proof.simulations <= close_gap(study, gap=0).simulations
    for point in exact:
        assert any(
            all(
                own * (1 - gap) <= other if sense == "minimise" else own >= other * (1 - gap)
                for own, other, sense in zip(found, point, objectives.values(), strict=True)
            )
            for found in proof.values.tolist()
        )


@pytest.mark.parametrize("objectives", OBJECTIVE_SETS)
def test_what_is_proven_before_the_end_holds(objectives: dict[str, str]) -> None:
    study = compile_study(changed(objectives=objectives))
    exact = np.array(sorted(_front(study)))
    for simulations in (0, 1, 3):
        proof = close_gap(study, gap=0, effort=Effort(simulations=simulations))
        for column, name in enumerate(proof.objectives):
            if proof.signs[column] > 0:
                assert proof.lower_bounds[column] <= exact[:, column].min(), name
            else:
                assert proof.lower_bounds[column] >= exact[:, column].max(), name


def test_parts_together_prove_what_one_proof_does() -> None:
    study = compile_study(changed(objectives=OBJECTIVE_SETS[1]))
    evaluator = build_evaluator(study.evaluator_input)
    joint, asked = JointProof(study.goals.signs_by_name, 3), 0
    for number in range(3):
        prover = prover_of(study, evaluator, 0.0, Part(number=number, of=3))
        while (design := prover.ask()) is not None or prover.advance():
            if design is not None:
                outcome = evaluate(evaluator, study.goals, design)
                prover.learn(design, outcome)
                joint.learn(design, outcome)
                asked += 1
        assert not joint.is_closed
        joint.take(number, prover.reached())
    proof = joint.proof()
    assert proof.is_closed
    assert {tuple(point) for point in proof.values.tolist()} == _front(study)
    assert proof.simulations == asked


@pytest.mark.parametrize("more", [{}, {"islands": 2}])
def test_a_study_of_services_ends_when_its_gap_is_proven(more: dict[str, int]) -> None:
    data = changed(objectives=OBJECTIVE_SETS[1])
    result = searched(data, gap=0, trials=5000, sampler="design", **more)
    values = [[*row.evaluation.objectives.values()] for row in result.rows if row.is_feasible]
    best = non_dominated(np.array(values) * np.array(result.study.goals.signs))
    found = {tuple(point) for point, is_best in zip(values, best, strict=True) if is_best}
    assert found == _front(result.study)  # the front of a study leaves bargains out
    assert result.summary["gap_closed"]
    assert set(result.summary["optimality_gap"].values()) == {0.0}
    assert "no design is above" in " ".join(gap_lines(result.summary))
    if not more:
        assert result.summary["evaluated"] < result.study.space.counts.searched


def test_the_front_of_services_in_scenarios_is_that_of_all_designs() -> None:
    long = {"name": "long", "weight": 2, "run": {"prompt": 2048}}
    scenarios = [{"name": "short"}, long, {"name": "busy", "bandwidth": "50%"}]
    objectives = {"request_time": "minimise", "tokens_per_s": "maximise"}
    study = compile_study(changed(objectives=objectives, scenarios=scenarios, aggregate="worst"))
    proof = close_gap(study, gap=0)
    assert proof.is_closed
    assert {tuple(point) for point in proof.values.tolist()} == _front(study)


def test_objectives_that_are_not_known_at_best_are_refused() -> None:
    data = changed(objectives={"requests_per_s": "minimise"})
    with pytest.raises(ConfigError, match=r"objectives.requests_per_s: .* is maximised"):
        close_gap(compile_study(data), gap=0)
    with pytest.raises(ConfigError, match=r"objectives.mfu: .* knows at best: capital_cost_usd"):
        close_gap(compile_study(STUDY), ["mfu"], gap=0)


def test_limits_on_what_is_not_known_at_best_leave_no_design_out() -> None:
    limits = [{"objective": "requests_per_s", "at_most": 20}]
    study = compile_study(changed(constraints=limits))
    assert {tuple(point) for point in close_gap(study, gap=0).values.tolist()} == _front(study)


class Told(Evaluator):
    """An evaluator from outside that knows its time within a factor."""

    bests: ClassVar[Mapping[str, Sense | None]] = {"iteration_time_s": "minimise"}
    gives = ("iteration_time_s",)

    def account(self, design: Design) -> Account:
        value = float(design["prefill.batch"]) * float(design["decode.batch"])
        return Account({"iteration_time_s": value * (1.5 if value % 3 else 1.0)})

    def best_metrics(self, design: Design) -> Mapping[str, float]:
        return {"iteration_time_s": float(design["prefill.batch"]) * float(design["decode.batch"])}


def test_an_evaluator_from_outside_has_gaps_by_the_metrics_that_it_knows_at_best(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(EVALUATORS, "_entries", {**dict(EVALUATORS.items()), "told": Told})
    objectives = {"iteration_time": "minimise"}
    study = compile_study(changed(evaluator="told", objectives=objectives, constraints=[]))
    proof = close_gap(study, gap=0)
    assert proof.is_closed
    assert {tuple(point) for point in proof.values.tolist()} == _front(study)


class Boastful(Told):
    """One whose accounts are better than what it told at best."""

    def best_metrics(self, design: Design) -> Mapping[str, float]:
        return {"iteration_time_s": 2 * super().best_metrics(design)["iteration_time_s"]}


@pytest.mark.parametrize("run", [lambda data: close_gap(compile_study(data), gap=0),
                                 lambda data: searched(data, gap=0, trials=500)])  # fmt: skip
def test_an_evaluator_whose_designs_are_better_than_it_told_is_found_out(
    monkeypatch: pytest.MonkeyPatch, run: Callable[[dict[str, Any]], object]
) -> None:
    monkeypatch.setattr(EVALUATORS, "_entries", {**dict(EVALUATORS.items()), "boasts": Boastful})
    objectives = {"iteration_time": "minimise"}
    data = changed(evaluator="boasts", objectives=objectives, constraints=[])
    with pytest.raises(SimulationError, match=r"best_metrics of boasts told iteration_time \d"):
        run(data)


class Broken(Told):
    """One whose code ends in an error of its own."""

    def best_metrics(self, design: Design) -> Mapping[str, float]:
        return {"iteration_time_s": 1 / (float(design["prefill.batch"]) - 1)}


class Silent(Told):
    """One that tells nothing."""

    def best_metrics(self, design: Design) -> Mapping[str, float]:
        return {}


@pytest.mark.parametrize(
    ("evaluator", "told"),
    [(Broken, "raised ZeroDivisionError"), (Silent, "must give a finite iteration_time_s")],
)
def test_an_evaluator_that_breaks_while_it_tells_is_named(
    monkeypatch: pytest.MonkeyPatch, evaluator: type[Evaluator], told: str
) -> None:
    monkeypatch.setattr(EVALUATORS, "_entries", {**dict(EVALUATORS.items()), "breaks": evaluator})
    objectives = {"iteration_time": "minimise"}
    data = changed(evaluator="breaks", objectives=objectives, constraints=[])
    with pytest.raises(SimcoreError, match=f"best_metrics of breaks.*{told}"):
        close_gap(compile_study(data), gap=0)


def test_pools_that_are_not_the_machine_are_left_out_before_any_is_simulated() -> None:
    space = {**STUDY["space"], "require": []}
    run = copy.deepcopy(STUDY["run"])
    run["platform"]["npu_scale"] = "6-7:0.5"
    axes = {**space["axes"], "platform.dimensions[0].npus": {"choices": [8]}}
    study = compile_study(changed(run=run, space={**space, "axes": axes}))
    evaluator, feasible = build_evaluator(study.evaluator_input), 0
    for design in study.space.designs():
        try:
            evaluator.account(design)
        except InfeasibleError:
            with pytest.raises(InfeasibleError):
                evaluator.best_metrics(design)
            continue
        feasible += 1
        evaluator.best_metrics(design)
    assert feasible
    assert {tuple(p) for p in close_gap(study, gap=0).values.tolist()} == _front(study)


def test_nothing_is_told_of_a_maximised_objective_before_all_designs_are_listed() -> None:
    data = changed(objectives={"tokens_per_s": "maximise"})
    proof = close_gap(compile_study(data), gap=0, effort=Effort(simulations=0))
    assert known_bounds(proof) == {"tokens_per_s": None}
    assert bound_told("tokens_per_s", None, "maximise") == "nothing is proven"
    gaps = {"tokens_per_s": 1.0, "hypervolume": None}
    summary = {"lower_bounds": known_bounds(proof), "optimality_gap": gaps, "gap_closed": False}
    assert "tokens/s: nothing is proven, a gap of 100.00%" in gap_lines(summary)


def test_a_gap_of_a_best_value_of_nothing_is_none() -> None:
    assert share_between(0.0, 0.0) == 0.0
    assert share_between(2.0, 0.0) == 1.0
    assert share_between(-4.0, -5.0) == pytest.approx(0.2)
    assert share_between(5.0, 4.0) == pytest.approx(0.2)
    with pytest.raises(ConfigError, match="gap: must be a share"):
        close_gap(compile_study(STUDY), gap=1.5)


def test_designs_that_are_over_a_limit_at_best_are_never_asked_for() -> None:
    limits = [{"objective": "time_to_first_token", "at_most": "20 ms"}]
    study = compile_study(changed(constraints=limits))
    evaluator = build_evaluator(study.evaluator_input)
    best, dropped = BestObjectives(study, evaluator), 0
    for design in study.space.designs():
        if best.of(design) is None:
            dropped += 1
            assert evaluate(evaluator, study.goals, design).state == "infeasible"
    assert 0 < dropped < study.space.counts.searched
    assert "time_to_first_token" in OBJECTIVES

"""Costs of an evaluator from outside: what is concluded from them is what it says of them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from small_study import STUDY, exact_front, searched

from dse.evaluate import EVALUATORS
from dse.evaluate.base import Account, EvaluatorInput
from dse.evaluate.priced import MachineCosts
from dse.evaluate.simulator import SimulatorEvaluator
from dse.proof.close import close_gap
from dse.proof.designs import why_blind, why_unproven
from dse.space import Design
from dse.study.compile import compile_study
from simcore import InfeasibleError, SimulationError


def cheaper(metrics: Mapping[str, float]) -> dict[str, float]:
    """Costs of a hundredth of those of the price book."""
    told = dict(metrics)
    if "capital_cost_usd" in told:
        told["capital_cost_usd"] /= 100
    return told


def reversed_costs(metrics: Mapping[str, float]) -> dict[str, float]:
    """Costs that are the lower the dearer the machine is in the price book."""
    told = dict(metrics)
    if "capital_cost_usd" in told:
        told["capital_cost_usd"] = 1e12 / told["capital_cost_usd"]
    return told


class OldCosts(SimulatorEvaluator):
    """Changes costs, and does not say so."""

    def account(self, design: Design) -> Account:
        found = super().account(design)
        return replace(found, metrics=cheaper(found.metrics))


class NoCosts(OldCosts):
    """Says that they are not known beforehand."""

    @classmethod
    def machine_costs(cls, what: EvaluatorInput) -> MachineCosts | None:
        return None


class NewCosts(OldCosts):
    """Tells them beforehand, and that they rise as those of the price book do."""

    @classmethod
    def machine_costs(cls, what: EvaluatorInput) -> MachineCosts | None:
        told = super().machine_costs(what)
        assert told is not None
        return replace(told, metrics=lambda design: cheaper(told.metrics(design)))


class FallingCosts(SimulatorEvaluator):
    """Tells costs that fall where those of the price book rise, and does not say that they rise."""

    def account(self, design: Design) -> Account:
        found = super().account(design)
        return replace(found, metrics=reversed_costs(found.metrics))

    @classmethod
    def machine_costs(cls, what: EvaluatorInput) -> MachineCosts | None:
        told = super().machine_costs(what)
        assert told is not None
        costs = told.metrics
        return replace(told, metrics=lambda one: reversed_costs(costs(one)), rise=False)


class Fussy(SimulatorEvaluator):
    """Refuses machines that it then evaluates."""

    @classmethod
    def machine_costs(cls, what: EvaluatorInput) -> MachineCosts | None:
        def metrics(design: Design) -> Mapping[str, float]:
            raise InfeasibleError("parts_are_sold", "is not sold")

        return MachineCosts(metrics=metrics, deciding=frozenset(what.parameters))


class Broken(SimulatorEvaluator):
    """Cannot tell costs."""

    @classmethod
    def machine_costs(cls, what: EvaluatorInput) -> MachineCosts | None:
        return MachineCosts(metrics=lambda design: {}[design], deciding=frozenset())  # type: ignore[index]


@pytest.fixture(autouse=True)
def _with_those_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    own: dict[str, type[SimulatorEvaluator]] = {
        "old_costs": OldCosts,
        "no_costs": NoCosts,
        "new_costs": NewCosts,
        "falling_costs": FallingCosts,
        "fussy": Fussy,
        "broken": Broken,
    }
    monkeypatch.setattr(EVALUATORS, "_entries", {**dict(EVALUATORS.items()), **own})


def file(evaluator: str, **changed: Any) -> dict[str, Any]:
    return {**STUDY, "evaluator": evaluator, **changed}


@pytest.mark.parametrize("evaluator", ["no_costs", "new_costs", "falling_costs"])
def test_no_design_of_the_front_is_left_out(evaluator: str) -> None:
    study = compile_study(file(evaluator))
    found = searched(file(evaluator), sampler="exhaustive", trials=5000)
    rows = [found.rows[at] for at in found.front]
    points = {tuple(row.evaluation.objectives.values()) for row in rows}
    assert points == exact_front(study)
    pruned = sum(row.state == "pruned" for row in found.rows)
    assert (pruned > 0) == (evaluator != "no_costs")


def test_costs_have_bounds_where_they_are_told_beforehand() -> None:
    assert why_blind(compile_study(file("simulator"))) == ""
    assert why_blind(compile_study(file("new_costs"))) == ""
    reason = why_unproven(compile_study(file("no_costs")))
    assert "bounds of costs need an evaluator that tells them beforehand (machine_costs)" in reason
    falling = why_unproven(compile_study(file("falling_costs")))
    assert "as machine_costs must say (rise=True), but got 'falling_costs'" in falling
    assert why_blind(compile_study(file("falling_costs"))) == "", "each design has its own price"
    of_time = file("no_costs", objectives={"iteration_time": "minimise"})
    assert why_unproven(compile_study(of_time)) == ""


SCENARIOS = [{"name": "whole"}, {"name": "half", "bandwidth": 0.5}]


@pytest.mark.parametrize("scenarios", [[], SCENARIOS])
@pytest.mark.parametrize("islands", [1, 2])
def test_costs_that_account_does_not_give_end_the_study_by_name(
    islands: int, scenarios: list[Any]
) -> None:
    asked = file("old_costs", **({"scenarios": scenarios} if scenarios else {}))
    named = "@whole" if scenarios else ""
    with pytest.raises(SimulationError, match=f"told .* capital_cost_usd{named} of a design"):
        searched(asked, islands=islands)


def test_a_fault_in_what_tells_costs_is_named() -> None:
    with pytest.raises(SimulationError, match="machine_costs of broken raised TypeError: "):
        searched(file("broken"))


def test_nor_is_a_gap_proven_with_them() -> None:
    with pytest.raises(SimulationError, match="machine_costs of old_costs told"):
        close_gap(compile_study(file("old_costs")))


def test_a_machine_that_is_refused_beforehand_and_evaluated_ends_the_study_by_name() -> None:
    with pytest.raises(SimulationError, match=r"fussy refused a machine .*: is not sold"):
        searched(file("fussy", search={"screening": False, "sampler": "random"}))


@pytest.mark.parametrize("evaluator", ["simulator", "new_costs"])
def test_scenarios_may_hold_what_the_run_lacks(evaluator: str) -> None:
    whole = STUDY["run"]["workload"]
    run = {**STUDY["run"], "workload": {"global_batch": whole["global_batch"]}}
    each = [{"name": name, "run": {"workload": whole}} for name in "ab"]
    asked = file(evaluator, run=run, scenarios=each)
    assert why_blind(compile_study(asked)) == ""
    assert any(row.is_feasible for row in searched(asked, trials=20).rows)


def test_a_limit_on_costs_that_are_not_known_is_left_to_the_evaluation() -> None:
    limit = [{"objective": "capital_cost", "at_most": "1 USD"}]
    asked = file("no_costs", constraints=limit, objectives={"iteration_time": "minimise"})
    measured = [row for row in searched(asked, trials=20).rows if row.evaluation.is_measured]
    assert measured
    assert not any(row.is_feasible for row in measured)

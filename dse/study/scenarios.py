"""From the scenarios of a study file to what evaluators and objectives need."""

from collections.abc import Mapping
from typing import Any

from dse.evaluate import EVALUATORS
from dse.evaluate.base import ScenarioInput
from dse.objectives import Aggregate, Scenario
from dse.study.file import ScenarioFile, StudyFile
from simcore import ConfigError


def scenario_inputs(file: StudyFile) -> tuple[ScenarioInput, ...]:
    """Run and costs of each scenario."""
    return tuple(
        ScenarioInput(
            name=own.name,
            run=_merged(file.run, own.run),
            cost=_cost(file, own),
            bandwidth=own.bandwidth,
        )
        for own in file.scenarios
    )


def scenario_goals(file: StudyFile) -> tuple[Scenario, ...]:
    """Names and weights.

    Raises:
        ConfigError: Two have one name, or the evaluator knows no scenarios.
    """
    names = [own.name for own in file.scenarios]
    if len(set(names)) < len(names):
        raise ConfigError("scenarios", "must have different names", got=names)
    if names and not EVALUATORS[file.evaluator].takes_scenarios:
        able = ", or ".join(name for name, one in EVALUATORS.items() if one.takes_scenarios)
        rule = f"need the {able}, as evaluator"
        raise ConfigError("scenarios", rule, got=file.evaluator)
    for own in file.scenarios:
        if own.prices is not None and file.cost is None:
            rule = "needs the study's key cost"
            raise ConfigError(f"scenarios.{own.name}.prices", rule, got=own.prices)
    return tuple(Scenario(name=own.name, weight=own.weight) for own in file.scenarios)


def aggregate_of(file: StudyFile) -> Aggregate:
    """Parsed ``aggregate``.

    Raises:
        ConfigError: A quantile that is none.
    """
    if file.aggregate == "sum":
        return Aggregate(kind="sum")
    if file.aggregate == "mean":
        return Aggregate(kind="mean")
    if file.aggregate == "worst":
        return Aggregate(kind="worst")
    share = float(file.aggregate.removesuffix("%")) / 100
    if not 0 < share <= 1:
        raise ConfigError("aggregate", "must be above 0% and at most 100%", got=file.aggregate)
    return Aggregate(kind="quantile", share=share)


def _merged(base: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """*base* with the values of *change*; tables in both are merged, all else is replaced."""
    result = dict(base)
    for key, value in change.items():
        known = result.get(key)
        if isinstance(known, dict) and isinstance(value, dict):
            result[key] = _merged(known, value)
        else:
            result[key] = value
    return result


def _cost(file: StudyFile, own: ScenarioFile) -> dict[str, Any] | None:
    if file.cost is None:
        return None
    prices = {} if own.prices is None else {"prices": own.prices}
    return {**file.cost.model_dump(by_alias=True), **prices}

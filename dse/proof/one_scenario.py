"""The study of one of a study's scenarios."""

from dataclasses import replace

from dse.evaluate.base import ScenarioInput
from dse.evaluate.money import CostFile
from dse.study.compile import Study


def in_scenario(study: Study, scenario: ScenarioInput) -> Study:
    """The study of one scenario alone; the share of links that can be used is left out."""
    cost = None
    if scenario.cost is not None:
        cost = CostFile.from_file_data(dict(scenario.cost), at="cost")
    changed = {"run": dict(scenario.run), "cost": cost, "scenarios": ()}
    return replace(
        study,
        file=study.file.model_copy(update=changed),
        goals=replace(study.goals, scenarios=()),
    )

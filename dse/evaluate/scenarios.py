"""Evaluates a design under several circumstances: other workloads, prices, bandwidths."""

from collections.abc import Mapping
from dataclasses import replace

from dse.evaluate.base import Evaluator, EvaluatorInput
from dse.evaluate.simulator import SimulatorEvaluator
from dse.space import Design
from simcore import ConfigError, InfeasibleError


class ScenarioEvaluator(Evaluator):
    """One simulator per scenario; metrics are named ``iteration_time_s@scenario``."""

    def __init__(self, what: EvaluatorInput) -> None:
        self._each: dict[str, SimulatorEvaluator] = {}
        for scenario in what.scenarios:
            own = replace(
                what,
                run=scenario.run,
                cost=scenario.cost,
                bandwidth=scenario.bandwidth,
                scenarios=(),
            )
            try:
                self._each[scenario.name] = SimulatorEvaluator(own)
            except ConfigError as error:
                raise error.under(f"scenarios.{scenario.name}") from None
        self.fidelity = next(iter(self._each.values())).fidelity

    def metrics(self, design: Design) -> Mapping[str, float]:
        found: dict[str, float] = {}
        for name, evaluator in self._each.items():
            try:
                metrics = evaluator.metrics(design)
            except InfeasibleError as error:
                raise InfeasibleError(error.rule, f"in {name}: {error.reason}") from None
            found |= {f"{metric}@{name}": value for metric, value in metrics.items()}
        return found

    def admits(self, design: Design) -> bool:
        """Whether every scenario admits it."""
        return all(evaluator.admits(design) for evaluator in self._each.values())

    def decides(self, name: str) -> bool:
        """Whether it matters in any scenario."""
        return any(evaluator.decides(name) for evaluator in self._each.values())

    def canonical(self, design: Design) -> Design:
        """What stands for the design in every scenario, or else itself."""
        found = [evaluator.canonical(design) for evaluator in self._each.values()]
        return found[0] if all(other == found[0] for other in found) else design

    def check(self) -> None:
        for name, evaluator in self._each.items():
            try:
                evaluator.check()
            except ConfigError as error:
                raise error.under(f"scenarios.{name}") from None

    def check_example(self, design: Design) -> None:
        for name, evaluator in self._each.items():
            try:
                evaluator.check_example(design)
            except ConfigError as error:
                raise error.under(f"scenarios.{name}") from None

"""Evaluates designs by MODEL-0, the closed form that search machinery is checked with."""

from collections.abc import Mapping

from dse.evaluate.base import Evaluator, EvaluatorInput
from dse.evaluate.model0 import VIT22B_64, Model0
from dse.space import Design
from simcore import ConfigError, InfeasibleError


class ClosedFormEvaluator(Evaluator):
    """MODEL-0 on the ViT-22B problem; knobs are named as in a run file."""

    fidelity = "model0"

    def __init__(self, what: EvaluatorInput) -> None:
        self._input = what
        self._model = Model0(VIT22B_64)

    def metrics(self, design: Design) -> Mapping[str, float]:
        metrics = self._model.evaluate(design)
        limit_bytes = 0.95 * VIT22B_64.memory_bytes
        return {**metrics, "memory_fill": metrics["footprint_bytes"] / limit_bytes}

    def check(self) -> None:
        design = {name: p.choices[0] for name, p in self._input.parameters.items() if p.choices}
        for name, parameter in self._input.parameters.items():
            for value in parameter.choices or (parameter.low,):
                try:
                    self._model.evaluate({**design, name: value})
                except InfeasibleError:
                    continue
                except ConfigError as error:
                    raise ConfigError(f"space: {name}", error.rule, got=error.got) from None

"""The evaluators, and how to build the one that a study names."""

from dse.evaluate.base import Evaluator, EvaluatorInput
from simcore import Registry


def _simulator(what: EvaluatorInput) -> Evaluator:
    if what.scenarios:
        from dse.evaluate.scenarios import ScenarioEvaluator

        return ScenarioEvaluator(what)
    from dse.evaluate.simulator import SimulatorEvaluator

    return SimulatorEvaluator(what)


def _service(what: EvaluatorInput) -> Evaluator:
    from dse.evaluate.services import ServiceEvaluator

    return ServiceEvaluator(what)


def _closed_form(what: EvaluatorInput) -> Evaluator:
    from dse.evaluate.closed_form import ClosedFormEvaluator

    return ClosedFormEvaluator(what)


EVALUATORS = Registry(
    "an evaluator", {"simulator": _simulator, "service": _service, "model0": _closed_form}
)


def build_evaluator(what: EvaluatorInput) -> Evaluator:
    """The evaluator that *what* names, with everything loaded that it shares between designs.

    Raises:
        ConfigError: No such evaluator, or a run or price book that it cannot read.
    """
    if what.name not in EVALUATORS:
        raise EVALUATORS.unknown(what.name, at="evaluator")
    return EVALUATORS[what.name](what)

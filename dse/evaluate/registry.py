"""The evaluators, and how to build the one that a study names."""

from collections.abc import Callable

from dse.evaluate.base import Evaluator, EvaluatorInput
from simcore import Registry, files_kept


def _in_scenarios(what: EvaluatorInput, build: Callable[[EvaluatorInput], Evaluator]) -> Evaluator:
    """The evaluator of a study, which has one of each scenario if there are any."""
    if not what.scenarios:
        return build(what)
    from dse.evaluate.scenarios import ScenarioEvaluator

    return ScenarioEvaluator(what, build)


def _simulator(what: EvaluatorInput) -> Evaluator:
    from dse.evaluate.simulator import SimulatorEvaluator

    return _in_scenarios(what, SimulatorEvaluator)


def _service(what: EvaluatorInput) -> Evaluator:
    from dse.evaluate.services import ServiceEvaluator

    return _in_scenarios(what, ServiceEvaluator)


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
    with files_kept(what.files):
        return EVALUATORS[what.name](what)

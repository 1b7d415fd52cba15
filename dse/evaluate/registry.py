"""The evaluators, and how to build the one that a study names."""

from dse.evaluate.base import Evaluator, EvaluatorInput
from dse.evaluate.closed_forms.evaluators import LibraEvaluator, Model0Evaluator
from dse.evaluate.own.evaluator import EvaluatorWithOwn, OwnEvaluator, as_evaluator
from dse.evaluate.scenarios import ScenarioEvaluator
from dse.evaluate.services import ServiceEvaluator
from dse.evaluate.simulator import SimulatorEvaluator
from simcore import ConfigError, Registry, RunTemplate, files_kept

DEFAULT_EVALUATOR = "simulator"

OWN = "own"
"""Evaluator that leaves all metrics to the study's ``metrics``."""

_NEED_A_RUN = ("has_levels", "has_bounds", "has_exact_prices", "is_decided_by_run")


def _check(evaluator: type[Evaluator]) -> None:
    """Refuse abilities that are those of a run file's runs, where ``run`` is something else."""
    for name in _NEED_A_RUN:
        if getattr(evaluator, name) and evaluator.template is not RunTemplate:
            rule = f"{name} needs template = simcore.RunTemplate"
            raise ConfigError(evaluator.__name__, rule, got=evaluator.template)


EVALUATORS: Registry[type[Evaluator]] = Registry(
    "an evaluator",
    {
        DEFAULT_EVALUATOR: SimulatorEvaluator,
        "service": ServiceEvaluator,
        "model0": Model0Evaluator,
        "libra": LibraEvaluator,
        OWN: OwnEvaluator,
    },
    check=_check,
    adapt=as_evaluator,
)


def build_evaluator(what: EvaluatorInput) -> Evaluator:
    """The evaluator that *what* names, with everything loaded that it shares between designs.

    Raises:
        ConfigError: No such evaluator, or a run or price book that it cannot read.
    """
    if what.name not in EVALUATORS:
        raise EVALUATORS.unknown(what.name, at="evaluator")
    build = EVALUATORS[what.name]

    def one(what: EvaluatorInput) -> Evaluator:
        return EvaluatorWithOwn(what, build(what)) if what.own else build(what)

    with files_kept(what.files):
        return ScenarioEvaluator(what, one) if what.scenarios else one(what)

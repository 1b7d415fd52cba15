"""The evaluators, and how to build the one that a study names."""

from collections.abc import Callable
from functools import partial
from inspect import getattr_static

from dse.evaluate.base import Evaluator, EvaluatorInput
from simcore import ConfigError, Registry, RunTemplate, files_kept

DEFAULT_EVALUATOR = "simulator"

OWN = "own"
"""Evaluator that leaves all metrics to the study's ``metrics``."""

_NEED_A_RUN = ("has_levels", "has_bounds", "is_decided_by_run")


def _check(evaluator: type[Evaluator]) -> None:
    """Refuse abilities that need a run file where ``run`` is none, and costs that are told late."""
    costs = getattr_static(evaluator, "machine_costs")
    if not isinstance(costs, classmethod | staticmethod):
        rule = "must be a class method, which is asked before any evaluator is made"
        raise ConfigError(f"{evaluator.__name__}.machine_costs", rule, got=type(costs).__name__)
    if evaluator.bests and evaluator.best_metrics is Evaluator.best_metrics:
        rule = "must have best_metrics, which gives what it names"
        raise ConfigError(f"{evaluator.__name__}.bests", rule, got=", ".join(evaluator.bests))
    for name in _NEED_A_RUN:
        if getattr(evaluator, name) and evaluator.template is not RunTemplate:
            rule = f"{name} needs template = simcore.RunTemplate"
            raise ConfigError(evaluator.__name__, rule, got=evaluator.template)


def _adapted(found: object) -> type[Evaluator]:
    from dse.evaluate.own.evaluator import as_evaluator  # needed only for code from outside

    return as_evaluator(found)


EVALUATORS: Registry[type[Evaluator]] = Registry(
    "an evaluator",
    {
        DEFAULT_EVALUATOR: "dse.evaluate.simulator:SimulatorEvaluator",
        "service": "dse.evaluate.serving.evaluator:ServiceEvaluator",
        "jobs": "dse.evaluate.jobs:JobsEvaluator",
        "model0": "dse.evaluate.closed_forms.evaluators:Model0Evaluator",
        "libra": "dse.evaluate.closed_forms.evaluators:LibraEvaluator",
        OWN: "dse.evaluate.own.evaluator:OwnEvaluator",
    },
    check=_check,
    adapt=_adapted,
)


def build_evaluator(what: EvaluatorInput) -> Evaluator:
    """The evaluator that *what* names, with everything loaded that it shares between designs.

    Raises:
        ConfigError: No such evaluator, or a run or price book that it cannot read.
    """
    if what.name not in EVALUATORS:
        raise EVALUATORS.unknown(what.name, at="evaluator")
    build = EVALUATORS[what.name]

    with files_kept(what.files):
        if not what.scenarios:
            return _one(what, build)
        from dse.evaluate.scenarios import ScenarioEvaluator  # which few studies have

        return ScenarioEvaluator(what, partial(_one, build=build))


def _one(what: EvaluatorInput, build: Callable[[EvaluatorInput], Evaluator]) -> Evaluator:
    """The evaluator of one scenario, with the user's own metrics."""
    if not what.own:
        return build(what)
    from dse.evaluate.own.evaluator import EvaluatorWithOwn  # which few studies have

    return EvaluatorWithOwn(what, build(what))
